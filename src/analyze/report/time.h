/* time.h - divides the whole time of the GPUs into parts: busy, and idle by cause.
 *
 * The whole is the time in which sessions observed the GPUs that worked. Shares are permille that
 * sum up to 1000, by largest remainder, so that the shown shares add up to 100 %. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_REPORT_TIME_H
#define GPUFL_ANALYZE_REPORT_TIME_H

#include "analyze/model/model.h"

enum {
    TIME_KERNELS,
    TIME_COPIES,
    TIME_RANKS, /* kernels that only waited for another rank */
    TIME_UNKNOWN,
    TIME_IDLE,
    TIME_PARTS = TIME_IDLE + IDLE_CAUSES
};

struct time_part {
    int part; /* TIME_KERNELS, …; TIME_IDLE + an idle cause */
    int64_t ns;
    int permille;
};

struct time_parts {
    struct time_part items[TIME_PARTS]; /* kernels, copies, then the others by their time */
    size_t count;
    /* ns, of all GPUs; whole = idle + busy + ranks + unknown, busy without waits for ranks */
    int64_t whole, idle, busy, ranks, unknown;
    unsigned devices; /* 0: the GPUs' time is unknown */
};

void time_parts_make(const struct model *m, struct time_parts *t);

/* Distributes `all` cells over the parts by largest remainder: they sum up to `all`. */
void time_parts_spread(const struct time_parts *t, int all, int cells[TIME_PARTS]);

/* time_part_key returns "kernels", "copies", "rank_wait", "unknown", or an idle cause's key.
 * time_part_name returns a few words for people. */
const char *time_part_key(int part);
const char *time_part_name(int part);

#endif
