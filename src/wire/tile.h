/* tile.h - makes the level-of-detail pyramid of a timeline.
 *
 * A timeline has lanes; events of a lane have a start and a duration. A view is a
 * window of time, drawn in at most some thousand columns. Level k of the pyramid
 * has buckets of TILE_WIDTH(k) ns and serves windows of about a thousand buckets:
 *
 *   tiles  sums, a row for (level, lane, bucket), of all events shorter than the
 *          bucket, each counted where it starts. Several rows of one bucket add up:
 *          a live session appends, and never has to change a row.
 *   spans  events of at least TILE_WIDTH(0), one row each, at the highest level
 *          whose bucket is not longer than they are. A view at level k draws the
 *          spans of levels >= k one by one; a lane whose events do not overlap has
 *          no more of them than buckets. A span of level k < TILE_LEVELS - 1 is
 *          shorter than TILE_WIDTH(k + 1), so a span that reaches into a window
 *          starts less than TILE_WIDTH(k + 1) before the window.
 *
 * At every level each event is in exactly one of the two. For a finer view than level 0
 * the events' own tables are read.
 *
 * A mark is an event without a duration, so it is in tiles only. Where names are weighted by
 * durations, each mark counts 1. Everything here is plain data; any thread may use a copy of its
 * own. */
#ifndef GPUFL_WIRE_TILE_H
#define GPUFL_WIRE_TILE_H

#include <stdint.h>

enum {
    TILE_LEVELS = 8,
    TILE_SHIFT = 17,     /* level 0: 2^17 ns = 131 us */
    TILE_SHIFT_STEP = 3, /* each level's bucket is 8 of the one below; level 7: 275 s */
};

#define TILE_LEVEL_SHIFT(level) (TILE_SHIFT + TILE_SHIFT_STEP * (level))
#define TILE_WIDTH(level)       (INT64_C(1) << TILE_LEVEL_SHIFT(level)) /* ns */

/* Lists the kinds of lanes. The numbers are stored, so they never change. */
enum lane_kind {
    LANE_KERNEL = 1, /* kernels of a stream; ref: stream id */
    LANE_COPY = 2,   /* copies and fills of a stream; ref: stream id */
    LANE_SYNC = 3,   /* synchronizations of a host thread; ref: thread id, 0 unknown */
    LANE_WAIT = 4,   /* calls that can wait for the GPU, of a host thread; ref: thread id */
    LANE_SCOPE = 5,  /* scopes of a host thread at a depth; ref: thread id */
    LANE_GRAPH = 6,  /* graph launches of a host thread; ref: thread id */
    LANE_RUN = 7,    /* graphs as a whole, as a stream ran them; ref: stream id */
    LANE_MARK = 12,  /* marks of a host thread; ref: thread id. 8 to 11 are the dashboard's own */
};

/* Returns a lane in one number: kind, depth (scopes; capped at 255), ref (48 bits). */
static inline int64_t lane_make(enum lane_kind kind, unsigned depth, int64_t ref)
{
    uint64_t d = depth < 255 ? depth : 255;
    return (int64_t)((uint64_t)kind << 56 | d << 48 | ((uint64_t)ref & 0xffffffffffffull));
}

static inline enum lane_kind lane_kind_of(int64_t lane)
{
    return (enum lane_kind)(lane >> 56);
}

static inline unsigned lane_depth_of(int64_t lane)
{
    return (unsigned)(lane >> 48) & 255;
}

static inline int64_t lane_ref_of(int64_t lane)
{
    return lane & 0xffffffffffff;
}

/* Holds the sums of the events of one lane that start in one bucket and are shorter than it. */
struct tile {
    int64_t lane;
    int64_t bucket; /* floor(start / TILE_WIDTH(level)) */
    int64_t events;
    int64_t busy;      /* ns, sum of durations */
    int64_t longest;   /* ns, the longest event */
    int64_t name;      /* name id (also event_name.h) with the greatest sum of durations, as far as
                        * tracked; 0: none */
    int64_t name_busy; /* ns, that sum; for marks the number that have the name */
};

/* Describes one event of at least TILE_WIDTH(0) ns. */
struct tile_span {
    int64_t lane;
    int64_t start, duration; /* ns, CLOCK_MONOTONIC of the session */
    int64_t name;            /* name id (also event_name.h); 0: none */
    int64_t ref;             /* kernels, copies, waits: correlation; scopes: instance */
};

/* Returns the level of a span, or -1 for an event that is too short to be a span. */
static inline int tile_span_level(int64_t duration)
{
    int level = -1;
    while (level + 1 < TILE_LEVELS && duration >= TILE_WIDTH(level + 1))
        level++;
    return level;
}

#endif
