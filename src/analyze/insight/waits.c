/* waits.c - makes findings about waits: at a line, and at a line in a loop. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/wait_cost.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

bool insight_line_is_known(const struct model *m, const struct wait_line *l)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    return p && !p->mark && !l->apart && l->count;
}

/* Returns true for waits of the driver itself, which have no frame of the program on their
 * stacks. */
static bool is_driver(const struct model *m, const struct wait_line *l)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    return p && p->mark && !l->apart && l->count &&
           strcmp(model_text(m, p->mark), "<driver-internal>") == 0;
}

static enum insight_severity severity(const struct model *m, int64_t blocked)
{
    double share = 100 * cells_share((double)blocked, (double)sum_windows_time(m));
    return share > INSIGHT_sync_high     ? INSIGHT_HIGH
           : share > INSIGHT_sync_medium ? INSIGHT_MEDIUM
                                         : INSIGHT_LOW;
}

/* Returns true if the calls of a line that seldom wait were waits. */
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

/* Returns how many calls of a line waited. Those that seldom wait count if slow_waited(l). */
static uint64_t waited(const struct wait_line *l, enum wait_call c)
{
    return l->calls[c] - (slow_waited(l) ? 0 : l->slow[c].calls);
}

static uint64_t explicit_calls(const struct wait_line *l)
{
    return waited(l, WAIT_EVENT) + waited(l, WAIT_STREAM) + waited(l, WAIT_CONTEXT);
}

static uint64_t copying_calls(const struct wait_line *l)
{
    return waited(l, WAIT_COPY) + waited(l, WAIT_FILL);
}

/* Lists calls that wait for the GPU. */
static const enum wait_call waits[] = {WAIT_EVENT, WAIT_STREAM, WAIT_CONTEXT, WAIT_COPY,
                                       WAIT_FILL,  WAIT_FREE,   WAIT_OTHER};

