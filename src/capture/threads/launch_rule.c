/* launch_rule.c - see launch_rule.h. */
#include "capture/threads/launch_rule.h"

#include "capture/threads/turns.h"

_Static_assert((1500ull << LAUNCH_LEVELS) * 10000 * LAUNCH_WINDOW_US / 1000 < UINT32_MAX,
               "a sum fits 32 bits with counters of up to 10 GHz");

/* Returns the next number of Marsaglia's xorshift. */
static uint32_t next_random(struct launch_rule *r)
{
    uint32_t x = r->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return r->random = x;
}

/* Sets the limits by the number of doublings. The limit of the sum is random, between a half and
 * three halves of its mean. */
static void draw(struct launch_rule *r, const struct launch_limits *l)
{
    uint64_t window = l->window << r->doublings;
    r->away = l->away << r->doublings;
    r->next = window / 2 + (window * next_random(r) >> 32);
}

/* Begins a stretch. The limits that were adapted to the cost of captures stay, and the present
 * second goes on, without the time between the stretches, which began at `left`. */
static void begin(struct launch_rule *r, const struct launch_limits *l, uint32_t stretch,
                  uint64_t left, uint64_t now)
{
    if (!r->random)
        r->random = (uint32_t)now | 1;
    r->since = now - (r->stretch && left > r->since ? left - r->since : 0);
    r->stretch = stretch;
    r->sum = 0;
    draw(r, l);
}

struct launch_verdict launch_rule_judge(struct launch_rule *r, const struct launch_limits *l,
                                        uint32_t stretch, uint64_t now)
{
    uint64_t left = r->left;
    uint64_t own = now > left ? now - left : 0; /* another core's counter may lag */
    r->left = now;
    if (r->stretch != stretch) {
        begin(r, l, stretch, left, now);
        return (struct launch_verdict){.why = LAUNCH_LONG, .own = LAUNCH_OWN_UNKNOWN};
    }
    if (own >= r->away)
        return (struct launch_verdict){.why = LAUNCH_LONG, .own = own};
    r->sum += own;
    if (r->sum < r->next)
        return (struct launch_verdict){.why = LAUNCH_QUIET, .own = own};
    struct launch_verdict v = {.why = LAUNCH_SUM, .own = own, .sum = r->sum};
    r->sum = 0;
    draw(r, l);
    return v;
}

void launch_rule_spent(struct launch_rule *r, const struct launch_limits *l, uint64_t began,
                       uint64_t now, uint32_t part)
{
    uint64_t took = now > began ? now - began : 0;
    uint64_t passed = now > r->since ? now - r->since : 0;
    r->left = now;
    r->spent += took;
    uint64_t least = passed > l->second ? passed : l->second;
    uint64_t own = part ? least * part / TURN_WHOLE : least; /* the base of the share */
    uint32_t before = r->doublings;
    if (r->spent > own / LAUNCH_MOST) /* checked before the second is over, too */
        r->doublings += r->doublings < LAUNCH_LEVELS;
    else if (passed < l->second)
        return;
    else if (r->spent < own / LAUNCH_FEW)
        for (uint64_t s = passed / l->second; s && r->doublings; s--)
            r->doublings--;
    r->spent = 0;
    r->since = now;
    if (r->doublings != before)
        draw(r, l);
}
