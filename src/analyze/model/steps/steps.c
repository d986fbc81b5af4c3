/* steps.c - finds the steps of a session from its rows; see steps.h. */
#include "analyze/model/steps/steps.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { MERGED_MOST = 1 << 20 /* steps that are kept of merged sessions */ };

/* Names a kernel, or a graph. */
struct called {
    int64_t name, graph; /* id of model.names, 0: a graph; id in the log */
};

void sum_steps_init(struct model *m)
{
    struct sum_steps *s = &m->steps;
    memset(s, 0, sizeof *s);
    step_marks_init(&s->marks);
    keyed_init(&s->called, sizeof(struct called), sizeof(struct called), STEP_OTHERS);
    busy_init(&s->spans);
    keyed_init(&s->before, sizeof(struct steps_before), offsetof(struct steps_before, ns),
               STEP_NAMES);
    s->begins = INT64_MIN;
}

/* Frees what is needed only to find steps. */
static void drop_rows(struct sum_steps *s)
{
    step_rows_fini(&s->rows);
    step_marks_fini(&s->marks);
    keyed_fini(&s->called);
    mem_free(s->config_name);
    mem_free(s->updates);
    s->config_name = NULL;
    s->updates = NULL;
    s->config_count = s->config_cap = 0;
}

void sum_steps_fini(struct model *m)
{
    drop_rows(&m->steps);
    mem_free(m->steps.items);
    keyed_fini(&m->steps.before);
    busy_fini(&m->steps.spans);
    sum_steps_init(m);
}

/* ---- rows -------------------------------------------------------------------------------- */

static int call(struct sum_steps *s, int64_t name, int64_t graph, uint32_t *to)
{
    struct called key = {name, graph};
    int rc = keyed_put(&s->called, &key, to, NULL);
    *to = *to ? *to : STEP_OTHERS;
    return rc;
}

/* Finds the name, in rows, of a kernel with that configuration. */
static int call_kernel(struct model *m, int64_t config, uint32_t *to)
{
    struct sum_steps *s = &m->steps;
    bool known = config > 0 && (uint64_t)config < m->refs.config_count;
    uint32_t at = known ? m->refs.configs[config] : 0;
    if (at < s->config_count && s->config_name[at]) {
        *to = s->config_name[at];
        return 0;
    }
    int rc = mem_grow(&s->config_name, &s->config_cap, at + 1u, sizeof *s->config_name, 1 << 24);
    for (; !rc && s->config_count <= at; s->config_count++)
        s->config_name[s->config_count] = 0;
    int64_t name = at ? sum_kernels_config(&m->kernels, at)->row.name : -1;
    rc = rc ? rc : call(s, name, 0, to);
    if (!rc)
        s->config_name[at] = *to;
    return rc;
}

static uint32_t call_copy(const struct wire_batch *b, size_t i)
{
    int64_t kind = cells_or(b, COL_memcpy_kind, i, 0);
    bool pageable = cells_get(b, COL_memcpy_src_memory, i) == TRANSFER_PAGEABLE ||
                    cells_get(b, COL_memcpy_dst_memory, i) == TRANSFER_PAGEABLE;
    kind = kind > 0 && kind < TRANSFER_KINDS ? kind : 0;
    return pageable ? STEP_PAGEABLE + (uint32_t)kind : STEP_COPY;
}

static int take_work(struct model *m, const struct wire_batch *b, unsigned stream)
{
    struct sum_steps *s = &m->steps;
    int64_t end, last = 0;
    uint32_t name = STEP_COPY;
    int rc = 0;
    for (size_t i = 0; !rc && b->col[0] && b->col[1] && i < b->rows; i++) {
        uint32_t device = model_stream_device(m, cells_get(b, stream, i));
        if (!cells_interval(b->col[0][i], b->col[1][i], &end))
            continue;
        if (b->type == RECORD_kernel) {
            int64_t config = cells_or(b, COL_kernel_config, i, 0);
            if (config != last || name == STEP_COPY)
                rc = call_kernel(m, config, &name);
            last = config;
        } else if (b->type == RECORD_graph_run) {
            rc = call(s, 0, cells_or(b, COL_graph_run_graph, i, 0), &name);
        } else if (b->type == RECORD_memcpy) {
            name = call_copy(b, i);
        }
        if (!rc)
            rc = step_rows_add(&s->rows, b->col[0][i], end, device, name);
    }
    return rc;
}

