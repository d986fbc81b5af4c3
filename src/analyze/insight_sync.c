/* insight_sync.c - waits by line: where, in loops, and in allocations. */
#include "analyze/cells.h"
#include "analyze/insight.h"
#include "analyze/units.h"
#include "base/alloc.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static uint64_t explicit_calls(const struct sync_line *l)
{
    return l->calls[SYNC_EVENT] + l->calls[SYNC_STREAM] + l->calls[SYNC_CONTEXT];
}

static uint64_t copying_calls(const struct sync_line *l)
{
    return l->calls[SYNC_COPY] + l->calls[SYNC_FILL];
}

/* A line that a person can go to, where the host waited. */
static bool is_told(const struct model *m, const struct sync_line *l)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    return p && !p->mark && !l->apart && l->count;
}

/* What the line could give back at most: GPU time that was idle because of it, and not more than
 * was spent in its calls. */
static int64_t gives_back(const struct model *m, const struct sync_line *l, int64_t blocked)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all;
    if (!sum_idle_total(m, causes, &all))
        return blocked;
    return l->idle < blocked ? l->idle : blocked;
}

static enum insight_severity severity(const struct model *m, int64_t blocked)
{
    double share = 100 * cells_share((double)blocked, (double)sum_facts_duration(m));
    return share > INSIGHT_sync_high     ? INSIGHT_HIGH
           : share > INSIGHT_sync_medium ? INSIGHT_MEDIUM
                                         : INSIGHT_LOW;
}

/* Of a line, the calls that wait for the GPU: allocating and loading code only take time. */
struct waiting {
    uint64_t calls;
    int64_t ns;          /* blocked in them: at most what the line was blocked */
    enum sync_call most; /* in which most of it was spent */
};

static struct waiting waiting(const struct model *m, const struct sync_line *l)
{
    static const enum sync_call waits[] = {SYNC_EVENT, SYNC_STREAM, SYNC_CONTEXT, SYNC_COPY,
                                           SYNC_FILL,  SYNC_FREE,   SYNC_OTHER};
    struct waiting w = {.most = waits[0]};
    int64_t blocked = sum_sync_blocked(m, l);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        enum sync_call c = waits[i];
        w.calls += l->calls[c];
        w.ns = cells_sum(w.ns, l->time[c]);
        if (l->calls[c] && (!l->calls[w.most] || l->time[c] > l->time[w.most]))
            w.most = c;
    }
    w.ns = w.ns < blocked ? w.ns : blocked;
    return w;
}

/* How calls are called: the function, and one and several of them. */
static const struct {
    const char *api, *one, *several;
} words[SYNC_CALLS] = {
    [SYNC_OTHER] = {"Wait", "call that waits", "calls that wait"},
    [SYNC_EVENT] = {"EventSynchronize", "synchronization", "synchronizations"},
    [SYNC_STREAM] = {"StreamSynchronize", "synchronization", "synchronizations"},
    [SYNC_CONTEXT] = {"ContextSynchronize", "synchronization", "synchronizations"},
    [SYNC_COPY] = {"Memcpy", "copy that blocks", "copies that block"},
    [SYNC_FILL] = {"Memset", "fill that blocks", "fills that block"},
    [SYNC_FREE] = {"Free", "free that waits", "frees that wait"},
};

static void put_idle(const struct model *m, const struct sync_line *l, struct buf *out)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all, wall = sum_facts_duration(m);
    unsigned devices = sum_idle_total(m, causes, &all);
    char a[UNITS_TEXT];
    if (!devices || wall <= 0)
        return;
    if (l->idle >= wall / 1000)
        buf_printf(out, " The GPU%s sat idle %s of the run because of it.", devices > 1 ? "s" : "",
                   units_percent(a, (double)l->idle / devices, (double)wall));
    else
        buf_printf(out, " The GPU%s had work meanwhile.", devices > 1 ? "s" : "");
}

static void add_facts(const struct model *m, const struct sync_line *l, uint64_t calls, int64_t ns,
                      struct insight *i)
{
    int64_t from = m->facts.start;
    insight_fact(i, "calls", (int64_t)calls);
    insight_fact(i, "blocked_ns", ns);
    insight_fact(i, "gpu_idle_ns", l->idle);
    insight_fact(i, "threads", l->threads);
    insight_fact(i, "first_ns", l->first - from);
    insight_fact(i, "longest_ns", l->longest.end - l->longest.start);
    insight_fact(i, "longest_start_ns", l->longest.start - from);
    insight_fact(i, "longest_correlation", l->longest.correlation);
    insight_fact(i, "longest_thread", l->longest.thread);
}

