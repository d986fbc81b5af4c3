/* waits.c - waits by line: where, in loops, and in allocations. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/insight.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static uint64_t explicit_calls(const struct wait_line *l)
{
    return l->calls[WAIT_EVENT] + l->calls[WAIT_STREAM] + l->calls[WAIT_CONTEXT];
}

static uint64_t copying_calls(const struct wait_line *l)
{
    return l->calls[WAIT_COPY] + l->calls[WAIT_FILL];
}

bool insight_line_is_known(const struct model *m, const struct wait_line *l)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    return p && !p->mark && !l->apart && l->count;
}

/* Waits that the driver makes by itself: no frame of the program is on their stacks. */
static bool is_driver(const struct model *m, const struct wait_line *l)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    return p && p->mark && !l->apart && l->count &&
           strcmp(model_text(m, p->mark), "<driver-internal>") == 0;
}

/* The most that calls of a line could give back: GPU time that was idle because of these calls,
 * and not more than was spent in them. idle: of all devices. */
static int64_t gives_back(const struct model *m, int64_t idle, int64_t blocked)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all;
    if (!sum_idle_total(m, causes, &all))
        return blocked;
    idle = sum_windows_of_whole(m, idle);
    return idle < blocked ? idle : blocked;
}

static enum insight_severity severity(const struct model *m, int64_t blocked)
{
    double share = 100 * cells_share((double)blocked, (double)sum_windows_time(m));
    return share > INSIGHT_sync_high     ? INSIGHT_HIGH
           : share > INSIGHT_sync_medium ? INSIGHT_MEDIUM
                                         : INSIGHT_LOW;
}

/* The calls of a line that wait for the GPU: allocating and loading code only take time. */
struct waiting {
    uint64_t calls;
    uint64_t sure;       /* those of them that wait by themselves */
    int64_t ns;          /* ns blocked in them: at most what the line was blocked */
    int64_t idle;        /* ns that GPUs were idle because of them, all devices */
    int64_t lead;        /* ns less that GPUs would be idle without them; idle at least */
    int64_t least;       /* … by a careful replay; CELL_NULL: unknown */
    enum wait_call most; /* the kind with most of it */
    uint64_t most_calls;
};

/* Were the calls of a line that need not wait waits? */
static bool slow_waited(const struct wait_line *l)
{
    uint64_t calls = 0;
    bool longest = false;
    for (int c = 0; c < WAIT_CALLS; c++) {
        calls += l->slow[c].calls;
        longest |= l->slow[c].longest >= INSIGHT_slow_longest * 1000000ll;
    }
    return calls >= INSIGHT_slow_calls || longest;
}

static struct waiting waiting(const struct model *m, const struct wait_line *l)
{
    static const enum wait_call waits[] = {WAIT_EVENT, WAIT_STREAM, WAIT_CONTEXT, WAIT_COPY,
                                           WAIT_FILL,  WAIT_FREE,   WAIT_OTHER};
    struct waiting w = {.most = waits[0]};
    int64_t blocked = sum_wait_lines_blocked(m, l), most = -1;
    bool slow = slow_waited(l);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        enum wait_call c = waits[i];
        uint64_t calls = l->calls[c] - (slow ? 0 : l->slow[c].calls);
        int64_t ns = l->time[c] - (slow ? 0 : l->slow[c].time);
        w.calls += calls;
        w.sure += l->calls[c] - l->slow[c].calls;
        w.ns = cells_sum(w.ns, ns);
        w.idle = cells_sum(w.idle, l->idle_in[c]);
        if (calls && ns > most) {
            w.most = c;
            w.most_calls = calls;
            most = ns;
        }
    }
    w.ns = w.ns < blocked ? w.ns : blocked;
    w.lead = l->lead > w.idle ? l->lead : w.idle;
    w.least = l->replayed ? l->lead_least : CELL_NULL;
    return w;
}

