/* rate.c - see rate.h. */
#include "capture/samples/rate.h"

#define SECOND 1000000000ll

enum {
    AIM = 90,     /* of 10 000: the cost that the new rate would have had */
    DEAR = 10,    /* of 10 000: at a cost so far above the aim the rate falls */
    CHEAP = 15,   /* of 10 000: at a cost so far below the aim it rises again */
    REPAY = 30,   /* of 10 000: the aim is lower by at most this while more than AIM was used */
    REPAY_S = 2,  /* s in which what was used beyond AIM is saved again */
    STEP = 2,     /* one change makes the rate at most so many times as high or as low */
    SLOWEST = 64, /* a cell gets at most so many times as long as the one asked for */
    EARLY = 2     /* ms: from so much on a rate that is too high is noticed within a second */
};

/* Returns the next number of splitmix64. */
static uint64_t random_next(struct rate *r)
{
    uint64_t z = r->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void rate_begin(struct rate *r, int64_t hz, int64_t now, int64_t cpu, uint64_t seed)
{
    *r = (struct rate){.asked = SECOND / hz,
                       .begun = now,
                       .begun_cpu = cpu,
                       .measured = now,
                       .cpu = cpu,
                       .random = seed};
    r->cell = r->asked;
    r->begin = now - r->cell; /* the first look is in the cell that begins now */
}

int64_t rate_next(struct rate *r, int64_t now)
{
    r->begin += r->cell;
    if (r->begin + r->cell <= now)
        r->begin += (1 + (now - r->begin) / r->cell) * r->cell;
    return r->begin + (int64_t)(random_next(r) % (uint64_t)r->cell);
}

static int64_t within(int64_t n, int64_t least, int64_t most)
{
    return n < least ? least : n < most ? n : most;
}

/* Returns the cost to aim at: a lower one while more than AIM was used since the beginning. */
static int64_t aim(const struct rate *r, int64_t now, int64_t cpu)
{
    int64_t beyond = cpu - r->begun_cpu - (now - r->begun) / 10000 * AIM;
    return AIM - within(beyond * 10000 / (REPAY_S * SECOND), 0, REPAY);
}

bool rate_measure(struct rate *r, int64_t now, int64_t cpu)
{
    int64_t passed = now - r->measured, used = cpu - r->cpu, cell = r->cell;
    int64_t share = passed > 0 ? used * 10000 / passed : 0, to = aim(r, now, cpu);
    if (passed < SECOND && (used < EARLY * SECOND / 1000 || share <= AIM + DEAR))
        return false;
    r->measured = now;
    r->cpu = cpu;
    if (share > to + DEAR || share < to - CHEAP)
        r->cell = within(within(cell * share / to, cell / STEP, cell * STEP), r->asked,
                         r->asked * SLOWEST);
    return r->cell != cell;
}
