/* lead.c - replays a session without the waits of a line; see lead.h. */
#include "analyze/model/idle/lead.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/threads/calls.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

enum {
    PAIRS_MAX = 1 << 16, /* lines and threads that are summed up */
    REPLAYS = 64,        /* pairs with most time that are replayed */
    LEAST = 1000,        /* waits below 1/LEAST of the time are not replayed */
    FREE_THREADS = 16    /* threads that do not depend on the one that waits */
};

#define LATENCY 20000ll /* ns from a launch to its work on an idle GPU, at most */

#define MEMORY UINT32_MAX

enum { LESS_QUEUE = 4 /* careful replay: the queue takes 1/LESS_QUEUE of LEAD_LAUNCHES */ };

/* Holds the waits of one thread at a line, or its calls that allocate and free at any line. */
struct pair {
    uint32_t line, thread; /* line: MEMORY for calls that allocate and free */
    int64_t ns;            /* not of the key: blocked in the share base */
};

/* Holds a replay. Times are ns. */
struct replay {
    const struct wait_list *waits;
    const struct idle_thread *calls; /* of the thread */
    const uint32_t *lines;           /* by wait: its line */
    struct pair pair;
    int64_t begins, over;        /* ns: waits outside do not count */
    int64_t most;                /* by how much the host can be ahead */
    bool careful;                /* the replay for the lower bound: lead.h */
    uint32_t free[FREE_THREADS]; /* threads that launch while this one waits */
    size_t free_count;
    int64_t host, gpu; /* ns by which host and GPU are earlier now */
    size_t next;       /* index of the thread's next call */
};

/* Returns true for calls that return only after the GPU has done some work. */
static bool is_wait(const struct wait_item *w)
{
    return !w->async && w->call != WAIT_ALLOC && w->call != WAIT_MODULE &&
           sum_wait_lines_blocks(w->call);
}

/* Returns true for gaps that an earlier launch would have made shorter. */
static bool is_of_host(const struct idle_kept_gap *g)
{
    switch (g->cause) {
    case IDLE_SYNC:
    case IDLE_COPY:
    case IDLE_MEMORY:
    case IDLE_CODE:
    case IDLE_SLOW:
    case IDLE_LATE:
    case IDLE_NOTHING:
        return true;
    default:
        return false;
    }
}

/* Returns true for calls that a memory pool makes needless. */
static bool is_memory(const struct wait_item *w)
{
    return !w->async && (w->call == WAIT_ALLOC || w->call == WAIT_FREE);
}

static bool is_own(const struct replay *r, size_t call)
{
    uint32_t at = r->calls->calls[call];
    const struct wait_item *w = &r->waits->items[at];
    bool own = r->pair.line == MEMORY ? is_memory(w) : is_wait(w) && r->lines[at] == r->pair.line;
    return own && w->end > r->begins && w->start < r->over;
}

static bool is_free(const struct replay *r, uint32_t thread)
{
    for (size_t i = 0; i < r->free_count; i++)
        if (r->free[i] == thread)
            return true;
    return r->free_count == FREE_THREADS;
}

/* Notes the threads that launched while this one was in its waits: they do not depend on it, and
 * would not be earlier without the waits. Gaps and waits are in order of time. */
static void find_free(struct replay *r, const struct idle_kept_gap *gaps, size_t count)
{
    size_t call = 0;
    r->free_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct idle_kept_gap *g = &gaps[i];
        if (g->thread == r->pair.thread || !is_of_host(g) || is_free(r, g->thread))
            continue;
        while (call < r->calls->count && r->waits->items[r->calls->calls[call]].end <= g->end)
            call++;
        if (call == r->calls->count)
            break;
        if (is_own(r, call) && r->waits->items[r->calls->calls[call]].start + LATENCY < g->end)
            r->free[r->free_count++] = g->thread;
    }
}

/* Moves on to the return of the thread's next call. `done`: when the GPU had finished its work; it
 * may have had more. */
static void leave_call(struct replay *r, int64_t done)
{
    size_t call = r->next++;
    const struct wait_item *w = &r->waits->items[r->calls->calls[call]];
    if (is_own(r, call)) {
        int64_t from = w->start > r->begins ? w->start : r->begins, ns = w->end - from;
        ns -= !r->careful ? 0 : ns < LATENCY ? ns : LATENCY;
        r->host = cells_sum(r->host, ns);
    } else if (is_wait(w)) {
        int64_t most = w->end - done + r->gpu;
        r->host = r->host < most ? r->host : most;
    }
    int64_t ahead = r->careful ? r->most / LESS_QUEUE : r->most;
    r->host = r->host - r->gpu > ahead ? r->gpu + ahead : r->host;
}

/* Returns the part of a gap that disappears if the host is earlier by `ahead`. */
static int64_t shrinks(const struct replay *r, const struct idle_kept_gap *g, int64_t ahead)
{
    int64_t gap = g->end - g->start;
    if (!is_of_host(g) || ahead <= 0 || is_free(r, g->thread))
        return 0;
    if (r->careful && !g->thread)
        return 0;
    gap -= r->careful ? IDLE_BACK_TO_BACK : 0;
    return gap < 0 ? 0 : ahead < gap ? ahead : gap;
}

