/* states.c - makes findings about idle time in which the launching thread could not run: no core
 * was free, another thread held the interpreter's lock, or a page had to be read. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/shortage.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16, HOST_FULL = 80 /* %: from here on the host's cores count as busy */ };

const char insight_more_cores[] =
    "Give the program more cores, or run fewer threads (OMP_NUM_THREADS, workers).";
const char insight_less_gil[] =
    "Move the other threads' Python into processes, or into code that gives up the GIL.";

/* Describes a state of a thread that a finding is about. */
struct state {
    bool (*is)(uint32_t doing);
    uint32_t state; /* IDLE_DOING_STATE of the lines whose time the finding has; 0: none */
    const char *title, *was, *next;
    void (*put_more)(const struct model *m, struct buf *out);
    /* Puts a few words about where to look; without them, look at the thread's own line. */
    void (*put_first)(const struct model *m, struct buf *out);
};

/* Holds the idle time in which the thread was in the state. */
struct sum {
    uint64_t samples;
    int64_t ns, all; /* all: of all idle time, with samples or without */
    int64_t by_cause[IDLE_CAUSES];
    struct idle_longest longest;
    struct insight_heaviest at; /* the line at which the thread was */
};

/* Sums up a state. places: zeros, one for each place. */
static struct sum sum_up(const struct model *m, const struct state *s, int64_t *places)
{
    struct sum sum = {0};
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (!sum_idle_counts(m, (enum idle_cause)l->cause))
            continue;
        sum.all = cells_sum(sum.all, cells_sum(l->exact, l->estimated));
        if (!s->is(l->doing))
            continue;
        sum.ns = cells_sum(sum.ns, l->estimated);
        sum.by_cause[l->cause] = cells_sum(sum.by_cause[l->cause], l->estimated);
        sum.samples += l->looks;
        idle_longest_put(&sum.longest, &l->longest, 0);
        uint32_t place = l->node ? stacks_node_at(&m->stacks, l->node)->place : 0;
        places[place] = cells_sum(places[place], l->estimated);
    }
    sum.at = insight_heaviest(m, places, sum.ns);
    return sum;
}

/* ---- no core ----------------------------------------------------------------------------- */

static bool is_ready(uint32_t doing)
{
    return IDLE_DOING_STATE(doing) == IDLE_RUNNABLE;
}

/* Says whether the machine is full, or the process may not use all of it. */
static void put_cores(const struct model *m, struct buf *out)
{
    const struct metric_sum *cpu = &m->metrics.host[COL_host_metric_cpu];
    double percent = sum_metrics_mean(cpu) / 100;
    const struct metric_sum *throttled = &m->metrics.host[COL_host_metric_cpu_throttled];
    if (throttled->count && throttled->sum > 0) {
        buf_char(out, ' ');
        insight_put_stopped(m, out);
    }
    if (!cpu->count)
        return;
    buf_printf(out, " The host's cores were %.0f %% busy: ", percent);
    buf_str(out, percent >= HOST_FULL ? "all of its programs together need more of them."
                 : throttled->count
                     ? "this process may use fewer of them than there are (taskset, Slurm, a "
                       "container's CPU set), or several of its threads are bound to one."
                     : "this process may use fewer of them than there are (a container's CPU "
                       "limit, taskset, Slurm), or several of its threads are bound to one.");
}

/* ---- the GIL ----------------------------------------------------------------------------- */

static bool is_waiting(uint32_t doing)
{
    return IDLE_DOING_STATE(doing) == IDLE_WAITS_FOR_GIL;
}

/* Returns the line at which threads held the lock most often; *looks gets how often. An error goes
 * to out. */
static uint32_t main_holder(const struct model *m, uint64_t *looks, struct buf *out)
{
    const struct keyed *rows = &m->idle.holders.rows;
    uint64_t *sums = mem_array(m->stacks.places.count + 1, sizeof *sums);
    uint32_t most = 0;
    for (size_t i = 1; sums && i < rows->count; i++) {
        const struct idle_holder *h = keyed_at(rows, i);
        uint32_t place = stacks_node_at(&m->stacks, h->node)->place;
        sums[place] += place ? h->looks : 0;
    }
    for (uint32_t p = 1; sums && p < m->stacks.places.count; p++)
        if (sums[p] > sums[most])
            most = p;
    *looks = sums ? sums[most] : 0;
    if (!sums)
        out->error = GPUFL_E_NOMEM;
    mem_free(sums);
    return most;
}

/* Returns true if the thread that held the lock is known for half of the time. */
static bool holder_is_known(const struct model *m)
{
    return 2 * m->idle.holders.seen >= m->idle.holders.looks;
}

static void put_first_holder(const struct model *m, struct buf *out)
{
    const struct idle_holders *h = &m->idle.holders;
    uint64_t looks;
    uint32_t place = main_holder(m, &looks, out);
    if (!place || !holder_is_known(m))
        return;
    buf_printf(out, "%.0f %% of it held at ", 100 * cells_share((double)looks, (double)h->looks));
    stacks_put_place(m, place, out);
}

