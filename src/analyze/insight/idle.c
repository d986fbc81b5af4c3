/* idle.c - makes findings about idle time without a wait, by line where looks at the threads show
 * it, else by cause. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/host_lines.h"
#include "analyze/insight/shortage.h"
#include "analyze/insight/slices.h"

#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Says how often an activity began, and when: an activity of the start costs a run only once. Input
 * happens in every step, and collections and logs may. Samples give the least number: if they show
 * nothing else between, many beginnings look like one. Plans are counted by their calls. */
static void put_stretches(const struct model *m, enum idle_activity a, struct buf *out)
{
    const struct idle_stretches *s = &m->idle.stretches[a];
    bool each_step = a == ACTIVITY_COLLECT || a == ACTIVITY_LOG,
         often = s->steps > 2 && s->steps * 2 > s->of;
    const char *least = a == ACTIVITY_PLAN ? "" : "at least ";
    char b[UNITS_TEXT], c[UNITS_TEXT];
    if (a == ACTIVITY_INPUT_WAIT || a == ACTIVITY_INPUT_WORK)
        return;
    if (s->mixed)
        buf_str(out, " It did so again and again, with other work between.");
    else if (each_step)
        return;
    else if (often)
        buf_printf(out, " Samples show this in %s of the %s steps.",
                   units_count(b, (int64_t)s->steps), units_count(c, (int64_t)s->of));
    else if (s->all > 1)
        buf_printf(out, " It did so %s%s times, %s%s of them after the first %d %% of the run.",
                   least, units_count(b, (int64_t)s->all), least, units_count(c, (int64_t)s->later),
                   IDLE_START);
    else if (s->all)
        buf_printf(out, " It did so %sonce, %s the first %d %% of the run.", least,
                   s->later ? "after" : "within", IDLE_START);
}

/* Says what was new after code was compiled once more: that is what it was compiled for. Nothing
 * where the samples are too few to say that nothing was. */
static void put_changed(const struct model *m, struct insight *i, enum idle_activity a,
                        struct buf *out)
{
    enum { LOOKS_LEAST = 10 };
    const struct idle_changed *c = &m->idle.changed[a];
    char times[UNITS_TEXT], blocks[UNITS_TEXT], before[UNITS_TEXT];
    if (c->grids) {
        buf_printf(out,
                   " At least %s time%s a kernel that had run before had another grid after that, "
                   "the last time ",
                   units_count(times, (int64_t)c->grids), c->grids == 1 ? "" : "s");
        insight_put_kernel(m, c->kernel, out);
        buf_printf(out, ": %s blocks after %s. So a size changed, of the data or of a tile.",
                   units_count(blocks, c->after), units_count(before, c->before));
    } else if (c->times) {
        buf_printf(out,
                   " At least %s time%s kernels ran after that which had not run before; none that "
                   "had run before had another grid.",
                   units_count(times, (int64_t)c->times), c->times == 1 ? "" : "s");
    } else if (c->looks >= LOOKS_LEAST) {
        buf_str(out, " No new kernel ran after that, and none with another grid: a constant, a "
                     "type or a flag changed rather than a size.");
    }
    if (c->times || c->looks >= LOOKS_LEAST) {
        insight_fact(i, "compiled_new", (int64_t)c->times);
        insight_fact(i, "compiled_grids", (int64_t)c->grids);
    }
}

/* Says what calls and copies for the activity cost besides, if that is enough to mention. */
static int64_t put_made_for(const struct model *m, struct insight *i, const struct host_did *d,
                            struct buf *out)
{
    char a[UNITS_TEXT];
    int64_t calls = sum_idle_of_run(m, d->calls), alone = insight_copies_alone(m),
            copies = cells_whole((double)d->copies * sum_steps_copy_part(m));
    copies = copies < alone ? copies : alone;
    if (insight_is_share(m, calls, INSIGHT_worth, 1000))
        buf_printf(out, " Calls that it made for this left the GPU idle for %s more.",
                   units_time(a, d->calls));
    if (insight_is_share(m, copies, INSIGHT_worth, 1000))
        buf_printf(out, " Its copies took %s of the GPU's time.", units_time(a, copies));
    insight_fact(i, "activity_calls_ns", d->calls);
    insight_fact(i, "activity_copies_ns", copies);
    i->calls = calls;
    return cells_sum(calls, copies);
}

