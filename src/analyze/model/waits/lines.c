/* lines.c - keeps waits while the session is read, and sums them by line at its end. */
#include "analyze/model/waits/lines.h"

#include "analyze/common/cells.h"
#include "analyze/common/words.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 1 << 14,
    STACKS_MAX = 1 << 20,
    REST_MAX = 1 << 20,
    LAST_MAX = 1 << 20, /* pairs of line and thread */
    THREADS_MAX = 1 << 16,
    LINE_SPANS = 1 << 13, /* spans of a line's union */
    THREAD_TEXT = 96,
};

static const struct {
    const char *name, *many;
    bool blocks;
    int class; /* enum wait_class; -1: in no loop */
} calls[WAIT_CALLS] = {
    [WAIT_OTHER] = {"other", "other calls", true, -1},
    [WAIT_EVENT] = {"event", "event synchronizations", true, WAIT_EXPLICIT},
    [WAIT_STREAM_EVENT] = {"stream wait", "waits of a stream for an event", false, -1},
    [WAIT_STREAM] = {"stream", "stream synchronizations", true, WAIT_EXPLICIT},
    [WAIT_CONTEXT] = {"context", "context synchronizations", true, WAIT_EXPLICIT},
    [WAIT_COPY] = {"copy", "blocking copies", true, WAIT_COPIES},
    [WAIT_FILL] = {"fill", "blocking fills", true, WAIT_COPIES},
    [WAIT_FREE] = {"free", "frees", true, WAIT_MEMORY},
    [WAIT_ALLOC] = {"allocate", "allocations", true, WAIT_MEMORY},
    [WAIT_MODULE] = {"load code", "loading code", true, -1},
};

static int known(int call)
{
    return call >= 0 && call < WAIT_CALLS ? call : WAIT_OTHER;
}

bool sum_wait_lines_blocks(int call)
{
    return calls[known(call)].blocks;
}

const char *sum_wait_lines_call(int call)
{
    return calls[known(call)].name;
}

const char *sum_wait_lines_word(int call, const struct words *w)
{
    return call == WAIT_CONTEXT ? w->context : sum_wait_lines_call(call);
}

const char *sum_wait_lines_calls(int call, const struct words *w)
{
    if (call == WAIT_CONTEXT)
        return w->waits_all;
    return calls[known(call)].many;
}

/* Holds calls without room in the list. */
struct rest {
    uint32_t stack, call;
    uint32_t syncs, pad; /* 1: of sync rows */
    uint64_t count;      /* not of the key */
    int64_t time;
};

struct thread_name {
    uint32_t id;   /* id in the log */
    uint32_t name; /* not of the key */
};

void sum_wait_lines_init(struct model *m)
{
    struct sum_wait_lines *s = &m->wait_lines;
    memset(s, 0, sizeof *s);
    keyed_init(&s->threads, sizeof(struct thread_name), offsetof(struct thread_name, name),
               THREADS_MAX);
    keyed_init(&s->rest, sizeof(struct rest), offsetof(struct rest, count), REST_MAX);
    keyed_init(&s->lines, sizeof(struct wait_line), offsetof(struct wait_line, node), LINES_MAX);
    keyed_init(&s->stacks, sizeof(struct wait_stack), offsetof(struct wait_stack, calls),
               STACKS_MAX);
    busy_init(&s->blocked);
}

