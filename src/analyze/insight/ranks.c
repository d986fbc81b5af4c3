/* ranks.c - finds ranks that come late to collectives, and the lines at which they were.
 *
 * A finding gives back the time by which its rank was later than the last but one (ranks/late.h):
 * if this rank is on time, that other one decides. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT_MAX = 1 << 16 };

#define EQUAL_WORK                                                                                 \
    "Give the ranks equal work. Shards and batches need one size, and no rank a GPU or a host "    \
    "that is slower."

#define COMPARE_RANKS                                                                              \
    "Compare this rank's idle lines and kernels with those of the others (--full of each "         \
    "session)."

/* Holds the lateness of all ranks at a line. */
struct place_sum {
    int64_t ns;
    double variance; /* ns² at 95 % */
    uint64_t looks;
    uint32_t late; /* the rank with most of it */
    int64_t most;
    unsigned ranks;
};

static void put_time(const struct model *m, int64_t ns, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    buf_printf(out, "%s (%s of %s)", units_time(a, ns),
               units_percent(b, (double)ns, (double)sum_steps_time(m)), sum_steps_whole(m));
}

static bool is_worth(const struct model *m, int64_t ns)
{
    return ns > 0 && insight_is_share(m, ns, INSIGHT_rank_wait, 100);
}

/* Holds what a finding is about. */
struct lateness {
    const struct rank_late *rank; /* the late rank, or the latest of several */
    unsigned ranks;
    int64_t ns; /* ns that others waited */
};

/* Adds a finding with its title; the caller says the text. */
static int begin(const struct model *m, const struct lateness *l, struct buf *text,
                 struct insight **i, struct insights *to)
{
    int rc = insight_add(to, "rank_wait", i);
    if (rc)
        return rc;
    buf_str(text, "Others waited for ");
    sum_ranks_put(m, l->rank->rank, text);
    if (l->ranks > 1)
        buf_printf(text, " and %u more", l->ranks - 1);
    rc = insight_say(&(*i)->title, text);
    (*i)->device = m->ranks.items[l->rank->rank].device;
    (*i)->gives_back = l->ns;
    (*i)->severity = insight_by_share(m, l->ns);
    insight_fact(*i, "rank", m->ranks.items[l->rank->rank].number);
    insight_of(*i, INSIGHT_OF_RANKS, l->ns);
    insight_fact(*i, "waited_ns", l->ns);
    insight_fact(*i, "collectives", (int64_t)l->rank->collectives);
    return rc;
}

/* Writes "In collectives the GPUs did nothing but wait for 1.20 s (34 % of the run), until rank 1
 * came" */
static void put_waited(const struct model *m, const struct lateness *l, struct buf *out)
{
    buf_str(out, "In collectives the GPUs did nothing but wait for ");
    put_time(m, l->ns, out);
    buf_str(out, ", until ");
    sum_ranks_put(m, l->rank->rank, out);
    if (l->ranks > 1)
        buf_printf(out, " or one of %u others", l->ranks - 1);
    buf_str(out, " came");
}

static int add_line(const struct model *m, uint32_t place, const struct place_sum *s,
                    struct insights *to)
{
    const struct lateness l = {&m->late_ranks.late[s->late], s->ranks, s->ns};
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    int rc = begin(m, &l, &text, &i, to);
    if (!rc) {
        int64_t half = cells_whole(sqrt(s->variance));
        i->place = place;
        i->half_width = half < s->ns ? half : s->ns;
        insight_fact(i, "samples", (int64_t)s->looks);
        insight_fact(i, "half_width_ns", i->half_width);
        put_waited(m, &l, &text);
        buf_str(&text, ", which was");
        insight_put_where(m, place, &text);
        buf_printf(&text,
                   " for that much longer than the rank before it, by %s (± %s). Its GPU was "
                   "idle meanwhile.",
                   units_samples(a, s->looks), units_time(b, i->half_width));
        rc = insight_say(&i->text, &text);
    }
    buf_fini(&text);
    return rc;
}

/* Adds a finding for the part of a rank's lateness that no finding by line covers. listed:
 * ns that findings by line cover. */
static int add_rest(const struct model *m, const struct rank_late *l, int64_t listed,
                    struct insights *to)
{
    char a[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int64_t idle = l->idle > listed ? l->idle - listed : 0, rest = cells_sum(l->busy, idle);
    const struct lateness waited = {l, 1, rest};
    if (!is_worth(m, rest))
        return 0;
    buf_init(&text, TEXT_MAX);
    int rc = begin(m, &waited, &text, &i, to);
    if (!rc) {
        i->next = l->busy > idle ? EQUAL_WORK : COMPARE_RANKS;
        insight_fact(i, "longer_busy_ns", l->busy);
        insight_fact(i, "longer_idle_ns", idle);
        put_waited(m, &waited, &text);
        buf_char(&text, '.');
        if (l->busy)
            buf_printf(&text, " For %s of it the work on its GPU took longer.",
                       units_time(a, l->busy));
        if (idle)
            buf_printf(&text,
                       " For %s of it its GPU was idle for longer, at lines with less each "
                       "or at none that is known.",
                       units_time(a, idle));
        rc = insight_say(&i->text, &text);
    }
    buf_fini(&text);
    return rc;
}

/* Sums up by place. */
static struct place_sum *sum_places(const struct model *m)
{
    const struct sum_late_ranks *s = &m->late_ranks;
    struct place_sum *sums = mem_array(m->stacks.places.count + 1, sizeof *sums);
    for (size_t i = 0; sums && i < s->line_count; i++) {
        const struct rank_line *l = &s->lines[i];
        struct place_sum *to = &sums[l->place];
        if (stacks_place_at(&m->stacks, l->place)->mark)
            continue;
        to->ns = cells_sum(to->ns, l->ns);
        to->variance += (double)l->half_width * (double)l->half_width;
        to->looks += l->looks;
        to->ranks++;
        if (l->ns > to->most) {
            to->most = l->ns;
            to->late = l->late;
        }
    }
    return sums;
}

int insight_rank_wait(const struct model *m, struct insights *to)
{
    const struct sum_late_ranks *s = &m->late_ranks;
    struct place_sum *sums = sum_places(m);
    int64_t *listed = mem_array(s->late_count + 1, sizeof *listed);
    int rc = sums && listed ? 0 : GPUFL_E_NOMEM;
    for (uint32_t p = 1; !rc && p < m->stacks.places.count; p++)
        if (is_worth(m, sums[p].ns))
            rc = add_line(m, p, &sums[p], to);
    for (size_t i = 0; !rc && i < s->line_count; i++)
        if (is_worth(m, sums[s->lines[i].place].ns))
            listed[s->lines[i].late] = cells_sum(listed[s->lines[i].late], s->lines[i].ns);
    for (size_t i = 0; !rc && i < s->late_count; i++)
        rc = add_rest(m, &s->late[i], listed[i], to);
    mem_free(sums);
    mem_free(listed);
    return rc;
}
