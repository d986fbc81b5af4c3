/* pm_clock.c - see pm_clock.h. */
#include "backend/nvidia/pm_clock.h"

enum { DRIFT_PER_MILLION = 50 }; /* of two clocks against each other */

static int64_t difference(int64_t ours, uint64_t theirs)
{
    return (int64_t)((uint64_t)ours - theirs);
}

/* The bounds at a later time. */
static void loosen(struct pm_clock *c, int64_t now)
{
    int64_t drift = (now - c->since) / 1000000 * DRIFT_PER_MILLION;
    if (now <= c->since || drift <= 0)
        return;
    c->since = now;
    if (!c->lower && !c->upper)
        return;
    c->least -= drift;
    c->most += drift;
}

/* What is used moves no more than the bounds ask for. */
static void settle(struct pm_clock *c, bool first)
{
    if (!c->lower || !c->upper) {
        c->offset = c->lower ? c->least : c->most;
        return;
    }
    if (c->least > c->most) /* a record without a true time: the newer bound counts */
        c->least = c->most;
    if (first)
        c->offset = c->least + (c->most - c->least) / 2;
    if (c->offset < c->least)
        c->offset = c->least;
    if (c->offset > c->most)
        c->offset = c->most;
}

void pm_clock_after(struct pm_clock *c, int64_t ours, uint64_t theirs)
{
    int64_t bound = difference(ours, theirs);
    bool first = !c->lower;
    loosen(c, ours);
    if (first || bound > c->least)
        c->least = bound;
    c->lower = true;
    settle(c, first);
}

void pm_clock_before(struct pm_clock *c, int64_t ours, uint64_t theirs)
{
    int64_t bound = difference(ours, theirs);
    bool first = !c->upper;
    loosen(c, ours);
    if (first || bound < c->most)
        c->most = bound;
    c->upper = true;
    settle(c, first);
}

int64_t pm_clock_ours(const struct pm_clock *c, uint64_t theirs)
{
    return (int64_t)(theirs + (uint64_t)c->offset);
}

int64_t pm_clock_error(const struct pm_clock *c)
{
    return c->lower && c->upper ? c->most - c->least : INT64_MAX;
}
