/* rate.c - see rate.h. */
#include "capture/samples/rate.h"

#define SECOND 1000000000ll

enum {
    DEAR = 100,  /* of 10 000: at this cost the rate is halved */
    CHEAP = 40,  /* of 10 000: below this cost it is doubled again; halving gives half of DEAR */
    SLOWEST = 64 /* a cell gets at most so many times as long as the one asked for */
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
    *r = (struct rate){.asked = SECOND / hz, .measured = now, .cpu = cpu, .random = seed};
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

bool rate_measure(struct rate *r, int64_t now, int64_t cpu)
{
    int64_t passed = now - r->measured, used = cpu - r->cpu, cell = r->cell;
    if (passed < SECOND && used <= SECOND / 10000 * DEAR)
        return false; /* the allowance of this second is not used up */
    int64_t share = passed > 0 ? used * 10000 / passed : 0;
    r->measured = now;
    r->cpu = cpu;
    if (share > DEAR && cell < r->asked * SLOWEST)
        r->cell *= 2;
    else if (share < CHEAP && cell > r->asked)
        r->cell /= 2;
    return r->cell != cell;
}
