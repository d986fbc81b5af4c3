/* allocations.c - makes the finding about memory that is allocated and freed in a loop. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/wait_cost.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Counts the first call, and calls to which the line came back after launches. */
static uint64_t visits(const struct wait_line *l)
{
    const struct histogram *h = &l->between[WAIT_MEMORY];
    uint64_t none = histogram_count_zero(h);
    return h->count > none ? h->count - none + 1 : 0;
}

static bool frees_in_loop(const struct model *m)
{
    for (size_t i = 0; i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        if (l->calls[WAIT_FREE] >= INSIGHT_alloc_calls && visits(l) >= INSIGHT_alloc_calls)
            return true;
    }
    return false;
}

/* Returns true if a stack of the line frees the memory that PyTorch caches. */
static bool empties_cache(const struct model *m, const struct wait_line *l)
{
    struct stacks_walk walk = {.node = l->node};
    struct stacks_step step;
    while (stacks_next(&m->stacks, &walk, &step))
        if (strcasestr(model_text(m, step.function), "emptyCache") ||
            !strcmp(model_text(m, step.function), "empty_cache"))
            return true;
    return false;
}

enum { CALLS_ROOM = 48 };

/* Writes "cudaMalloc and cudaFree", in the vendor's words. */
static void name_calls(const struct model *m, bool allocates, bool frees, char out[CALLS_ROOM])
{
    const char *api = model_words(m)->api;
    snprintf(out, CALLS_ROOM, "%s%s%s%s%s", allocates ? api : "", allocates ? "Malloc" : "",
             allocates && frees ? " and " : "", frees ? api : "", frees ? "Free" : "");
}