/* "73.6 s of 77.4 s blocked in 50 synchronizations at train.py:90 in train_step()" */
static void put_blocked(const struct model *m, const struct sync_line *l, const struct waiting *w,
                        struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    uint64_t calls = l->calls[w->most], others = w->calls - calls;
    buf_printf(out, "%s of %s blocked in %s %s", units_time(a, w->ns),
               units_time(b, sum_facts_duration(m)), units_count(c, (int64_t)calls),
               calls == 1 ? words[w->most].one : words[w->most].several);
    if (others)
        buf_printf(out, " and %s other call%s", units_count(a, (int64_t)others),
                   others == 1 ? "" : "s");
    insight_put_where(m, l->place, out);
}

static int add_line(const struct model *m, const struct sync_line *l, const struct waiting *w,
                    struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int code = insight_add(to, "sync_line", &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->severity = severity(m, w->ns);
    i->place = l->place;
    i->gives_back = gives_back(m, l, w->ns);
    add_facts(m, l, w->calls, w->ns, i);
    buf_printf(&text, "%s × %llu @ ", words[w->most].api, (unsigned long long)l->calls[w->most]);
    stacks_put_place(m, l->place, &text);
    buf_printf(&text, " · %s (%s of session)", units_time(a, w->ns),
               units_percent(b, (double)w->ns, (double)sum_facts_duration(m)));
    code = insight_say(&i->title, &text);
    put_blocked(m, l, w, &text);
    buf_str(&text, ".");
    put_idle(m, l, &text);
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

/* A synchronization is told whatever it took; what else waited where it can be seen. */
int insight_sync_line(const struct model *m, struct insights *to)
{
    int code = 0;
    for (size_t i = 0; !code && i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        struct waiting w = waiting(m, l);
        if (is_told(m, l) &&
            (explicit_calls(l) || (w.calls && insight_is_share(m, w.ns, INSIGHT_worth, 1000))))
            code = add_line(m, l, &w, to);
    }
    return code;
}

/* Median of launches between calls of one sort, where there are enough of them for a loop. */
static bool in_loop(const struct sync_line *l, enum sync_class class, uint64_t calls,
                    int64_t *median)
{
    const struct histogram *h = &l->between[class];
    *median = h->count ? histogram_quantile(h, 0.5) : 0;
    return calls >= INSIGHT_loop_calls && *median >= INSIGHT_loop_launches;
}

/* The line is a synchronization in a loop, by the seed's rule; copies that block count where they
 * take time worth a word. */
static bool is_loop(const struct model *m, const struct sync_line *l, uint64_t *calls,
                    int64_t *median)
{
    if (!is_told(m, l))
        return false;
    *calls = explicit_calls(l);
    if (in_loop(l, SYNC_EXPLICIT, *calls, median))
        return true;
    *calls = copying_calls(l);
    return in_loop(l, SYNC_COPIES, *calls, median) &&
           insight_is_share(m, cells_sum(l->time[SYNC_COPY], l->time[SYNC_FILL]),
                            INSIGHT_loop_copies, 1000);
}

static int add_loop(const struct model *m, const struct sync_line *l, uint64_t calls,
                    int64_t median, struct insights *to)
{
    struct waiting w = waiting(m, l);
    struct insight *i;
    struct buf text;
    int code = insight_add(to, "sync_loop", &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->severity = severity(m, w.ns);
    i->place = l->place;
    i->gives_back = gives_back(m, l, w.ns);
    insight_fact(i, "launches_between_median", median);
    add_facts(m, l, w.calls, w.ns, i);
    buf_printf(&text, "In-loop sync × %llu — likely blocking GPU pipelining",
               (unsigned long long)calls);
    code = insight_say(&i->title, &text);
    put_blocked(m, l, &w, &text);
    buf_str(&text, ", inside a loop with kernels between: move it out of the loop.");
    put_idle(m, l, &text);
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

int insight_sync_loop(const struct model *m, struct insights *to)
{
    int code = 0;
    uint64_t calls;
    int64_t median;
    for (size_t i = 0; !code && i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        if (is_loop(m, l, &calls, &median))
            code = add_loop(m, l, calls, median, to);
    }
    return code;
}

/* ---- allocations ------------------------------------------------------------------------- */

/* Calls to which the line came back after launches, the first included. */
static uint64_t visits(const struct sync_line *l)
{
    const struct histogram *h = &l->between[SYNC_MEMORY];
    uint64_t none = histogram_count_zero(h);
    return h->count > none ? h->count - none + 1 : 0;
}

static bool frees_in_loop(const struct model *m)
{
    for (size_t i = 0; i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        if (l->calls[SYNC_FREE] >= INSIGHT_alloc_calls && visits(l) >= INSIGHT_alloc_calls)
            return true;
    }
    return false;
}

static int add_alloc(const struct model *m, const struct sync_line *l, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    bool frees = l->calls[SYNC_FREE] > 0, allocates = l->calls[SYNC_ALLOC] > 0;
    const char *api = frees && allocates ? "cudaMalloc and cudaFree"
                      : frees            ? "cudaFree"
                                         : "cudaMalloc";
    uint64_t calls = l->calls[SYNC_FREE] + l->calls[SYNC_ALLOC];
    int64_t spent = cells_sum(l->time[SYNC_FREE], l->time[SYNC_ALLOC]),
            all = sum_sync_blocked(m, l), blocked = all < spent ? all : spent;
    struct insight *i;
    struct buf text;
    int code = insight_add(to, "memory_alloc_loop", &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->place = l->place;
    i->gives_back = gives_back(m, l, blocked);
    i->severity = insight_by_share(m, i->gives_back);
    add_facts(m, l, calls, blocked, i);
    buf_printf(&text, "%s in a loop × %llu", api, (unsigned long long)calls);
    code = insight_say(&i->title, &text);
    buf_printf(&text, "%s calls of %s", units_count(a, (int64_t)calls), api);
    insight_put_where(m, l->place, &text);
    buf_printf(&text, " with launches between took %s; cudaFree also waits for the GPU.",
               units_time(b, spent));
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

int insight_memory_alloc_loop(const struct model *m, struct insights *to)
{
    bool frees = frees_in_loop(m);
    int code = 0;
    for (size_t i = 0; frees && !code && i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        uint64_t calls = l->calls[SYNC_FREE] + l->calls[SYNC_ALLOC];
        if (is_told(m, l) && calls >= INSIGHT_alloc_calls && visits(l) >= INSIGHT_alloc_calls)
            code = add_alloc(m, l, to);
    }
    return code;
}

/* ---- small copies ------------------------------------------------------------------------- */

static int add_small(const struct model *m, uint32_t place, uint64_t count, int64_t ns, bool host,
                     struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int code = insight_add(to, "small_copies", &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->place = place;
    i->gives_back = ns;
    i->severity = insight_by_share(m, ns);
    insight_fact(i, "copies", (int64_t)count);
    insight_fact(i, host ? "host_ns" : "gpu_ns", ns);
    buf_printf(&text, "Small copies × %llu", (unsigned long long)count);
    code = insight_say(&i->title, &text);
    buf_printf(&text, "%s copies of at most 16 KiB", units_count(a, (int64_t)count));
    insight_put_where(m, place, &text);
    buf_printf(&text, " took %s of the %s's time: each costs its call, not its data.",
               units_time(b, ns), host ? "host" : "GPU");
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

/* The line's own finding says the same and more. */
static bool told_already(const struct model *m, uint32_t place)
{
    uint64_t calls;
    int64_t median;
    for (size_t i = 0; i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        if (l->place == place && is_loop(m, l, &calls, &median))
            return true;
    }
    return false;
}

/* Small copies of a place of which the GPU's records tell. */
static uint64_t small_records(const struct model *m, uint32_t place)
{
    uint64_t count = 0;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->place == place && w->kind != WORK_KERNEL)
            count += w->small;
    }
    return count;
}

/* Small copies of a place whose calls were recorded: of asynchronous ones those that took long. */
static uint64_t small_calls(const struct model *m, uint32_t place)
{
    uint64_t count = 0;
    for (size_t i = 0; i < m->sync.lines.count; i++)
        if (sum_sync_line(&m->sync, i)->place == place)
            count += sum_sync_line(&m->sync, i)->small;
    return count;
}

/* By the calls where all of them were recorded, else by what the GPU did. */
int insight_small_copies(const struct model *m, struct insights *to)
{
    int code = 0;
    for (size_t i = 0; !code && i < m->sync.lines.count; i++) {
        const struct sync_line *l = sum_sync_line(&m->sync, i);
        if (is_told(m, l) && l->small >= INSIGHT_small_copies &&
            l->small >= small_records(m, l->place) &&
            insight_is_share(m, l->small_time, INSIGHT_worth, 1000) && !told_already(m, l->place))
            code = add_small(m, l->place, l->small, l->small_time, true, to);
    }
    for (size_t i = 1; !code && i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        const struct stacks_place *p = stacks_place_at(&m->stacks, w->place);
        if (p && !p->mark && w->kind != WORK_KERNEL && w->small >= INSIGHT_small_copies &&
            small_calls(m, w->place) < small_records(m, w->place) &&
            insight_is_share(m, w->small_time, INSIGHT_worth, 1000) && !told_already(m, w->place))
            code = add_small(m, w->place, w->small, w->small_time, false, to);
    }
    return code;
}