/* Names of calls: the function, one call, and several. */
static const struct {
    const char *api, *one, *several;
} words[WAIT_CALLS] = {
    [WAIT_OTHER] = {"Wait", "call that waits", "calls that wait"},
    [WAIT_EVENT] = {"EventSynchronize", "synchronization", "synchronizations"},
    [WAIT_STREAM] = {"StreamSynchronize", "synchronization", "synchronizations"},
    [WAIT_CONTEXT] = {"ContextSynchronize", "synchronization", "synchronizations"},
    [WAIT_COPY] = {"Memcpy", "copy that blocks", "copies that block"},
    [WAIT_FILL] = {"Memset", "fill that blocks", "fills that block"},
    [WAIT_FREE] = {"Free", "free that waits", "frees that wait"},
};

static void put_idle(const struct model *m, const struct waiting *w, struct buf *out)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all, wall = sum_steps_time(m);
    unsigned devices = sum_idle_total(m, causes, &all);
    char a[UNITS_TEXT];
    int64_t idle = sum_idle_of_run(m, w->idle);
    if (!devices || wall <= 0)
        return;
    if (idle >= wall / 1000)
        buf_printf(out, " The GPU%s sat idle %s of %s because of it.", devices > 1 ? "s" : "",
                   units_percent(a, (double)idle, (double)wall), sum_steps_whole(m));
    else
        buf_printf(out, " The GPU%s had work meanwhile.", devices > 1 ? "s" : "");
    int64_t later = sum_idle_of_run(m, w->lead) - idle;
    if (later >= wall / 1000)
        buf_printf(out,
                   " While the host waited, nothing new was launched: later on that left the "
                   "GPU%s idle for %s of %s more.",
                   devices > 1 ? "s" : "", units_percent(a, (double)later, (double)wall),
                   sum_steps_whole(m));
}

int64_t insight_reads(const struct model *m, const struct wait_line *l)
{
    uint64_t copies = 0;
    int64_t ns = 0, alone = insight_copies_alone(m);
    for (size_t i = 1; l->place && i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->place == l->place && w->kind == WORK_TO_HOST) {
            copies += w->small;
            ns = cells_sum(ns, w->small_time);
        }
    }
    ns = cells_whole((double)ns * sum_steps_copy_part(m));
    ns = ns < alone ? ns : alone;
    bool worth = copies >= INSIGHT_small_copies && explicit_calls(l) >= copies &&
                 insight_is_share(m, ns, INSIGHT_worth, 1000);
    return worth ? ns : 0;
}

/* What dropping the waits gives back, from a careful replay to a hopeful one. Values that are read
 * one by one are read in one copy then, which takes next to no time. */
static void put_gain(const struct model *m, const struct wait_line *l, const struct waiting *w,
                     struct insight *i)
{
    i->gives_back = cells_sum(gives_back(m, w->lead, w->ns), insight_reads(m, l));
    i->least = w->least == CELL_NULL ? CELL_NULL : gives_back(m, w->least, w->ns);
}

/* "The small copies that it waits for took 26 ms of the GPU's time: one copy …" */
static void put_reads(const struct model *m, const struct wait_line *l, struct insight *i,
                      struct buf *out)
{
    char a[UNITS_TEXT];
    int64_t ns = insight_reads(m, l);
    if (!ns)
        return;
    buf_printf(out,
               " It reads small values one by one, whose copies took %s of the GPU's time: one "
               "copy of all takes next to none.",
               units_time(a, ns));
    insight_fact(i, "read_copies_ns", ns);
}

/* "If these waits can go, that alone saves 12 to 15 ms of 100 ms." */
static void say_gain(const struct model *m, const struct insight *i, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (i->least == CELL_NULL || !insight_is_share(m, i->gives_back, INSIGHT_worth, 1000))
        return;
    if (insight_is_share(m, i->least, INSIGHT_worth, 1000))
        buf_printf(out, " If these waits can go, that alone saves %s of %s.",
                   units_time_range(a, i->least, i->gives_back), units_time(b, sum_steps_time(m)));
    else
        buf_printf(out,
                   " What the program would gain without these waits is not certain: between "
                   "nothing and %s of %s.",
                   units_time(a, i->gives_back), units_time(b, sum_steps_time(m)));
}