static int take_scopes(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t span[2] = {cells_get(b, COL_scope_start, i), 0},
                thread = cells_or(b, COL_scope_thread, i, 0);
        uint32_t name = model_name_cell(m, cells_get(b, COL_scope_name, i));
        if (name && cells_interval(span[0], cells_get(b, COL_scope_duration, i), &span[1]))
            rc = step_marks_add(&m->steps.marks, m->names, name,
                                thread > 0 && thread <= UINT32_MAX ? (uint32_t)thread : 0, span);
    }
    return rc;
}

int sum_steps_batch(struct model *m, const struct wire_batch *b)
{
    switch (b->type) {
    case RECORD_scope:
        return take_scopes(m, b);
    case RECORD_kernel:
        return take_work(m, b, COL_kernel_stream);
    case RECORD_graph_run:
        return take_work(m, b, COL_graph_run_stream);
    case RECORD_memcpy:
        return take_work(m, b, COL_memcpy_stream);
    default:
        return take_work(m, b, COL_memset_stream);
    }
}

/* ---- steps ------------------------------------------------------------------------------- */

static uint32_t count_names(const struct sum_steps *s)
{
    return s->called.refused ? STEP_NAMES : (uint32_t)s->called.count + 1;
}

uint32_t sum_steps_names(const struct model *m)
{
    return count_names(&m->steps);
}

uint32_t sum_steps_name(const struct model *m, uint32_t name)
{
    const struct keyed *k = &m->steps.called;
    int64_t id = name && name < k->count ? ((const struct called *)keyed_at(k, name))->name : 0;
    return id > 0 && id <= UINT32_MAX ? (uint32_t)id : 0;
}

/* Returns true for the kernels of optimizers: PyTorch's own, its fused ones and those of libraries.
 * A copy of a list of tensors (at::native::Copy, also mangled) is none of them: graphs of
 * torch.compile take their inputs by one. */
static bool is_update(const char *text)
{
    static const char *const words[] = {"adam", "sgd", "adagrad", "rmsprop", "optimizer"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcasestr(text, words[k]))
            return true;
    return strstr(text, "multi_tensor_apply") && !strstr(text, "::Copy<") &&
           !strstr(text, "4CopyI");
}

/* Marks the kernels of optimizers. */
static int mark_updates(struct model *m)
{
    struct sum_steps *s = &m->steps;
    mem_free(s->updates);
    s->updates = mem_array(count_names(s), 1);
    if (!s->updates)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < s->called.count; i++) {
        int64_t name = ((const struct called *)keyed_at(&s->called, i))->name;
        const char *text = name > 0 ? model_text(m, (uint32_t)name) : "";
        s->updates[i] = is_update(text);
    }
    return 0;
}

/* Returns the device that ran most kernels. */
static uint32_t main_device(const struct sum_steps *s)
{
    uint64_t kernels[256] = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < s->rows.count; i++)
        kernels[step_device(&s->rows.items[i])] += step_is_kernel(&s->rows.items[i]);
    for (uint32_t d = 1; d < 256; d++)
        if (kernels[d] > kernels[most])
            most = d;
    return most;
}

static void name_steps(struct sum_steps *s, const struct step_found *found)
{
    const struct step_group *g = keyed_at(&s->marks.groups, found->group);
    s->scope = found->group ? g->name : 0;
    s->thread = found->group ? g->thread : 0;
    s->kernel = 0;
    if (!found->group && found->name) {
        int64_t name = ((const struct called *)keyed_at(&s->called, found->name))->name;
        s->kernel = name > 0 ? (uint32_t)name : 0;
    }
}