/* Puts "For 71.0 % of that time (± 12.0 ms)", or, where the half-width goes beyond the whole time,
 * the bound that remains: "(at least 59.0 %)". The whole time needs neither. */
static void put_part(const struct host_did *d, int64_t of, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t half = cells_whole(sqrt(d->variance));
    if (d->ns >= of) {
        buf_str(out, " All of that time");
        return;
    }
    buf_printf(out, " For %s of that time", units_percent(a, (double)d->ns, (double)of));
    if (half <= of - d->ns)
        buf_printf(out, " (± %s)", units_time(b, half));
    else if (half < d->ns)
        buf_printf(out, " (at least %s)", units_percent(b, (double)(d->ns - half), (double)of));
}

/* Says what the host did, and sets the step that helps. of: the whole time of which d is a part. */
static void put_activity(const struct model *m, struct insight *i, enum idle_activity a,
                         const struct host_did *d, int64_t of, struct buf *out)
{
    const struct activity_text *t = idle_activity_text(a);
    char b[UNITS_TEXT];
    put_part(d, of, out);
    buf_printf(out, " the host %s, by %s.", t->was, units_samples(b, d->looks));
    put_stretches(m, a, out);
    put_changed(m, i, a, out);
    int64_t more = put_made_for(m, i, d, out);
    buf_printf(out, " %s", t->unless);
    i->next = t->next;
    i->gives_back = cells_sum(sum_idle_of_run(m, d->ns), more);
    i->half_width = sum_idle_of_run(m, cells_whole(sqrt(d->variance)));
    insight_fact(i, "activity_ns", d->ns);
    insight_fact(i, "activity_samples", (int64_t)d->looks);
    insight_fact(i, "activity_half_width_ns", cells_whole(sqrt(d->variance)));
}

/* Says for how much of the line's time its thread could not run. The step can give back only that
 * time. */
static void put_stuck(const struct model *m, struct insight *i, const struct host_line *l,
                      const char *was, const char *next, struct buf *out)
{
    if (!l->stuck.looks)
        return;
    put_part(&l->stuck, l->ns, out);
    buf_printf(out, " the thread %s.", was);
    i->next = next;
    if (!l->activity) {
        i->state = IDLE_DOING_STATE(l->doing);
        i->gives_back = sum_idle_of_run(m, l->stuck.ns);
        i->half_width = sum_idle_of_run(m, cells_whole(sqrt(l->stuck.variance)));
    }
    insight_fact(i, "stuck_ns", l->stuck.ns);
}

/* Returns the name of a thread; NULL: unknown, or there are several. */
static const char *thread_text(const struct model *m, uint32_t name)
{
    return name && name != IDLE_SEVERAL_THREADS ? model_text(m, name) : NULL;
}

/* Says whose line it is where the thread that launched has none. */
static void put_inherited(const struct model *m, const struct host_line *l, struct buf *out)
{
    const char *other = thread_text(m, l->looked_at), *launcher = thread_text(m, l->launcher);
    if (!l->inherited)
        return;
    buf_printf(out, " The line is that of %s%s: the launching thread%s%s runs no Python.",
               other ? "thread " : "another thread", other ? other : "", launcher ? " " : "",
               launcher ? launcher : "");
}

/* Puts a sentence about the thread's state at the line; nothing if the thread ran, or its state
 * is unknown. */