static void put_holder(const struct model *m, struct buf *out)
{
    const struct idle_holders *h = &m->idle.holders;
    char a[UNITS_TEXT];
    uint64_t looks;
    uint32_t place = main_holder(m, &looks, out);
    if (place && holder_is_known(m)) {
        buf_str(out, " The thread that had the lock was");
        insight_put_where(m, place, out);
        buf_printf(out, " in %s of the samples.",
                   units_percent(a, (double)looks, (double)h->looks));
    } else if (h->looks) {
        buf_str(out, " Which thread had the lock is mostly not known.");
    }
}

/* ---- pages ------------------------------------------------------------------------------- */

static bool is_fetching(uint32_t doing)
{
    return IDLE_DOING_STATE(doing) == IDLE_BLOCKED && !IDLE_DOING_SYSCALL(doing);
}

static void put_pages(const struct model *m, struct buf *out)
{
    (void)insight_put_paging(m, out);
}

/* ---- findings ---------------------------------------------------------------------------- */

/* Says at which line the thread was, and for the first screen where to look. */
static int put_where(const struct model *m, const struct state *state, const struct sum *s,
                     struct insight *i, struct buf *text)
{
    struct buf first;
    char a[UNITS_TEXT];
    buf_init(&first, TEXT_MAX);
    if (s->at.place) {
        buf_printf(text, " The waiting thread was");
        insight_put_where(m, s->at.place, text);
        buf_printf(text, " for %s of that time.",
                   units_percent(a, (double)s->at.part, (double)s->ns));
    }
    if (state->put_first) {
        state->put_first(m, &first);
    } else if (s->at.place) {
        buf_printf(&first, "%.0f %% of it at ",
                   100 * cells_share((double)s->at.part, (double)s->ns));
        stacks_put_place(m, s->at.place, &first);
    }
    int rc = buf_error(&first)   ? GPUFL_E_NOMEM
             : *buf_cstr(&first) ? insight_say(&i->inside, &first)
                                 : 0;
    buf_fini(&first);
    return rc;
}

/* Adds a finding if the thread could not run for much of the idle time, whatever its line was. */
static int add(const struct model *m, const struct state *state, int64_t *places,
               struct insights *to)
{
    char a[UNITS_TEXT];
    struct sum s = sum_up(m, state, places);
    struct insight *i;
    struct buf text;
    int64_t of_run = sum_idle_of_run(m, s.ns);
    if ((double)s.ns * 100 < INSIGHT_state_idle * (double)s.all ||
        !insight_is_share(m, of_run, INSIGHT_late_idle, 100) || of_run > sum_steps_time(m))
        return 0;
    /* threads that a CPU limit stopped are ready without a core: rule cpu_limit has their time */
    if (state->is == is_ready && insight_cpu_limit_ns(m) >= of_run)
        return 0;
    int rc = insight_add(to, "idle_cause", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = of_run;
    i->severity = insight_by_share(m, of_run);
    i->next = state->next;
    i->state = state->state;
    insight_of_causes(i, s.by_cause);
    insight_fact(i, "gpu_idle_ns", s.ns);
    insight_fact(i, "samples", (int64_t)s.samples);
    insight_fact_longest(m, i, s.longest.start, s.longest.end);
    buf_str(&text, state->title);
    rc = insight_say(&i->title, &text);
    buf_str(&text, "The GPU sat idle for ");
    sum_idle_put(m, s.ns, &text);
    buf_printf(&text, " while the host %s, by %s.", state->was, units_samples(a, s.samples));
    rc = rc ? rc : put_where(m, state, &s, i, &text);
    if (state->put_more)
        state->put_more(m, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static const struct state states[] = {
    {is_ready, IDLE_RUNNABLE, "No core for the thread that launches",
     "was ready to run and had no core", insight_more_cores, put_cores, NULL},
    {is_waiting, IDLE_WAITS_FOR_GIL, "Waiting for the interpreter's lock (GIL)",
     "waited for the interpreter's lock, which another thread had", insight_less_gil, put_holder,
     put_first_holder},
    {is_fetching, 0, "Waiting for pages of memory",
     "was blocked outside of any system call, for example while a page is read from a file or from "
     "swap",
     "Keep in memory what the loop needs: read it once before, and leave nothing to swap.",
     put_pages, NULL},
};

const char *insight_state_title(uint32_t doing)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].is(doing))
            return states[i].title;
    return "";
}

int insight_states(const struct model *m, struct insights *to)
{
    int64_t *places = mem_array(m->stacks.places.count + 1, sizeof *places);
    int rc = places ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < sizeof states / sizeof *states; i++) {
        memset(places, 0, (m->stacks.places.count + 1) * sizeof *places);
        rc = add(m, &states[i], places, to);
    }
    mem_free(places);
    return rc;
}
