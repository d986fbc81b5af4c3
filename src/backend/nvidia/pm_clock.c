/* pm_clock.c - see pm_clock.h. */
#include "backend/nvidia/pm_clock.h"

enum {
    DRIFT_PER_MILLION = 50, /* of two clocks against each other */
    WALL_SLACK = 1000000,   /* ns by which the wall clock may lie outside the bounds */
};

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

static int64_t within(const struct pm_clock *c, int64_t offset)
{
    return offset < c->least ? c->least : offset > c->most ? c->most : offset;
}

static void settle(struct pm_clock *c, int64_t wall, bool first)
{
    if (!c->lower || !c->upper) {
        c->offset = c->lower ? c->least : c->most;
        return;
    }
    if (c->least > c->most) /* a record without a true time: the newer bound counts */
        c->least = c->most;
    bool agrees = -wall >= c->least - WALL_SLACK && -wall <= c->most + WALL_SLACK;
    if (agrees)
        c->offset = -wall;
    else if (first)
        c->offset = c->least + (c->most - c->least) / 2;
    c->offset = within(c, c->offset);
}

void pm_clock_after(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t wall)
{
    int64_t bound = difference(ours, theirs);
    bool first = !c->lower;
    loosen(c, ours);
    if (first || bound > c->least)
        c->least = bound;
    c->lower = true;
    settle(c, wall, first);
}

void pm_clock_before(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t wall)
{
    int64_t bound = difference(ours, theirs);
    bool first = !c->upper;
    loosen(c, ours);
    if (first || bound < c->most)
        c->most = bound;
    c->upper = true;
    settle(c, wall, first);
}

int64_t pm_clock_ours(const struct pm_clock *c, uint64_t theirs)
{
    return (int64_t)(theirs + (uint64_t)c->offset);
}

int64_t pm_clock_error(const struct pm_clock *c)
{
    return c->lower && c->upper ? c->most - c->least : INT64_MAX;
}