void sum_wait_lines_fini(struct model *m)
{
    struct sum_wait_lines *s = &m->wait_lines;
    for (size_t i = 0; i < s->lines.count; i++) {
        struct wait_line *l = keyed_at(&s->lines, i);
        busy_fini(&l->blocked);
        histogram_fini(&l->wait);
        for (int c = 0; c < WAIT_CLASSES; c++)
            histogram_fini(&l->between[c]);
    }
    keyed_fini(&s->threads);
    keyed_fini(&s->rest);
    keyed_fini(&s->lines);
    keyed_fini(&s->stacks);
    wait_list_fini(&s->waits);
    wait_list_fini(&s->syncs);
    corr_set_fini(&s->kernels);
    busy_fini(&s->blocked);
    sum_wait_lines_init(m);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Returns a cell as an id of 32 bits; 0: unknown. */
static uint32_t id_cell(const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static int keep(struct model *m, struct wait_list *l, const struct wait_item *w)
{
    struct rest key = {.stack = w->stack, .call = w->call, .syncs = l == &m->wait_lines.syncs};
    uint32_t at;
    int rc = wait_list_add(l, w);
    if (rc != GPUFL_E_FULL)
        return rc;
    rc = keyed_put(&m->wait_lines.rest, &key, &at, NULL);
    if (rc)
        return rc;
    struct rest *r = keyed_at(&m->wait_lines.rest, at);
    r->count++;
    r->time = cells_sum(r->time, w->end - w->start);
    return 0;
}

static int take_wait(struct model *m, const struct wire_batch *b, size_t i)
{
    struct wait_item w = {.start = cells_get(b, COL_wait_start, i)};
    int64_t launches = cells_get(b, COL_wait_launches, i),
            bytes = cells_or(b, COL_wait_bytes, i, 0), call = cells_or(b, COL_wait_call, i, 0);
    if (!cells_interval(w.start, cells_get(b, COL_wait_duration, i), &w.end)) {
        m->wait_lines.invalid++;
        return 0;
    }
    w.correlation = id_cell(b, COL_wait_correlation, i);
    w.stack = id_cell(b, COL_wait_stack, i);
    w.thread = id_cell(b, COL_wait_thread, i);
    w.counted = launches != CELL_NULL;
    w.launches = w.counted ? (uint32_t)(uint64_t)launches : 0;
    w.bytes = bytes <= 0 ? 0 : bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    w.call = call >= 0 && call < WAIT_CALLS ? (uint8_t)call : WAIT_OTHER;
    w.async = cells_get(b, COL_wait_async, i) == 1;
    return keep(m, &m->wait_lines.waits, &w);
}

/* sync.kind has the numbers of wait.call. */
static int take_sync(struct model *m, const struct wire_batch *b, size_t i)
{
    struct wait_item w = {.start = cells_get(b, COL_sync_start, i)};
    int64_t kind = cells_or(b, COL_sync_kind, i, 0);
    if (!cells_interval(w.start, cells_get(b, COL_sync_duration, i), &w.end))
        return 0; /* sum_wait_kinds counts invalid rows */
    w.correlation = id_cell(b, COL_sync_correlation, i);
    w.stack = id_cell(b, COL_sync_stack, i);
    w.thread = id_cell(b, COL_sync_thread, i);
    w.call = kind > 0 && kind <= WAIT_CONTEXT ? (uint8_t)kind : WAIT_OTHER;
    return keep(m, &m->wait_lines.syncs, &w);
}

static int take_kernels(struct corr_set *s, const struct wire_batch *b)
{
    const int64_t *correlation = b->col[COL_kernel_correlation];
    int rc = 0;
    for (size_t i = 0; correlation && !rc && i < b->rows; i++)
        if (correlation[i] > 0 && correlation[i] <= UINT32_MAX)
            rc = corr_set_add(s, (uint32_t)correlation[i]);
    return rc;
}

static int take_thread(struct model *m, const struct wire_batch *b, size_t i)
{
    uint32_t id = id_cell(b, COL_thread_id, i), at;
    uint32_t name = model_name_cell(m, cells_get(b, COL_thread_name, i));
    int rc = id ? keyed_put(&m->wait_lines.threads, &id, &at, NULL) : 0;
    if (!rc && id && at && name)
        ((struct thread_name *)keyed_at(&m->wait_lines.threads, at))->name = name;
    return rc;
}

static uint32_t thread_name(const struct sum_wait_lines *s, uint32_t id)
{
    uint32_t at = id ? keyed_find(&s->threads, &id) : 0;
    return at ? ((const struct thread_name *)keyed_at(&s->threads, at))->name : 0;
}

uint32_t sum_wait_lines_thread(struct model *m, uint32_t id)
{
    uint32_t name = thread_name(&m->wait_lines, id);
    char text[THREAD_TEXT];
    if (!id)
        return 0;
    if (name)
        snprintf(text, sizeof text, "%.64s (%u)", model_text(m, name), id);
    else
        snprintf(text, sizeof text, "%u", id);
    return intern_str(m->names, text);
}

int sum_wait_lines_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; b->type == RECORD_thread && !rc && i < b->rows; i++)
        rc = take_thread(m, b, i);
    if (b->type == RECORD_thread)
        return rc;
    if (b->type == RECORD_kernel)
        return take_kernels(&m->wait_lines.kernels, b);
    if (b->type == RECORD_sync && m->facts.rows[RECORD_wait])
        return 0; /* `wait` rows have these calls with more facts */
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = b->type == RECORD_wait ? take_wait(m, b, i) : take_sync(m, b, i);
    return rc;
}