static void add_facts(const struct model *m, const struct wait_line *l, const struct waiting *w,
                      struct insight *i)
{
    insight_fact(i, "calls", (int64_t)w->calls);
    insight_fact(i, "blocked_ns", w->ns);
    insight_fact(i, "gpu_idle_ns", w->idle);
    insight_fact(i, "gpu_idle_without_waits_less_ns", w->lead);
    if (w->least != CELL_NULL)
        insight_fact(i, "gpu_idle_without_waits_less_least_ns", w->least);
    insight_fact(i, "threads", l->threads);
    insight_fact(i, "first_ns", sum_wait_lines_first(m, l));
    insight_fact(i, "longest_ns", l->longest.end - l->longest.start);
    insight_fact(i, "longest_start_ns", sum_wait_lines_longest(m, l));
    insight_fact(i, "longest_correlation", l->longest.correlation);
    insight_fact(i, "longest_thread", l->longest.thread);
}

/* A wait in a framework's own thread, or where the program has no names, has no line that a
 * person can change. Says where it is. */
static void tell_library(const struct model *m, const struct wait_line *l, struct insight *i,
                         struct buf *out)
{
    const char *name = model_text(m, l->thread);
    char others[UNITS_TEXT];
    if (!stacks_place_is_library(stacks_place_at(&m->stacks, l->place)))
        return;
    i->next =
        "Look in your own code for what hands work to that thread or waits for its result, and "
        "do that later or less often; scopes around the steps show which one. The report "
        "with --stacks shows who called.";
    bool nameless = stacks_place_at(&m->stacks, l->place)->nameless;
    buf_printf(out, " The line is a library's: %s",
               nameless ? "the frames of the program itself on its stack have no names"
                        : "no frame of the program itself is on its stack");
    if (l->longest.thread)
        buf_printf(out, ". The longest wait was on thread %u%s%s%s", l->longest.thread,
                   *name ? " (" : "", name, *name ? ")" : "");
    if (l->longest.thread && l->threads > 1)
        buf_printf(out, ", one of %s", units_count(others, l->threads));
    buf_str(out, ".");
}

/* "73.6 s of 77.4 s blocked in 50 synchronizations at train.py:90 in train_step()" */
static void put_blocked(const struct model *m, const struct wait_line *l, const struct waiting *w,
                        struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    uint64_t calls = w->most_calls, others = w->calls - calls;
    buf_printf(out, "%s of %s blocked in %s %s", units_time(a, w->ns),
               units_time(b, sum_windows_time(m)), units_count(c, (int64_t)calls),
               calls == 1 ? words[w->most].one : words[w->most].several);
    if (others)
        buf_printf(out, " and %s other call%s", units_count(a, (int64_t)others),
                   others == 1 ? "" : "s");
    insight_put_where(m, l->place, out);
}

