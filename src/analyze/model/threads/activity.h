/* activity.h - what the host did while the GPU was idle: activity.def, applied to stacks.
 *
 * The line of such time is still the user's; the activity says what the host did there. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_THREADS_ACTIVITY_H
#define GPUFL_ANALYZE_MODEL_THREADS_ACTIVITY_H

#include <stdint.h>

struct model;

enum idle_activity {
    ACTIVITY_NONE,
#define ACTIVITY(id, title, was, unless, next) ACTIVITY_##id,
#include "analyze/model/threads/activity.def"
    ACTIVITIES,
};

enum {
    IDLE_STRETCH_MS = 1000, /* samples that are farther apart are two stretches */
    IDLE_START = 10,        /* % of a session in which it starts */
    IDLE_BREAK_LOOKS = 2,   /* looks elsewhere in a row, after which a thread has left; */
    IDLE_BREAKS = 2,        /* after so many, how often it began is unknown */
};

struct activity_text {
    const char *title, *was, *unless, *next; /* literals */
};

/* Says how often threads began an activity, from all samples; or how many calls there were. The
 * number from samples is the least one: a thread may have left the activity between two samples. */
struct idle_stretches {
    uint64_t all;
    uint64_t later; /* of all: after the session's start */
    uint64_t mixed; /* of all: with other work between; they may have begun more than once */
    uint64_t steps; /* steps of the steady part with samples of the activity */
    uint64_t of;    /* steps of the steady part */
};

/* Returns the words of an activity other than ACTIVITY_NONE. */
const struct activity_text *idle_activity_text(enum idle_activity a);

/* Returns the activity that a single frame shows. file: of Python; NULL: a native function. */
enum idle_activity idle_activity_of_frame(const char *file, const char *function);

/* Returns the activity of each node in m->stacks, by node; an owned array of bytes, which the
 * caller frees. NULL: out of memory. */
uint8_t *idle_activity_list(const struct model *m);

/* Counts a stretch of an activity that began at a time (ns). */
void idle_activity_began(struct model *m, enum idle_activity a, int64_t time);

/* Counts stretches (m->idle.stretches) from the kept samples, and loads of code (m->idle.loads).
 * Call while the ids of the log are known. 0 or GPUFL_E_NOMEM. */
int idle_activity_count(struct model *m);

#endif