static struct wait_cost waiting(const struct model *m, const struct wait_line *l)
{
    struct wait_cost w = {.most = waits[0]};
    int64_t blocked = sum_wait_lines_blocked(m, l), most = -1;
    bool slow = slow_waited(l);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        enum wait_call c = waits[i];
        uint64_t calls = waited(l, c);
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

/* Lists names of calls: the function, one call, and several. */
static const struct {
    const char *api, *one, *several;
} words[WAIT_CALLS] = {
    [WAIT_OTHER] = {"Wait", "call that waits", "calls that wait"},
    [WAIT_EVENT] = {"EventSynchronize", "synchronization", "synchronizations"},
    [WAIT_STREAM] = {"StreamSynchronize", "synchronization", "synchronizations"},
    [WAIT_CONTEXT] = {NULL, /* the vendor's word */ "synchronization", "synchronizations"},
    [WAIT_COPY] = {"Memcpy", "blocking copy", "blocking copies"},
    [WAIT_FILL] = {"Memset", "blocking fill", "blocking fills"},
    [WAIT_FREE] = {"Free", "free that waits", "frees that wait"},
};

static const char *api_of(const struct model *m, int call)
{
    return call == WAIT_CONTEXT ? model_words(m)->wait_all : words[call].api;
}

static void put_idle(const struct model *m, const struct wait_cost *w, struct buf *out)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all, wall = sum_steps_time(m);
    unsigned devices = sum_idle_total(m, causes, &all);
    char a[UNITS_TEXT];
    int64_t idle = sum_idle_of_run(m, w->idle);
    if (!devices || wall <= 0)
        return;
    bool now = idle >= wall / 1000;
    if (now)
        buf_printf(out, " The GPU%s sat idle %s of %s because of it", devices > 1 ? "s" : "",
                   units_percent(a, (double)idle, (double)wall), sum_steps_whole(m));
    else
        buf_printf(out, " The GPU%s had work meanwhile", devices > 1 ? "s" : "");
    int64_t later = sum_idle_of_run(m, w->lead) - idle;
    if (later >= wall / 1000) {
        units_percent(a, (double)later, (double)wall);
        if (now)
            buf_printf(out, ", and then for another %s", a);
        else
            buf_printf(out, ", and then was idle for %s of %s", a, sum_steps_whole(m));
        buf_str(out, ": while the host waited, nothing new was launched");
    }
    buf_char(out, '.');
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

/* Adds the idle time because of a line's waits: the cause is the call's. */
static void put_parts(const struct wait_line *l, struct insight *i)
{
    static const enum idle_cause causes[WAIT_CALLS] = {
        [WAIT_COPY] = IDLE_COPY, [WAIT_FILL] = IDLE_COPY, [WAIT_FREE] = IDLE_MEMORY};
    for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
        insight_of(i, (int)causes[waits[w]], l->idle_in[waits[w]]);
}

/* Sets what removing the waits gives back: the lower bound from the careful replay, the upper bound
 * from the other one. Values that are read one by one would be read in one copy, which takes nearly
 * no time. */
static void put_gain(const struct model *m, const struct wait_line *l, const struct wait_cost *w,
                     struct insight *i)
{
    i->gives_back = cells_sum(wait_cost_gives_back(m, w->lead, w->ns), insight_reads(m, l));
    i->least = w->least == CELL_NULL ? CELL_NULL : wait_cost_gives_back(m, w->least, w->ns);
    put_parts(l, i);
}

/* Writes "The small copies that it waits for took 26 ms of the GPU's time: one copy …" */
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

/* Writes "If these waits can go, that alone saves 12 to 15 ms of 100 ms." */
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

/* Writes "73.6 s of 77.4 s blocked in 50 synchronizations at train.py:90 in train_step()" */
static void put_blocked(const struct model *m, const struct wait_line *l, const struct wait_cost *w,
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

static int add_line(const struct model *m, const struct wait_line *l, const struct wait_cost *w,
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
    wait_cost_put_facts(m, l, w, i);
    buf_printf(&text, "%s × %llu @ ", api_of(m, w->most), (unsigned long long)w->most_calls);
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
        i->next = "Nothing in the program calls these: the driver waits by itself, for example "
                  "while a context is destroyed or code is loaded.";
        buf_str(&text, " No frame of the program is on their stacks.");
    } else {
        rc = rc ? rc : insight_inside_waits(m, i, l, &text);
        wait_cost_put_library(m, l, i, &text);
    }
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Returns true if the waits of a line without a synchronization are worth a finding: they give back
 * something noticeable, or they are long enough that a reader would look there and find
 * nothing. If no call of the line always waits, only the idle time of the GPU counts: a busy GPU
 * has a full queue, which delays launches, too. */
static bool is_worth(const struct model *m, const struct wait_cost *w)
{
    if (w->sure && severity(m, w->ns) > INSIGHT_LOW)
        return true;
    return w->calls &&
           insight_is_share(m, wait_cost_gives_back(m, w->lead, w->ns), INSIGHT_worth_first, 1000);
}

/* A synchronization is reported however short it was, other waits only if they are noticeable. */
int insight_sync_line(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        struct wait_cost w = waiting(m, l);
        if ((insight_line_is_known(m, l) || is_driver(m, l)) &&
            (explicit_calls(l) || is_worth(m, &w)))
            rc = add_line(m, l, &w, to);
    }
    return rc;
}

/* Returns true if there are enough calls of one class for a loop, and the median of launches
 * between them is enough. */
static bool in_loop(const struct wait_line *l, enum wait_class class, uint64_t calls,
                    int64_t *median)
{
    const struct histogram *h = &l->between[class];
    *median = h->count ? histogram_quantile(h, 0.5) : 0;
    return calls >= INSIGHT_loop_calls && *median >= INSIGHT_loop_launches;
}

/* Returns true if the line is a synchronization in a loop by the public client's rule; copies that
 * block count if they take enough time. calls: those that make it a loop, counted as waiting()
 * does. */
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

/* Puts "73.58s blocked across 50 calls", and how many other calls the line has. */
static void put_across(const struct wait_cost *w, uint64_t calls, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    uint64_t others = w->calls - calls;
    buf_printf(out, "%s blocked across %llu calls", units_time_short(a, w->ns),
               (unsigned long long)calls);
    if (others)
        buf_printf(out, " in a loop and %s other call%s", units_count(b, (int64_t)others),
                   others == 1 ? "" : "s");
}

static int add_loop(const struct model *m, const struct wait_line *l, uint64_t calls,
                    int64_t median, struct insights *to)
{
    struct wait_cost w = waiting(m, l);
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
    insight_fact(i, "calls_in_loop", (int64_t)calls);
    wait_cost_put_facts(m, l, &w, i);
    buf_printf(&text, "In-loop sync × %llu — likely blocking GPU pipelining",
               (unsigned long long)calls);
    rc = insight_say(&i->title, &text);
    put_across(&w, calls, &text);
    insight_put_where(m, l->place, &text);
    buf_printf(&text, ". That is %s of %s.",
               units_percent(a, (double)w.ns, (double)sum_windows_time(m)), sum_windows_whole(m));
    put_idle(m, &w, &text);
    put_reads(m, l, i, &text);
    say_gain(m, i, &text);
    rc = rc ? rc : insight_inside_waits(m, i, l, &text);
    wait_cost_put_library(m, l, i, &text);
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