/* ---- lines ------------------------------------------------------------------------------ */

static void ensure_line(struct wait_line *l)
{
    if (l->blocked.max_spans)
        return;
    busy_init(&l->blocked);
    l->blocked.max_spans = LINE_SPANS;
    histogram_init(&l->wait);
    for (int c = 0; c < WAIT_CLASSES; c++)
        histogram_init(&l->between[c]);
    l->first = INT64_MAX;
}

static int find_line(struct sum_wait_lines *s, uint32_t place, bool apart, uint32_t node,
                     uint32_t *at)
{
    struct wait_line key = {.place = place, .apart = apart};
    int rc = keyed_put(&s->lines, &key, at, NULL);
    if (rc)
        return rc;
    struct wait_line *l = keyed_at(&s->lines, *at);
    ensure_line(l);
    l->node = l->node ? l->node : node;
    return 0;
}

static int add_stack(struct sum_wait_lines *s, uint32_t line, uint32_t node, uint64_t count,
                     int64_t ns)
{
    struct wait_stack key = {.line = line, .node = node};
    uint32_t at;
    int rc = keyed_put(&s->stacks, &key, &at, NULL);
    if (rc || !at)
        return rc;
    struct wait_stack *k = keyed_at(&s->stacks, at);
    k->calls += count;
    k->time = cells_sum(k->time, ns);
    return 0;
}

/* Describes the previous call of a class, line and thread. */
struct last {
    uint32_t line, class, thread;
    uint32_t correlation, launches; /* not of the key */
    bool counted;
};

/* Returns the launches between two calls: those of any thread that ran kernels, or the thread's
 * own. If the count went back, another thread got the id. */
static int64_t launches_between(const struct sum_wait_lines *s, const struct last *a,
                                const struct wait_item *b)
{
    int64_t own = -1, all = -1;
    if (a->counted && b->counted && b->launches - a->launches <= INT32_MAX)
        own = (int64_t)(b->launches - a->launches);
    if (a->correlation && b->correlation && s->kernels.total && !s->kernels.refused)
        all = (int64_t)corr_set_between(&s->kernels, a->correlation, b->correlation);
    return own > all ? own : all;
}

static int note_between(struct sum_wait_lines *s, struct keyed *lasts, uint32_t line,
                        const struct wait_item *w)
{
    int class = calls[w->call].class, code;
    struct last key = {.line = line, .class = (uint32_t) class, .thread = w->thread}, *last;
    uint32_t at;
    bool added;
    if (class < 0 || (class == WAIT_MEMORY && w->async))
        return 0;
    code = keyed_put(lasts, &key, &at, &added);
    if (code || !at)
        return code;
    last = keyed_at(lasts, at);
    struct wait_line *l = keyed_at(&s->lines, line);
    int64_t between = added ? -1 : launches_between(s, last, w);
    if (between >= 0)
        code = histogram_add(&l->between[class], between);
    last->correlation = w->correlation;
    last->launches = w->launches;
    last->counted = w->counted;
    return code;
}

static int note_thread(struct sum_wait_lines *s, struct keyed *threads, uint32_t line,
                       uint32_t thread)
{
    const uint32_t key[2] = {line, thread};
    uint32_t at;
    bool added;
    int rc = keyed_put(threads, key, &at, &added);
    ((struct wait_line *)keyed_at(&s->lines, line))->threads += !rc && added;
    return rc;
}

/* Limits a call to the time of the session. */
static void clip(const struct model *m, const struct wait_item *w, int64_t *start, int64_t *end)
{
    *start = w->start < m->facts.start ? m->facts.start : w->start;
    *end = w->end > m->facts.end ? m->facts.end : w->end;
}

/* Returns true for a call that may have been delayed instead of waiting. A row of the driver is
 * always a wait. */
static bool is_slow(const struct model *m, const struct wait_item *w)
{
    return m->facts.rows[RECORD_wait] && (w->async || w->call == WAIT_OTHER);
}

static void add_slow(struct wait_slow *s, uint64_t count, int64_t time, int64_t longest)
{
    s->calls += count;
    s->time = cells_sum(s->time, time);
    s->longest = longest > s->longest ? longest : s->longest;
}

static void keep_small(struct wait_line *l, int64_t start, int64_t end)
{
    if (end - start <= l->small_end - l->small_start)
        return;
    l->small_start = start;
    l->small_end = end;
}

