/* pm_clock.h - a device's clock against ours.
 *
 * Sampled records carry the time of the device, whose relation to our clock no call of the library
 * returns. It follows from two facts: the first record ended after sampling was switched on, and
 * what a drain reads had ended before it. Each gives a bound of the difference; the one of reading
 * is renewed with every drain. Both loosen by what two clocks may drift apart.
 *
 * Within the bounds the wall clock decides: the driver sets the device's clock by it (on an H200
 * they differ by less than 50 us). Not on every machine: 8 ms on one with two H100. The bound of
 * sampling's begin is as wide as it takes to begin, which was 20 ms there beside another process;
 * but what a read brings has just ended, so that the difference lies a little below the bound of
 * reading. A wall clock that has once not been there is not the device's; then the middle of that
 * decides, and stays for as long as the bounds allow it. Plain data. */
#ifndef GPUFL_BACKEND_COMMON_PM_CLOCK_H
#define GPUFL_BACKEND_COMMON_PM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pm_clock {        /* ns to add to the device's time, which wraps in no session */
    int64_t least, most; /* bounds */
    int64_t likely;      /* the least, if what the closest read brought had just ended */
    int64_t offset;      /* that is used */
    int64_t since;       /* our time at which the bounds were true */
    bool lower, upper;   /* there is one */
    bool told;           /* likely is known */
    bool settled;        /* there were both, and offset is of them */
    bool apart;          /* the device's clock is not the wall clock */
};

/* A record that ended at `theirs` ended after `ours`. wall: the wall clock less ours, ns. */
void pm_clock_after(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t wall);

enum { PM_CLOCK_STALE = -1 };

/* A record that ended at `theirs` was there at `ours`, and most likely had ended no more than
 * `fresh` ns before; PM_CLOCK_STALE: at any time before. */
void pm_clock_before(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t fresh,
                     int64_t wall);

/* Our time of a device's time; after at least one bound. */
int64_t pm_clock_ours(const struct pm_clock *c, uint64_t theirs);

/* How far the bounds are apart, ns; INT64_MAX: one is missing. */
int64_t pm_clock_error(const struct pm_clock *c);

#endif