/* Gives one name to all graphs that ran once or twice: a program that makes a new graph for each
 * step has a new id each time, although it repeats the step. */
static int join_graphs(struct sum_steps *s)
{
    enum { ONCE = 2 };
    uint32_t n = count_names(s), first = 0, *runs = mem_array(n, sizeof *runs);
    if (!runs)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < s->rows.count; i++)
        if (step_is_kernel(&s->rows.items[i]))
            runs[step_name(&s->rows.items[i])]++;
    for (uint32_t i = 1; i < n; i++) {
        const struct called *c = i < s->called.count ? keyed_at(&s->called, i) : NULL;
        bool once = c && !c->name && runs[i] && runs[i] <= ONCE;
        first = once && !first ? i : first;
        runs[i] = once ? first : 0; /* from here on: the name that the graph gets */
    }
    for (size_t i = 0; first && i < s->rows.count; i++) {
        struct step_row *r = &s->rows.items[i];
        uint32_t name = step_is_kernel(r) ? runs[step_name(r)] : 0;
        if (name)
            r->what = step_device(r) << 24 | name;
    }
    mem_free(runs);
    return 0;
}

/* Finds the steps in what has been read; *settled gets the first step of the steady part. */
static int find(struct model *m, size_t *settled)
{
    struct sum_steps *s = &m->steps;
    struct step_found found = {0};
    int rc = step_rows_settle(&s->rows);
    for (size_t i = 0; sum_devices_resolve(m, 0) && i < s->rows.count; i++)
        if (!step_device(&s->rows.items[i]))
            s->rows.items[i].what |= 1u << 24;
    rc = rc ? rc : join_graphs(s);
    rc = rc ? rc : mark_updates(m);
    struct step_sequence q = {.rows = &s->rows, .updates = s->updates, .names = count_names(s)};
    rc = rc ? rc : step_sequence_init(&q, main_device(s));
    rc = rc ? rc : step_find_scopes(&s->marks, &q, &found);
    if (!rc && !found.count)
        rc = step_find_sequence(&q, &found);
    rc = rc ? rc : step_measure(s, &found, settled);
    if (!rc)
        name_steps(s, &found);
    s->why = !q.count              ? STEPS_NO_WORK
             : !s->count           ? STEPS_NONE
             : *settled < s->count ? STEPS_FOUND
                                   : STEPS_UNSETTLED;
    step_sequence_fini(&q);
    step_found_fini(&found);
    return rc;
}

int sum_steps_begin(struct model *m, int64_t *begins)
{
    struct sum_steps *s = &m->steps;
    size_t settled;
    int rc = 0;
    if (!s->finished && !s->asked && !sum_windows_gpu_any(m)) {
        rc = find(m, &settled);
        s->asked = true;
        s->decided = !rc && s->why == STEPS_FOUND;
        if (s->decided)
            s->begins = s->items[settled].start;
    }
    *begins = s->begins;
    return rc;
}

int step_before_add(struct sum_steps *s, const struct steps_before *one)
{
    uint32_t at;
    int rc = keyed_put(&s->before, one, &at, NULL);
    if (rc)
        return rc;
    struct steps_before *to = at ? keyed_at(&s->before, at) : NULL;
    s->before_partly |= !to;
    if (to)
        to->ns = cells_sum(to->ns, one->ns);
    return 0;
}

/* Returns true if the beginning that was decided lies in the first half of the steps. */
static bool holds(const struct sum_steps *s)
{
    return s->count && s->begins >= s->items[0].start && s->begins < s->items[s->count / 2].end;
}