static int add_line(const struct model *m, const struct wait_line *l, const struct waiting *w,
                    struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "sync_line", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->severity = severity(m, w->ns);
    i->place = l->place;
    put_gain(m, l, w, i);
    add_facts(m, l, w, i);
    buf_printf(&text, "%s × %llu @ ", words[w->most].api, (unsigned long long)w->most_calls);
    stacks_put_place(m, l->place, &text);
    buf_printf(&text, " · %s (%s of %s)", units_time_short(a, w->ns),
               units_percent_short(b, (double)w->ns, (double)sum_windows_time(m)),
               sum_windows_any(m) ? sum_windows_whole(m) : "session");
    rc = insight_say(&i->title, &text);
    put_blocked(m, l, w, &text);
    buf_str(&text, ".");
    put_idle(m, w, &text);
    put_reads(m, l, i, &text);
    say_gain(m, i, &text);
    if (is_driver(m, l)) {
        i->next = "Nothing in the program calls these: the driver waits by itself, as where a "
                  "context goes away or code is loaded.";
        buf_str(&text, " No frame of the program is on their stacks.");
    } else {
        tell_library(m, l, i, &text);
    }
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Whether the waits of a line without a synchronization are worth a word: they give back something
 * that can be seen, or a reader sees them and looks there in vain. Where none of its calls need
 * wait, only the time in which the GPU was idle counts: while the GPU was busy its queue was full,
 * and that delays launches as well. */
static bool is_worth(const struct model *m, const struct waiting *w)
{
    if (w->sure && severity(m, w->ns) > INSIGHT_LOW)
        return true;
    return w->calls &&
           insight_is_share(m, gives_back(m, w->lead, w->ns), INSIGHT_worth_first, 1000);
}

/* A synchronization is reported however long it took, other waits only where they can be seen. */
int insight_sync_line(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        struct waiting w = waiting(m, l);
        if ((insight_line_is_known(m, l) || is_driver(m, l)) &&
            (explicit_calls(l) || is_worth(m, &w)))
            rc = add_line(m, l, &w, to);
    }
    return rc;
}

/* Median of launches between calls of one sort, where there are enough of them for a loop. */
static bool in_loop(const struct wait_line *l, enum wait_class class, uint64_t calls,
                    int64_t *median)
{
    const struct histogram *h = &l->between[class];
    *median = h->count ? histogram_quantile(h, 0.5) : 0;
    return calls >= INSIGHT_loop_calls && *median >= INSIGHT_loop_launches;
}

/* The line is a synchronization in a loop, by the seed's rule; copies that block count where they
 * take time worth a word. */
static bool is_loop(const struct model *m, const struct wait_line *l, uint64_t *calls,
                    int64_t *median)
{
    if (!insight_line_is_known(m, l))
        return false;
    *calls = explicit_calls(l);
    if (in_loop(l, WAIT_EXPLICIT, *calls, median))
        return true;
    *calls = copying_calls(l);
    return in_loop(l, WAIT_COPIES, *calls, median) &&
           insight_is_share(m, cells_sum(l->time[WAIT_COPY], l->time[WAIT_FILL]),
                            INSIGHT_loop_copies, 1000);
}