static int add_call(struct model *m, uint32_t line, const struct wait_item *w)
{
    struct wait_line *l = keyed_at(&m->wait_lines.lines, line);
    int64_t start, end, ns = w->end - w->start;
    clip(m, w, &start, &end);
    l->count++;
    l->calls[w->call]++;
    l->time[w->call] = cells_sum(l->time[w->call], ns);
    if (w->call == WAIT_COPY && w->bytes && w->bytes <= WAIT_SMALL) {
        l->small++;
        l->small_time = cells_sum(l->small_time, ns);
        keep_small(l, w->start, w->end);
    }
    if (is_slow(m, w))
        add_slow(&l->slow[w->call], 1, ns, ns);
    if (w->start < l->first)
        l->first = w->start;
    if (l->count == 1 || ns > l->longest.end - l->longest.start) {
        l->longest = *w;
        l->thread = thread_name(&m->wait_lines, w->thread);
    }
    int rc = histogram_add(&l->wait, ns);
    rc = rc ? rc : busy_add(&l->blocked, start, end);
    if (rc || !calls[w->call].blocks)
        return rc;
    m->wait_lines.calls++;
    return busy_add(&m->wait_lines.blocked, start, end);
}

static int line_of(struct model *m, uint32_t stack, int call, uint32_t *line, uint32_t *node)
{
    uint32_t place;
    *node = stacks_node_of(&m->stacks, stack);
    int rc = stacks_find_place(m, *node, &place);
    return rc ? rc : find_line(&m->wait_lines, place, !calls[call].blocks, *node, line);
}

static int add_all(struct model *m, const struct wait_list *list, struct keyed *lasts,
                   struct keyed *threads)
{
    struct sum_wait_lines *s = &m->wait_lines;
    int rc = 0;
    for (size_t i = 0; !rc && i < list->count; i++) {
        const struct wait_item *w = &list->items[i];
        uint32_t line, node;
        rc = line_of(m, w->stack, w->call, &line, &node);
        rc = rc ? rc : add_call(m, line, w);
        rc = rc ? rc : note_between(s, lasts, line, w);
        rc = rc ? rc : note_thread(s, threads, line, w->thread);
        rc = rc ? rc : add_stack(s, line, node, 1, w->end - w->start);
        s->unstacked += !node;
    }
    return rc;
}

static int add_rest(struct model *m)
{
    struct sum_wait_lines *s = &m->wait_lines;
    bool syncs = !m->facts.rows[RECORD_wait];
    int rc = 0;
    for (size_t i = 0; !rc && i < s->rest.count; i++) {
        const struct rest *r = keyed_at(&s->rest, i);
        uint32_t line, node;
        if (!r->count || r->syncs != syncs)
            continue;
        s->beyond += r->count;
        rc = line_of(m, r->stack, (int)r->call, &line, &node);
        if (rc)
            break;
        struct wait_line *l = keyed_at(&s->lines, line);
        l->count += r->count;
        l->calls[r->call] += r->count;
        l->time[r->call] = cells_sum(l->time[r->call], r->time);
        l->rest = cells_sum(l->rest, r->time);
        s->calls += calls[r->call].blocks ? r->count : 0;
        rc = add_stack(s, line, node, r->count, r->time);
    }
    keyed_fini(&s->rest);
    return rc;
}

const struct wait_list *sum_wait_lines_waits(struct model *m)
{
    struct wait_list *l = m->facts.rows[RECORD_wait] ? &m->wait_lines.waits : &m->wait_lines.syncs;
    return wait_list_sort(l) ? NULL : l;
}

static int settle_lines(struct sum_wait_lines *s)
{
    int rc = busy_settle(&s->blocked);
    for (size_t i = 0; !rc && i < s->lines.count; i++) {
        struct wait_line *l = keyed_at(&s->lines, i);
        ensure_line(l);
        rc = busy_settle(&l->blocked);
    }
    return rc;
}

int sum_wait_lines_finish(struct model *m)
{
    struct sum_wait_lines *s = &m->wait_lines;
    const struct wait_list *list = sum_wait_lines_waits(m);
    struct keyed lasts, threads;
    if (!list)
        return GPUFL_E_NOMEM;
    corr_set_seal(&s->kernels);
    keyed_init(&lasts, sizeof(struct last), offsetof(struct last, correlation), LAST_MAX);
    keyed_init(&threads, 2 * sizeof(uint32_t), 2 * sizeof(uint32_t), LAST_MAX);
    int rc = add_all(m, list, &lasts, &threads);
    rc = rc ? rc : add_rest(m);
    keyed_fini(&lasts);
    keyed_fini(&threads);
    corr_set_fini(&s->kernels);
    return rc ? rc : settle_lines(s);
}

