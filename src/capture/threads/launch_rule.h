/* launch_rule.h - decides which of a thread's launches are captured with their stack.
 *
 * The time between a thread's calls of the vendor's library is its own time. A launch that ends
 * a long own time is captured for itself (LONG). Shorter own times are summed up, and the launch at
 * which the sum reaches a limit is captured for all of them (SUM). The limit is random, because
 * with a fixed one a loop of fixed length would always be captured at one place. If captures take
 * too much of a thread's time, both limits are doubled; they are halved again once captures have
 * become cheap or rare.
 *
 * Times are ticks of base/tick.h. All state belongs to the thread, without locks or atomics. A
 * launch that is not captured costs one reading of the tick and two comparisons. */
#ifndef GPUFL_CAPTURE_THREADS_LAUNCH_RULE_H
#define GPUFL_CAPTURE_THREADS_LAUNCH_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LAUNCH_AWAY_US = 100,   /* own time of a launch that is captured for itself */
    LAUNCH_WINDOW_US = 500, /* own time that is summed up for one capture, on average */
    LAUNCH_LEVELS = 6,      /* how often both may double */
    LAUNCH_MOST = 333,      /* captures may take one part in so many of the thread's second ... */
    LAUNCH_FEW = 1333,      /* ... and below one in so many the limits come back */
};

#define LAUNCH_OWN_UNKNOWN UINT64_MAX

/* Holds the limits in ticks, of all threads. */
struct launch_limits {
    uint64_t away, window, second;
};

struct launch_rule {
    uint64_t left;      /* when the thread last left the vendor's library */
    uint64_t away;      /* from this length on own time is long; 0: the rule has not begun */
    uint64_t sum;       /* own time since the last SUM */
    uint64_t next;      /* the sum at which a launch is captured */
    uint64_t spent;     /* ticks in captures, since ... */
    uint64_t since;     /* ... this tick */
    uint32_t random;    /* state of the generator; not 0 once the rule has begun */
    uint32_t stretch;   /* of capture: see launch_rule_judge; 0: none yet */
    uint32_t doublings; /* of both limits */
};

/* Lists the numbers of `why` in the record launch. */
enum launch_why { LAUNCH_QUIET = 0, LAUNCH_LONG = 1, LAUNCH_SUM = 2 };

struct launch_verdict {
    enum launch_why why;
    uint64_t own; /* ticks; LAUNCH_OWN_UNKNOWN: the stretch's first launch. Below 2^32 for SUM */
    uint64_t sum; /* of SUM, own included; below 2^32 */
};

/* Returns true for a launch that is not captured, as nearly all are. False: launch_rule_judge
 * decides, and this call has noted nothing. [hot] */
static inline bool launch_rule_quiet(struct launch_rule *r, uint64_t now)
{
    uint64_t own = now - r->left, sum = r->sum + own;
    if (__builtin_expect(own >= r->away || sum >= r->next, 0))
        return false;
    r->left = now;
    r->sum = sum;
    return true;
}

/* Judges the launch that begins now. stretch: number of the stretch of time in which launches are
 * seen without a gap, not 0; the first launch of a stretch is captured, with an unknown own time.
 * [hot] */
struct launch_verdict launch_rule_judge(struct launch_rule *r, const struct launch_limits *l,
                                        uint32_t stretch, uint64_t now);

/* Notes that the thread leaves the vendor's library after a wait. [hot] */
static inline void launch_rule_left(struct launch_rule *r, uint64_t now)
{
    r->left = now;
}

/* Notes a capture that took from `began` until now. That time is not the thread's own, and the
 * limits are adapted by it. part: how much of a second is the thread's (turns.h), of TURN_WHOLE; 0:
 * all. [hot] */
void launch_rule_spent(struct launch_rule *r, const struct launch_limits *l, uint64_t began,
                       uint64_t now, uint32_t part);

#endif
