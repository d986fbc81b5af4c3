/* backoff.c - see backoff.h. */
#include "net/client/backoff.h"

static const int64_t SECOND = 1000000000;

void backoff_init(struct backoff *b, unsigned most, int64_t least, int64_t limit, uint64_t seed)
{
    *b = (struct backoff){.most = most, .least = least, .limit = limit, .random = seed};
}

bool backoff_transient(int status)
{
    return status == 0 || status == 408 || status == 425 || status == 429 ||
           (status >= 500 && status != 501 && status != 505 && status != 507);
}

/* Returns the next number of splitmix64: enough to spread senders. */
static uint64_t next_random(struct backoff *b)
{
    uint64_t z = b->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns a wait that doubles with each one in a row, from half of its bound to the bound. */
static int64_t doubled(struct backoff *b, unsigned in_a_row)
{
    int64_t bound = b->least;
    for (unsigned i = 1; i < in_a_row && bound < b->limit; i++)
        bound *= 2;
    if (bound > b->limit)
        bound = b->limit;
    return bound / 2 + (int64_t)(next_random(b) % (uint64_t)(bound / 2 + 1));
}

int64_t backoff_next(struct backoff *b, int64_t retry_after)
{
    if (++b->tries > b->most)
        return BACKOFF_GIVE_UP;
    int64_t wait = doubled(b, b->tries);
    if (retry_after < 0)
        return wait;
    if (retry_after > b->limit / SECOND)
        return BACKOFF_GIVE_UP;
    /* At least the time that the server asks for, and not all senders at the same moment. */
    int64_t asked = retry_after * SECOND;
    return asked + (int64_t)(next_random(b) % (uint64_t)(b->least + 1));
}

int64_t backoff_wait(struct backoff *b, int64_t retry_after)
{
    static const int64_t most = 1000000; /* s: no server means more, and it fits ns */
    if (retry_after < 0)
        return doubled(b, ++b->waits);
    int64_t asked = (retry_after < most ? retry_after : most) * SECOND;
    int64_t more = asked / 4 > b->least ? asked / 4 : b->least;
    return asked + (int64_t)(next_random(b) % (uint64_t)(more + 1));
}

void backoff_reset(struct backoff *b)
{
    b->waits = 0;
    b->tries = 0;
}