static int settle(struct model *m, size_t settled)
{
    struct sum_steps *s = &m->steps;
    if (s->why != STEPS_FOUND && s->why != STEPS_UNSETTLED)
        return 0;
    s->sessions = 1;
    if (s->decided) /* rows that came later do not change it */
        s->why = holds(s) ? STEPS_FOUND : STEPS_UNSETTLED;
    else if (s->why == STEPS_FOUND && s->asked)
        s->why = STEPS_LATE;
    else if (s->why == STEPS_FOUND)
        s->begins = s->items[settled].start;
    if (s->why != STEPS_FOUND)
        return 0;
    s->steady = 1;
    s->start_up = s->begins > m->facts.start ? s->begins - m->facts.start : 0;
    for (size_t i = 0; i < s->count; i++)
        s->items[i].steady = s->items[i].start >= s->begins;
    return step_measure_before(m);
}

int sum_steps_finish(struct model *m)
{
    struct sum_steps *s = &m->steps;
    size_t settled = 0;
    int rc = 0;
    if (s->finished)
        return busy_settle(&s->spans);
    if (sum_windows_gpu_any(m) || m->windows.kernels.cut)
        s->why = STEPS_WINDOWS;
    else if (sum_known_is_cut(m, KNOWN_KERNELS)) /* what a step ran is unknown */
        s->why = STEPS_NO_WORK;
    else
        rc = find(m, &settled);
    rc = rc ? rc : settle(m, settled);
    s->beyond = s->rows.beyond;
    s->finished = true;
    drop_rows(s);
    return rc;
}

int sum_steps_end(struct model *m, int64_t ended)
{
    struct sum_steps *s = &m->steps;
    bool steady = s->steady && ended > s->begins;
    int64_t since = steady ? s->begins : m->facts.start, until = steady ? ended : m->facts.end;
    if (steady)
        s->end = m->facts.end > ended ? m->facts.end - ended : 0;
    int rc = busy_add(&s->spans, since, until);
    return rc ? rc : busy_settle(&s->spans);
}

int sum_steps_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_steps *s = &into->steps;
    const struct sum_steps *o = &from->steps;
    bool first = !s->finished;
    s->finished = true;
    if (first || !s->sessions) {
        s->why = o->why;
        s->scope = o->scope;
        s->kernel = o->kernel;
        s->thread = o->thread;
        s->mixed = o->mixed;
    } else if (o->sessions) {
        s->mixed = s->mixed || o->mixed || s->scope != o->scope || s->kernel != o->kernel;
        s->thread = s->thread == o->thread ? s->thread : 0;
    }
    size_t more = o->count < MERGED_MOST - s->count ? o->count : MERGED_MOST - s->count;
    int rc = mem_grow(&s->items, &s->cap, s->count + more, sizeof *s->items, MERGED_MOST);
    for (size_t i = 0; !rc && i < more; i++) {
        struct steps_one *to = &s->items[s->count++];
        *to = o->items[i];
        to->start += shift;
        to->end += shift;
        to->session += s->sessions;
    }
    s->sessions += o->sessions;
    s->steady += o->steady;
    if (s->steady)
        s->why = STEPS_FOUND;
    s->devices = o->devices > s->devices ? o->devices : s->devices;
    s->start_up = cells_sum(s->start_up, o->start_up);
    s->end = cells_sum(s->end, o->end);
    s->compute_before = cells_sum(s->compute_before, o->compute_before);
    s->any_before = cells_sum(s->any_before, o->any_before);
    s->copies_before = cells_sum(s->copies_before, o->copies_before);
    s->before_partly |= o->before_partly;
    for (int k = 0; k < TRANSFER_KINDS; k++)
        s->pageable_before[k] = cells_sum(s->pageable_before[k], o->pageable_before[k]);
    for (size_t i = 1; !rc && i < o->before.count; i++)
        rc = step_before_add(s, keyed_at(&o->before, i));
    s->beyond += o->beyond;
    return rc ? rc : busy_merge(&s->spans, &o->spans, shift);
}