static void put_doing(const struct model *m, struct insight *i, const struct host_line *l,
                      struct buf *out)
{
    const char *call = idle_doing_call(l->doing);
    switch (IDLE_DOING_STATE(l->doing)) {
    case IDLE_BLOCKED:
        buf_printf(out, " It was blocked%s%s%s.", *call ? " (" : "", call, *call ? ")" : "");
        break;
    case IDLE_RUNNABLE:
        put_stuck(m, i, l, "was ready to run, and no core was free", insight_more_cores, out);
        break;
    case IDLE_WAITS_FOR_GIL:
        put_stuck(m, i, l, "waited for the interpreter's lock (GIL), which another thread had",
                  insight_less_gil, out);
        break;
    default:
        break;
    }
    put_inherited(m, l, out);
}

/* ---- the step that helps ------------------------------------------------------------------ */

static bool is_python(const struct model *m, uint32_t place)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    const char *dot = p ? strrchr(model_text(m, p->file), '.') : NULL;
    return dot && !strcmp(dot, ".py");
}

/* Returns the system call that took most of the line's time; "": none, or unknown. */
static const char *blocked_in(const struct host_line *l)
{
    bool most = IDLE_DOING_STATE(l->doing) == IDLE_BLOCKED && l->most >= l->ns - l->most;
    return most && !l->inherited ? idle_doing_call(l->doing) : "";
}

/* Chooses the step for a line. If the thread waits, what it waits for has to change; and other
 * Python threads would take the interpreter's lock from the launching thread. */
static const char *line_step(const struct model *m, const struct host_line *l, const char *other)
{
    static const char *const waits[] = {"futex",  "read", "recv",  "accept",
                                        "select", "poll", "epoll", "wait for a process"};
    const char *call = blocked_in(l);
    if (!strcmp(call, "sleep"))
        return "Sleep for less, or wait for the event itself: a queue, a condition, a file "
               "descriptor.";
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (!strcmp(call, waits[i]))
            return "Find what it waits for (another thread, a process, a client, a file), and let "
                   "that begin earlier.";
    if (*call || !is_python(m, l->place))
        return other;
    return l->main == IDLE_NOTHING
               ? "Do this while the GPU has work: launch the next step first, or use another "
                 "process. A thread helps only where it gives up the interpreter's lock (GIL)."
               : "Launch the next work before this work of the host, or use another process for "
                 "it. A thread helps only where it gives up the interpreter's lock (GIL).";
}

/* Puts the system call in which the thread was blocked into the headline, if nothing else is
 * there. */
static int say_blocked(struct insight *i, const struct host_line *l)
{
    struct buf first;
    if (i->inside || l->activity || !*blocked_in(l))
        return 0;
    buf_init(&first, TEXT_MAX);
    buf_printf(&first, "blocked (%s)", blocked_in(l));
    int rc = insight_say(&i->inside, &first);
    buf_fini(&first);
    return rc;
}

static uint32_t causes_of(const struct host_line *l)
{
    uint32_t causes = 0;
    for (int c = 0; c < IDLE_CAUSES; c++)
        causes |= l->by_cause[c] ? 1u << c : 0;
    return causes;
}

static int say_line(const struct model *m, struct insight *i, const struct host_line *l)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    if (l->activity)
        buf_str(&text, idle_activity_text(l->activity)->title);
    else if (l->stuck.looks)
        buf_str(&text, insight_state_title(l->doing));
    else
        insight_put_cause(l->main == IDLE_SLOW || l->main == IDLE_NOTHING ? l->main : IDLE_LATE,
                          &text);
    int rc = insight_say(&i->title, &text);
    i->next = line_step(m, l, i->next);
    buf_str(&text, "The GPU sat idle for ");
    sum_idle_put(m, l->ns, &text);
    buf_str(&text, " while the host was");
    insight_put_where(m, l->place, &text);
    if (l->looks)
        buf_printf(&text, ", by %s (± %s)", units_samples(a, l->looks),
                   units_time(b, cells_whole(sqrt(l->variance))));
    buf_char(&text, '.');
    if (l->activity)
        put_activity(m, i, l->activity, &l->did[l->activity], l->ns, &text);
    else
        rc = rc ? rc : insight_inside(m, i, causes_of(l), &text);
    rc = rc ? rc : say_blocked(i, l);
    put_doing(m, i, l, &text);
    insight_less_cpu_limit(m, i, cells_sum(l->by_cause[IDLE_LATE], l->by_cause[IDLE_NOTHING]),
                           &text);
    i->severity = insight_by_share(m, i->gives_back);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Adds a finding for each line. nothing: for lines with most of their time in the longest gaps,
 * else for the other lines. */