void sum_wait_lines_drop_waits(struct sum_wait_lines *s)
{
    wait_list_fini(&s->waits);
    wait_list_fini(&s->syncs);
}

int sum_wait_lines_find(struct model *m, const struct wait_item *w, uint32_t *line)
{
    uint32_t node;
    return line_of(m, w->stack, w->call, line, &node);
}

int sum_wait_lines_blame(struct model *m, uint32_t stack, int call, int64_t ns)
{
    uint32_t line, node;
    int rc = line_of(m, stack, known(call), &line, &node);
    if (!rc) {
        struct wait_line *l = keyed_at(&m->wait_lines.lines, line);
        l->idle = cells_sum(l->idle, ns);
        l->idle_in[known(call)] = cells_sum(l->idle_in[known(call)], ns);
    }
    return rc;
}

/* ---- two sessions ----------------------------------------------------------------------- */

static int merge_line(struct wait_line *l, const struct wait_line *o, int64_t shift)
{
    int rc = busy_merge(&l->blocked, &o->blocked, shift);
    bool known = o->first != INT64_MAX, none = l->first == INT64_MAX;
    if (known && (none || o->longest.end - o->longest.start > l->longest.end - l->longest.start)) {
        l->longest = o->longest;
        l->longest.start += shift;
        l->longest.end += shift;
        l->thread = o->thread;
    }
    if (known && (none || o->first + shift < l->first))
        l->first = o->first + shift;
    l->count += o->count;
    l->threads += o->threads;
    l->small += o->small;
    l->small_time = cells_sum(l->small_time, o->small_time);
    keep_small(l, o->small_start + shift, o->small_end + shift);
    l->rest = cells_sum(l->rest, o->rest);
    l->idle = cells_sum(l->idle, o->idle);
    l->lead = cells_sum(l->lead, o->lead);
    l->lead_least = cells_sum(l->lead_least, o->lead_least);
    l->replayed = o->replayed && (none || l->replayed);
    for (int c = 0; c < WAIT_CALLS; c++) {
        l->calls[c] += o->calls[c];
        l->time[c] = cells_sum(l->time[c], o->time[c]);
        l->idle_in[c] = cells_sum(l->idle_in[c], o->idle_in[c]);
        add_slow(&l->slow[c], o->slow[c].calls, o->slow[c].time, o->slow[c].longest);
    }
    rc = rc ? rc : histogram_merge(&l->wait, &o->wait);
    for (int c = 0; !rc && c < WAIT_CLASSES; c++)
        rc = histogram_merge(&l->between[c], &o->between[c]);
    return rc;
}

static int merge_lines(struct model *into, const struct model *from, int64_t shift, uint32_t *twins)
{
    struct sum_wait_lines *s = &into->wait_lines;
    int rc = 0;
    for (size_t i = 0; !rc && i < from->wait_lines.lines.count; i++) {
        const struct wait_line *o = sum_wait_lines_at(&from->wait_lines, i);
        if (!o->count && !o->idle)
            continue;
        uint32_t node = o->node ? into->stacks.merged[o->node] : 0, place;
        rc = stacks_find_place(into, node, &place);
        rc = rc ? rc : find_line(s, place, o->apart, node, &twins[i]);
        rc = rc ? rc : merge_line(keyed_at(&s->lines, twins[i]), o, shift);
    }
    return rc;
}

int sum_wait_lines_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_wait_lines *s = &into->wait_lines;
    const struct sum_wait_lines *o = &from->wait_lines;
    uint32_t *twins = mem_array(o->lines.count + 1, sizeof *twins);
    int rc = twins ? busy_merge(&s->blocked, &o->blocked, shift) : GPUFL_E_NOMEM;
    rc = rc ? rc : merge_lines(into, from, shift, twins);
    for (size_t i = 1; !rc && i < o->stacks.count; i++) {
        const struct wait_stack *k = keyed_at(&o->stacks, i);
        rc = add_stack(s, twins[k->line], into->stacks.merged[k->node], k->calls, k->time);
    }
    s->memory_lead = cells_sum(s->memory_lead, o->memory_lead);
    s->calls += o->calls;
    s->beyond += o->beyond;
    s->invalid += o->invalid;
    s->unstacked += o->unstacked;
    mem_free(twins);
    return rc;
}
