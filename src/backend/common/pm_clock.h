/* pm_clock.h - finds the difference between a device's clock and ours.
 *
 * Sampled records have times of the device's clock, and no call of the library returns the
 * difference to our clock. It follows from two facts: the first record ended after sampling was
 * switched on, and records that a drain reads had ended before the drain. Each fact gives a bound
 * of the difference; the bound by reading is renewed with every drain. Both bounds are widened with
 * time by the possible drift between the clocks.
 *
 * Within the bounds the wall clock decides, because the driver sets the device's clock by it. On an
 * H200 they differ by less than 50 us, but on a machine with two H100 by 8 ms. The bound by the
 * begin of sampling is as wide as the call takes, which was 20 ms there while another process used
 * the device. But a record that is read has usually just ended, so the difference lies a little
 * below the bound by reading. Once the wall clock was outside of that narrow range, the device's
 * clock is not the wall clock; then the middle of the range is used for as long as the bounds
 * allow. Plain data. */
#ifndef GPUFL_BACKEND_COMMON_PM_CLOCK_H
#define GPUFL_BACKEND_COMMON_PM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pm_clock {        /* ns to add to the device's time, which wraps in no session */
    int64_t least, most; /* bounds */
    int64_t likely;      /* the least if the records of the closest read had just ended */
    int64_t offset;      /* the difference in use */
    int64_t since;       /* our time at which the bounds were true */
    bool lower, upper;   /* the bound is known */
    bool likely_known;
    bool settled; /* both bounds were known, and offset is from them */
    bool apart;   /* the device's clock is not the wall clock */
};

/* Notes that a record that ended at `theirs` ended after `ours`. wall: the wall clock minus ours,
 * ns. */
void pm_clock_after(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t wall);

enum { PM_CLOCK_STALE = -1 };

/* Notes that a record that ended at `theirs` was read at `ours`, and had probably ended at most
 * `fresh` ns before that; PM_CLOCK_STALE: at any time before. */
void pm_clock_before(struct pm_clock *c, int64_t ours, uint64_t theirs, int64_t fresh,
                     int64_t wall);

/* Converts a device's time to ours; at least one bound must be known. */
int64_t pm_clock_ours(const struct pm_clock *c, uint64_t theirs);

/* Returns the distance between the bounds, ns; INT64_MAX: a bound is missing. */
int64_t pm_clock_error(const struct pm_clock *c);

#endif