static int add_lines(const struct model *m, const struct host_lines *l, const char *rule,
                     bool nothing, struct insights *to)
{
    int rc = 0;
    for (size_t k = 0; !rc && k < l->count; k++) {
        const struct host_line *line = &l->items[k];
        struct insight *i;
        if ((line->main == IDLE_NOTHING) != nothing)
            continue;
        rc = insight_add(to, rule, &i);
        if (rc)
            break;
        i->place = line->place;
        i->gives_back = sum_idle_of_run(m, line->ns);
        i->half_width = sum_idle_of_run(m, cells_whole(sqrt(line->variance)));
        insight_of_causes(i, line->by_cause);
        insight_fact(i, "gpu_idle_ns", line->ns);
        insight_fact(i, "samples", (int64_t)line->looks);
        insight_fact(i, "half_width_ns", cells_whole(sqrt(line->variance)));
        const struct idle_longest *longest = line->activity ? &line->did[line->activity].longest
                                             : line->stuck.looks ? &line->stuck.longest
                                                                 : &line->longest;
        insight_fact_longest(m, i, longest->start, longest->end);
        rc = say_line(m, i, line);
    }
    return rc;
}

/* Puts "at train.py:18 in parse()" and the time of other lines; if no line has half of the time,
 * the number of lines and the one with most. */
static int put_spread(const struct model *m, const struct host_spread *s, struct insight *i,
                      struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf first;
    buf_str(out, "The GPU sat idle for ");
    if (i->place) {
        sum_idle_put(m, s->most.ns, out);
        buf_printf(out, " ± %s", units_time(a, cells_whole(sqrt(s->most.variance))));
        insight_put_where(m, s->place, out);
        buf_char(out, '.');
        if (s->lines > 1)
            buf_printf(out, " Other lines (%s) have %s more.",
                       units_count(a, (int64_t)s->lines - 1),
                       units_time(b, s->did.ns - s->most.ns));
        return 0;
    }
    sum_idle_put(m, s->did.ns, out);
    buf_printf(out, " ± %s", units_time(a, cells_whole(sqrt(s->did.variance))));
    buf_printf(out, " at %s lines together, for %s of it", units_count(a, (int64_t)s->lines),
               units_percent(b, (double)s->most.ns, (double)s->did.ns));
    insight_put_where(m, s->place, out);
    buf_char(out, '.');
    buf_init(&first, TEXT_MAX);
    buf_printf(&first, "%.0f %% of it at ",
               100 * cells_share((double)s->most.ns, (double)s->did.ns));
    stacks_put_place(m, s->place, &first);
    int rc = insight_say(&i->inside, &first);
    buf_fini(&first);
    return rc;
}

/* Adds a finding for an activity that no line's finding names, if all lines together have enough of
 * it. If one line has at least half of the time, the finding gets only that line and its time. */