/* Replays a device's gaps. Returns the idle time that it would not have had. */
static int64_t replay(struct replay *r, const struct idle_kept_gap *gaps, size_t count)
{
    find_free(r, gaps, count);
    r->host = r->gpu = 0;
    r->next = 0;
    for (size_t i = 0; i < count; i++) {
        const struct idle_kept_gap *g = &gaps[i];
        while (r->next < r->calls->count) {
            int64_t end = r->waits->items[r->calls->calls[r->next]].end;
            if (end > g->end)
                break;
            leave_call(r, end > g->start ? g->start : end);
        }
        r->gpu += shrinks(r, g, r->host - r->gpu);
    }
    return r->gpu;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = *(const struct pair *const *)a, *y = *(const struct pair *const *)b;
    int o = ORDER(y->ns, x->ns);
    o = o ? o : ORDER(x->line, y->line);
    return o ? o : ORDER(x->thread, y->thread);
}

static int add_to_pair(struct keyed *pairs, uint32_t line, const struct wait_item *w,
                       int64_t begins)
{
    struct pair key = {.line = line, .thread = w->thread};
    uint32_t at;
    int rc = keyed_put(pairs, &key, &at, NULL);
    if (!rc && at) {
        struct pair *p = keyed_at(pairs, at);
        p->ns = cells_sum(p->ns, w->end - (w->start > begins ? w->start : begins));
    }
    return rc;
}

/* Sums up the waits by line and thread, and finds the line of each. */
static int sum_pairs(struct model *m, const struct replay *r, uint32_t *lines, struct keyed *pairs)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->waits->count; i++) {
        const struct wait_item *w = &r->waits->items[i];
        if (w->end <= r->begins || w->start >= r->over)
            continue;
        if (is_wait(w)) {
            rc = sum_wait_lines_find(m, w, &lines[i]);
            rc = rc ? rc : add_to_pair(pairs, lines[i], w, r->begins);
        }
        if (!rc && is_memory(w))
            rc = add_to_pair(pairs, MEMORY, w, r->begins);
    }
    return rc;
}

/* Replays one pair over all devices; the list has the devices' gaps one after the other. */
static int64_t replay_devices(const struct model *m, struct replay *r, bool careful)
{
    const struct idle_gap_list *l = &m->idle.gaps;
    int64_t ns = 0;
    r->careful = careful;
    for (size_t from = 0, end; from < l->count; from = end) {
        for (end = from; end < l->count && l->rows[end].device == l->rows[from].device; end++) {
        }
        ns = cells_sum(ns, replay(r, l->rows + from, end - from));
    }
    return ns;
}

static void replay_pair(struct model *m, struct replay *r)
{
    struct wait_line *line;
    int64_t most = replay_devices(m, r, false), least = replay_devices(m, r, true);
    if (r->pair.line == MEMORY) {
        m->wait_lines.memory_lead = cells_sum(m->wait_lines.memory_lead, most);
        return;
    }
    line = keyed_at(&m->wait_lines.lines, r->pair.line);
    line->lead = cells_sum(line->lead, most);
    line->lead_least = cells_sum(line->lead_least, least < most ? least : most);
    line->replayed = true;
}

/* Returns the average time in which the GPU works off a full queue of launches. */
static int64_t most_ahead(const struct model *m)
{
    double length = (double)m->facts.end - (double)m->facts.start,
           launches = (double)m->kernels.time.count;
    return launches > 0 ? cells_whole(length / launches * LEAD_LAUNCHES) : INT64_MAX / 2;
}

static int replay_all(struct model *m, struct replay *r, const struct keyed *pairs)
{
    const struct pair **order = mem_array(pairs->count + 1, sizeof(const struct pair *));
    size_t count = 0;
    if (!order)
        return GPUFL_E_NOMEM;
    int64_t least =
        (m->facts.end - (r->begins > m->facts.start ? r->begins : m->facts.start)) / LEAST;
    for (size_t i = 1; i < pairs->count; i++) {
        const struct pair *p = keyed_at(pairs, (uint32_t)i);
        if (p->ns >= least)
            order[count++] = p;
    }
    if (count)
        qsort(order, count, sizeof(const struct pair *), compare_pairs);
    for (size_t i = 0; i < count && i < REPLAYS; i++) {
        r->pair = *order[i];
        r->calls = idle_calls_thread(&m->idle, r->pair.thread);
        if (r->calls)
            replay_pair(m, r);
    }
    mem_free(order);
    return 0;
}

int idle_lead_find(struct model *m)
{
    struct replay r = {.most = most_ahead(m), .over = sum_steps_over(m)};
    struct keyed pairs;
    if (!m->idle.gaps.count || sum_windows_gpu_any(m))
        return 0;
    int rc = idle_calls_prepare(m, &r.waits);
    rc = rc ? rc : sum_steps_begin(m, &r.begins);
    if (rc)
        return rc;
    uint32_t *lines = mem_array(r.waits->count + 1, sizeof *lines);
    keyed_init(&pairs, sizeof(struct pair), offsetof(struct pair, ns), PAIRS_MAX);
    r.lines = lines;
    rc = lines ? sum_pairs(m, &r, lines, &pairs) : GPUFL_E_NOMEM;
    rc = rc ? rc : replay_all(m, &r, &pairs);
    keyed_fini(&pairs);
    mem_free(lines);
    return rc;
}