static int add_loop(const struct model *m, const struct wait_line *l, uint64_t calls,
                    int64_t median, struct insights *to)
{
    struct waiting w = waiting(m, l);
    struct insight *i;
    struct buf text;
    char a[UNITS_TEXT];
    int rc = insight_add(to, "sync_loop", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->severity = severity(m, w.ns);
    i->place = l->place;
    put_gain(m, l, &w, i);
    insight_fact(i, "launches_between_median", median);
    add_facts(m, l, &w, i);
    buf_printf(&text, "In-loop sync × %llu — likely blocking GPU pipelining",
               (unsigned long long)calls);
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s blocked across %llu calls", units_time_short(a, w.ns),
               (unsigned long long)w.calls);
    insight_put_where(m, l->place, &text);
    buf_printf(&text, ", %s of %s.",
               units_percent_short(a, (double)w.ns, (double)sum_windows_time(m)),
               sum_windows_any(m) ? sum_windows_whole(m) : "session");
    put_idle(m, &w, &text);
    put_reads(m, l, i, &text);
    say_gain(m, i, &text);
    tell_library(m, l, i, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

bool insight_line_loops(const struct model *m, const struct wait_line *l)
{
    uint64_t calls;
    int64_t median;
    return is_loop(m, l, &calls, &median);
}

int insight_sync_loop(const struct model *m, struct insights *to)
{
    int rc = 0;
    uint64_t calls;
    int64_t median;
    for (size_t i = 0; !rc && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        if (is_loop(m, l, &calls, &median))
            rc = add_loop(m, l, calls, median, to);
    }
    return rc;
}

/* ---- allocations ------------------------------------------------------------------------- */

/* Calls to which the line came back after launches, the first included. */
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

/* True where a stack of the line gives back what PyTorch keeps for later. */
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

static int add_alloc(const struct model *m, const struct wait_line *l, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], calls[48];
    bool frees = l->calls[WAIT_FREE] > 0, allocates = l->calls[WAIT_ALLOC] > 0,
         both = frees && allocates;
    const char *api = model_words(m)->api;
    snprintf(calls, sizeof calls, "%s%s%s%s%s", both || !frees ? api : "",
             both || !frees ? "Malloc" : "", both ? " and " : "", frees ? api : "",
             frees ? "Free" : "");
    int64_t spent = cells_sum(l->time[WAIT_FREE], l->time[WAIT_ALLOC]),
            all = sum_wait_lines_blocked(m, l);
    struct waiting w = {.calls = l->calls[WAIT_FREE] + l->calls[WAIT_ALLOC],
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
    i->gives_back = gives_back(m, w.lead, w.ns);
    i->severity = insight_by_share(m, i->gives_back);
    add_facts(m, l, &w, i);
    if (empties_cache(m, l))
        i->next = !model_words(m)->ptx
                      ? "Take empty_cache() out of the loop: PyTorch keeps freed "
                        "memory and uses it again."
                      : "Take empty_cache() out of the loop: PyTorch keeps freed "
                        "memory and uses it again. Where memory runs out without "
                        "it, try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.";
    buf_printf(&text, "%s in a loop × %llu", calls, (unsigned long long)w.calls);
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s calls of %s", units_count(a, (int64_t)w.calls), calls);
    insight_put_where(m, l->place, &text);
    buf_printf(&text, " with launches between took %s; %sFree also waits for the GPU.",
               units_time(b, spent), api);
    tell_library(m, l, i, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* " Gives back at most 35.2 ms at a.py:19 in f(), 34.5 ms at a.py:17 in f() and 12.1 ms at 4 more
 * lines." Findings [first, to->count). */
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

/* What calls that allocate and free cost: their lines, and the lead that they take. */
struct memory_calls {
    int64_t idle, spent; /* ns: GPUs idle in them, all devices; in the calls, none of it twice */
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

/* Without these calls the host launches earlier, too: what the GPU would be idle less later on is
 * the first finding's, since one pool mends all lines. */
static int add_lead(const struct model *m, struct insight *i)
{
    struct memory_calls c = memory_calls(m);
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t wall = sum_steps_time(m), later = gives_back(m, m->wait_lines.memory_lead, c.spent) -
                                              gives_back(m, c.idle, c.spent);
    struct buf text;
    if (wall <= 0 || later < wall / 1000)
        return 0;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text,
               "%s While the host was in such calls, nothing new was launched: later on that left "
               "the GPU idle for %s (%s of %s) more.",
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

/* One pool mends the loops of all lines: the finding of the line with most of their time has the
 * time of all of them. */
static int join_allocs(const struct model *m, struct insights *to, size_t first)
{
    struct insight *most = &to->items[first];
    int64_t all = 0;
    struct buf text;
    for (size_t i = first; i < to->count; i++) {
        all = cells_sum(all, to->items[i].gives_back);
        most = to->items[i].gives_back > most->gives_back ? &to->items[i] : most;
    }
    buf_init(&text, TEXT_MAX);
    const char *loop = strstr(most->title, " in a loop");
    buf_put(&text, most->title, loop ? (size_t)(loop - most->title) : strlen(most->title));
    buf_printf(&text, " in loops at %zu lines", to->count - first);
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
    bool frees = frees_in_loop(m);
    size_t first = to->count;
    int rc = 0;
    for (size_t i = 0; frees && !rc && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        uint64_t calls = l->calls[WAIT_FREE] + l->calls[WAIT_ALLOC];
        if (insight_line_is_known(m, l) && calls >= INSIGHT_alloc_calls &&
            visits(l) >= INSIGHT_alloc_calls)
            rc = add_alloc(m, l, to);
    }
    if (rc || to->count == first)
        return rc;
    return to->count > first + 1 ? join_allocs(m, to, first) : add_lead(m, &to->items[first]);
}
