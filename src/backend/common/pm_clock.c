/* pm_clock.c - see pm_clock.h. */
#include "backend/common/pm_clock.h"

#include <stdlib.h>

enum {
    DRIFT_PER_MILLION = 50, /* of two clocks against each other */
    WALL_SLACK = 1000000,   /* ns by which the wall clock may lie outside the bounds */
};

static int64_t difference(int64_t ours, uint64_t theirs)
{
    return (int64_t)((uint64_t)ours - theirs);
}

/* Moves the bounds to those of a later time. */
static void loosen(struct pm_clock *c, int64_t now)
{
    int64_t drift = (now - c->since) / 1000000 * DRIFT_PER_MILLION;
    if (now <= c->since || drift <= 0)
        return;
    c->since = now;
    if (!c->lower && !c->upper)
        return;
    c->least -= drift;
    c->likely -= drift;
    c->most += drift;
}

/* Returns the lower bound if the newest record had just ended when it was read. */
static int64_t lowest(const struct pm_clock *c)
{
    return c->likely_known && c->likely > c->least && c->likely <= c->most ? c->likely : c->least;
}

static void settle(struct pm_clock *c, int64_t wall)
{
    if (!c->lower || !c->upper) {
        c->offset = c->lower ? c->least : c->most;
        return;
    }
    if (c->least > c->most) /* a record had a wrong time: the newer bound counts */
        c->least = c->most;
    int64_t least = lowest(c);
    bool agrees = -wall >= least - WALL_SLACK && -wall <= c->most + WALL_SLACK;
    bool again = c->settled && llabs(c->offset + wall) > WALL_SLACK; /* the wall clock was set */
    if (agrees && !c->apart)
        c->offset = -wall;
    else if (!c->apart && !again)
        c->offset = least + (c->most - least) / 2;
    c->settled = true;
    c->apart |= !agrees;
    c->offset = c->offset < least ? least : c->offset > c->most ? c->most : c->offset;
}

void pm_clock_after(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t wall)
{
    int64_t bound = difference(ours, theirs);
    loosen(c, ours);
    if (!c->lower || bound > c->least)
        c->least = bound;
    c->lower = true;
    settle(c, wall);
}

void pm_clock_before(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t fresh, int64_t wall)
{
    int64_t bound = difference(ours, theirs);
    loosen(c, ours);
    bool closer = !c->upper || bound < c->most;
    if (closer)
        c->most = bound;
    if (closer && fresh >= 0)
        c->likely = bound - fresh;
    c->likely_known |= closer && fresh >= 0;
    c->upper = true;
    settle(c, wall);
}

int64_t pm_clock_ours(const struct pm_clock *c, uint64_t theirs)
{
    return (int64_t)(theirs + (uint64_t)c->offset);
}

int64_t pm_clock_error(const struct pm_clock *c)
{
    return c->lower && c->upper ? c->most - c->least : INT64_MAX;
}