static int add_alloc(const struct model *m, const struct wait_line *l, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], calls[CALLS_ROOM];
    const char *api = model_words(m)->api;
    name_calls(m, l->calls[WAIT_ALLOC] > 0, l->calls[WAIT_FREE] > 0, calls);
    int64_t spent = cells_sum(l->time[WAIT_FREE], l->time[WAIT_ALLOC]),
            all = sum_wait_lines_blocked(m, l);
    struct wait_cost w = {.calls = l->calls[WAIT_FREE] + l->calls[WAIT_ALLOC],
                          .ns = all < spent ? all : spent,
                          .idle = cells_sum(l->idle_in[WAIT_FREE], l->idle_in[WAIT_ALLOC])};
    w.lead = w.idle;
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "memory_alloc_loop", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->place = l->place;
    i->gives_back = wait_cost_gives_back(m, w.lead, w.ns);
    i->severity = insight_by_share(m, i->gives_back);
    insight_of(i, IDLE_MEMORY, w.idle);
    wait_cost_put_facts(m, l, &w, i);
    if (empties_cache(m, l))
        i->next = model_words(m)->empty_cache;
    buf_printf(&text, "%s in a loop × %s", calls, units_count(a, (int64_t)w.calls));
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s calls of %s", units_count(a, (int64_t)w.calls), calls);
    insight_put_where(m, l->place, &text);
    buf_printf(&text, " with launches between took %s; %sFree also waits for the GPU.",
               units_time(b, spent), api);
    wait_cost_put_library(m, l, i, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Writes " Gives back at most 35.2 ms at a.py:19 in f(), 34.5 ms at a.py:17 in f() and 12.1 ms at 4
 * more lines." Findings [first, to->count). */
static void put_each_line(const struct model *m, const struct insights *to, size_t first,
                          struct buf *out)
{
    enum { SHOWN = 3 };
    char time[UNITS_TEXT];
    int64_t rest = 0;
    size_t shown = 0, count = 0;
    for (size_t i = first; i < to->count; i++)
        count += to->items[i].gives_back > 0;
    if (!count)
        return;
    buf_str(out, " Gives back at most");
    for (size_t i = first; i < to->count; i++) {
        if (to->items[i].gives_back <= 0)
            continue;
        if (shown == SHOWN && count > SHOWN + 1) {
            rest = cells_sum(rest, to->items[i].gives_back);
            continue;
        }
        buf_printf(out, "%s %s at ",
                   !shown               ? ""
                   : shown + 1 == count ? " and"
                                        : ",",
                   units_time(time, to->items[i].gives_back));
        stacks_put_place(m, to->items[i].place, out);
        shown++;
    }
    if (shown < count)
        buf_printf(out, " and %s at %zu more lines", units_time(time, rest), count - shown);
    buf_str(out, ".");
}

/* Says what calls that allocate and free cost at their lines, and by the lead that they take. */
struct memory_calls {
    int64_t idle, spent; /* ns: idle time of all GPUs in the calls; the union of the calls */
};

static struct memory_calls memory_calls(const struct model *m)
{
    struct memory_calls c = {0};
    for (size_t i = 0; i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        int64_t spent = cells_sum(l->time[WAIT_FREE], l->time[WAIT_ALLOC]),
                all = sum_wait_lines_blocked(m, l);
        c.spent = cells_sum(c.spent, all < spent ? all : spent);
        c.idle = cells_sum(c.idle, cells_sum(l->idle_in[WAIT_FREE], l->idle_in[WAIT_ALLOC]));
    }
    return c;
}

/* Without these calls the host would also launch earlier, and the GPU would be less idle later. The
 * first finding gets this time, since one memory pool fixes all lines. */
static int add_lead(const struct model *m, struct insight *i)
{
    struct memory_calls c = memory_calls(m);
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t wall = sum_steps_time(m),
            later = wait_cost_gives_back(m, m->wait_lines.memory_lead, c.spent) -
                    wait_cost_gives_back(m, c.idle, c.spent);
    struct buf text;
    if (wall <= 0 || later < wall / 1000)
        return 0;
    buf_init(&text, TEXT_MAX);
    buf_printf(
        &text,
        "%s While the host was in such calls, nothing new was launched, and then the GPU was "
        "idle for another %s (%s of %s).",
        i->text, units_time(a, later), units_percent(b, (double)later, (double)wall),
        sum_steps_whole(m));
    int rc = insight_say(&i->text, &text);
    buf_fini(&text);
    insight_fact(i, "gpu_idle_later_ns", later);
    i->gives_back = cells_sum(i->gives_back, later);
    i->severity = insight_by_share(m, i->gives_back);
    i->of_rule = true;
    return rc;
}

/* One memory pool fixes the loops of all lines, so the finding of the line with most time gets the
 * time of all. */
static int join_allocs(const struct model *m, struct insights *to, size_t first, const char *calls)
{
    struct insight *most = &to->items[first];
    int64_t all = 0;
    struct buf text;
    for (size_t i = first; i < to->count; i++) {
        all = cells_sum(all, to->items[i].gives_back);
        most = to->items[i].gives_back > most->gives_back ? &to->items[i] : most;
    }
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "%s in loops at %zu lines", calls, to->count - first);
    int rc = insight_say(&most->title, &text);
    buf_str(&text, most->text);
    put_each_line(m, to, first, &text);
    rc = rc ? rc : insight_say(&most->text, &text);
    buf_fini(&text);
    most->gives_back = all;
    most->severity = insight_by_share(m, all);
    most->of_rule = true;
    return rc ? rc : add_lead(m, most);
}

int insight_memory_alloc_loop(const struct model *m, struct insights *to)
{
    bool frees = frees_in_loop(m), some_allocate = false, some_free = false;
    char calls_text[CALLS_ROOM];
    size_t first = to->count;
    int rc = 0;
    for (size_t i = 0; frees && !rc && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        uint64_t calls = l->calls[WAIT_FREE] + l->calls[WAIT_ALLOC];
        if (!insight_line_is_known(m, l) || calls < INSIGHT_alloc_calls ||
            visits(l) < INSIGHT_alloc_calls)
            continue;
        some_allocate |= l->calls[WAIT_ALLOC] > 0;
        some_free |= l->calls[WAIT_FREE] > 0;
        rc = add_alloc(m, l, to);
    }
    if (rc || to->count == first)
        return rc;
    if (to->count == first + 1)
        return add_lead(m, &to->items[first]);
    name_calls(m, some_allocate, some_free, calls_text);
    return join_allocs(m, to, first, calls_text);
}