static int add_everywhere(const struct model *m, const struct host_lines *l, enum idle_activity a,
                          struct insights *to)
{
    const struct host_spread *s = &l->spread[a];
    const struct activity_text *t = idle_activity_text(a);
    int64_t of_run = sum_idle_of_run(m, s->did.ns);
    bool one = s->most.ns >= s->did.ns - s->most.ns;
    const struct host_did *d = one ? &s->most : &s->did;
    struct insight *i;
    struct buf text;
    if (of_run > sum_steps_time(m) || !insight_is_share(m, of_run, INSIGHT_line_idle, 100))
        return 0;
    int rc = insight_add(to, "idle_cause", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->place = one ? s->place : 0;
    insight_of_causes(i, d->by_cause);
    insight_fact(i, "gpu_idle_ns", d->ns);
    insight_fact(i, "lines", (int64_t)s->lines);
    insight_fact_longest(m, i, d->longest.start, d->longest.end);
    buf_str(&text, t->title);
    rc = insight_say(&i->title, &text);
    rc = rc ? rc : put_spread(m, s, i, &text);
    put_activity(m, i, a, d, d->ns, &text);
    i->severity = insight_by_share(m, i->gives_back);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* ---- causes ------------------------------------------------------------------------------ */

/* Returns what findings by line leave of a cause. Time that may be another process' is not reported
 * as the host's. */
static struct insight_idle rest_of(const struct model *m, const struct host_lines *l,
                                   enum idle_cause c)
{
    struct insight_idle rest = insight_idle_of(m, c);
    int64_t listed = l->none[c][IDLE_SHARED];
    for (size_t i = 0; i < l->count; i++)
        listed = cells_sum(listed, l->items[i].by_cause[c]);
    rest.all = rest.all > listed ? rest.all - listed : 0;
    rest.time = sum_idle_of_run(m, rest.all);
    return rest;
}

/* Returns the half width of what findings by line leave of a cause, ns in the share base at 95 %.
 * The whole is exact, so the rest is as uncertain as the lines' parts are together. */
static int64_t rest_half_width(const struct host_lines *l, enum idle_cause c)
{
    double variance = 0;
    for (size_t i = 0; i < l->count; i++)
        variance += l->items[i].by_cause[c] > 0 ? l->items[i].variance : 0;
    return cells_whole(sqrt(variance));
}

/* Writes the gaps of a cause. others: there are findings of lines with the same cause. */
static void put_gaps(const struct model *m, const struct host_lines *l, enum idle_cause c,
                     const struct insight_idle *idle, bool others, struct buf *out)
{
    char a[UNITS_TEXT];
    int64_t half_width = rest_half_width(l, c);
    struct insight_heaviest ended = l->ended[c];
    bool probably = l->none[c][IDLE_PROBABLY_OTHERS] > idle->all / 2;
    ended.all = idle->all;
    if (others)
        buf_str(out, "Besides, the");
    else
        buf_str(out, "The");
    buf_printf(out, " GPU%s sat idle for ", idle->devices > 1 ? "s" : "");
    sum_idle_put(m, idle->all, out);
    if (half_width)
        buf_printf(out, " ± %s", units_time(a, half_width));
    if (others)
        buf_str(out, " at lines with less idle time each, or at unknown lines");
    else
        buf_printf(out, " in %s gap%s", units_count(a, (int64_t)idle->gaps),
                   idle->gaps == 1 ? "" : "s");
    buf_printf(out, ": %s%s", probably ? "probably " : "", sum_idle_text(c));
    insight_put_heaviest(m, &ended, " of it ended with launches", out);
    if (c == IDLE_CODE)
        insight_put_heaviest(m, &l->code, " of it", out);
    buf_char(out, '.');
}

/* Says how often code was loaded, and sets the step: load all code at the start. */
static void put_loads(const struct model *m, struct insight *i, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct idle_stretches *s = &m->idle.loads;
    if (s->all)
        buf_printf(out,
                   " Code was loaded or unloaded %s times, %s of them after the first %d %% of "
                   "the run; what is loaded at the start is paid once.",
                   units_count(a, (int64_t)s->all), units_count(b, (int64_t)s->later), IDLE_START);
    i->next = model_words(m)->load_next;
}

/* Adds a finding for what findings by line leave of a cause. Its longest gap is not one of those
 * findings'. */
static int add_rest(const struct model *m, struct host_lines *l, const char *rule,
                    enum idle_cause c, struct insights *to)
{
    struct insight_idle idle = rest_of(m, l, c);
    bool others = false;
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, rule, &i);
    if (rc)
        return rc;
    for (size_t k = 0; k < l->count; k++)
        others |= l->items[k].by_cause[c] > 0;
    buf_init(&text, TEXT_MAX);
    i->place = l->ended[c].place;
    i->ended_by = i->place != 0;
    i->gives_back = idle.time;
    i->half_width = sum_idle_of_run(m, rest_half_width(l, c));
    insight_of(i, (int)c, idle.all);
    insight_fact(i, "gpu_idle_ns", idle.all);
    if (i->half_width)
        insight_fact(i, "half_width_ns", rest_half_width(l, c));
    insight_fact(i, "gaps", (int64_t)idle.gaps);
    insight_fact(i, "devices", idle.devices);
    struct idle_longest longest = i->ended_by ? l->ended_longest[c]
                                  : others    ? l->rest_longest[c]
                                              : idle.longest;
    insight_fact_longest(m, i, longest.start, longest.end);
    l->code.all = idle.all;
    if (c == IDLE_CODE)
        insight_own(i, &l->code);
    if (c == IDLE_OTHER)
        i->next = model_words(m)->alone;
    else if (i->ended_by && (c == IDLE_LATE || c == IDLE_NOTHING))
        i->next = "See what the program does before these launches, and do that later or in "
                  "parallel. Scopes around its parts show it.";
    else if (!i->place && others)
        i->next = "Read which lines have the rest (gpufl report --section idle), and launch before "
                  "what they do.";
    insight_put_cause(c, &text);
    rc = insight_say(&i->title, &text);
    put_gaps(m, l, c, &idle, others, &text);
    insight_less_cpu_limit(m, i, c == IDLE_LATE || c == IDLE_NOTHING ? idle.all : 0, &text);
    if (c == IDLE_CODE)
        put_loads(m, i, &text);
    i->severity = insight_by_share(m, i->gives_back);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_late_launch(const struct model *m, struct insights *to)
{
    struct host_lines l;
    int rc = host_lines_find(m, to, &l);
    rc = rc ? rc : add_lines(m, &l, "late_launch", false, to);
    struct insight_idle late = rest_of(m, &l, IDLE_LATE);
    if (!rc && late.gaps >= INSIGHT_late_gaps &&
        insight_is_share(m, late.time, INSIGHT_late_idle, 100))
        rc = add_rest(m, &l, "late_launch", IDLE_LATE, to);
    host_lines_drop(&l);
    return rc;
}

int insight_idle_cause(const struct model *m, struct insights *to)
{
    static const enum idle_cause causes[] = {IDLE_NOTHING, IDLE_QUEUED, IDLE_CODE, IDLE_OTHER};
    struct host_lines l;
    int rc = host_lines_find(m, to, &l);
    rc = rc ? rc : add_lines(m, &l, "idle_cause", true, to);
    for (int a = 1; !rc && a < ACTIVITIES; a++)
        rc = add_everywhere(m, &l, (enum idle_activity)a, to);
    bool sliced = false;
    rc = rc ? rc : insight_states(m, to);
    rc = rc ? rc : insight_slices(m, to, &sliced);
    for (size_t i = 0; !rc && i < sizeof causes / sizeof *causes; i++) {
        struct insight_idle rest = rest_of(m, &l, causes[i]);
        if (causes[i] == IDLE_OTHER && sliced)
            continue;
        if (rest.gaps && insight_is_share(m, rest.time, INSIGHT_idle_share, 100))
            rc = add_rest(m, &l, "idle_cause", causes[i], to);
    }
    host_lines_drop(&l);
    return rc;
}
