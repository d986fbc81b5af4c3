/* captured.h - keeps the launches whose stack the log has (record launch), by correlation and by
 * thread.
 *
 * A capture says when and from which stack the program submitted a piece of work. Between two
 * captures of a thread are launches without a row: they were submitted before the later capture,
 * and the next capture that sums up (launch.why 2) stands for them. The first IDLE_CAPTURES rows
 * are kept. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_CAPTURED_H
#define GPUFL_ANALYZE_MODEL_IDLE_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_CAPTURES = 1 << 22 /* rows: 118 MB at most */ };

struct wire_batch;

struct idle_capture {
    int64_t start;        /* ns: entry of the call */
    uint32_t correlation; /* 0: none */
    uint32_t thread;      /* 0: unknown */
    uint32_t stack;       /* id of the log; 0: unknown */
    uint32_t sums;        /* 1: shorter times have summed up in it */
};

struct idle_captured {
    struct idle_capture *rows; /* owned; by thread and time once sorted */
    uint32_t *order;           /* owned: places in rows by correlation and time */
    size_t count, cap;
    size_t sorted;   /* rows that are in order */
    uint32_t only;   /* the thread of all rows; 0: there are several, or none */
    uint64_t beyond; /* rows without room */
    uint64_t tested; /* rows that sum up whose thread the rows around them name; once sorted */
    uint64_t wrong;  /* rows of `tested` that are another thread's */
};

void idle_captured_fini(struct idle_captured *c);

/* Takes the rows of a batch; a row without a time is left out. 0 or GPUFL_E_NOMEM. */
int idle_captured_batch(struct idle_captured *c, const struct wire_batch *b);

/* Sorts what has come. Call before the functions below. 0 or GPUFL_E_NOMEM. */
int idle_captured_sort(struct idle_captured *c);

/* Returns the latest capture with that correlation that began before `until` (ns); NULL: none. */
const struct idle_capture *idle_captured_find(const struct idle_captured *c, uint32_t correlation,
                                              int64_t until);

/* Returns when the latest capture of the thread before t (ns) began; INT64_MIN: there is none. */
int64_t idle_captured_before(const struct idle_captured *c, uint32_t thread, int64_t t);

/* Returns the first capture of the thread that was launched after a correlation, which itself was
 * launched before `until` (ns); NULL: none, or unknown. */
const struct idle_capture *idle_captured_next(const struct idle_captured *c, uint32_t thread,
                                              uint32_t correlation, int64_t until);

/* Estimates which thread launched a correlation that has no row, from the rows around the
 * correlation.
 *
 * Why: a thread that made no CUDA call for a while has a row for its next launch, and a thread that
 * goes on launching has a row for every half millisecond of its own time. So launches between two
 * rows of one thread are that thread's, and launches between rows of two threads are the first
 * thread's if the second one had made no call for a while. Threads that launch alternately can
 * break this rule. Therefore the rule is tested on each row that sums up, as if it were a launch
 * without a row. A session in which the rule finds the right thread too rarely has no such
 * estimates.
 *
 * until: ns, the latest time at which the launch can have begun. Returns the thread's first row
 * after the correlation, or if there is none its last row before; NULL: unknown. */
const struct idle_capture *idle_captured_around(const struct idle_captured *c, uint32_t correlation,
                                                int64_t until);

/* Returns the capture `from`, or the next one of its thread, that sums up; NULL: none is near. */
const struct idle_capture *idle_captured_closing(const struct idle_captured *c,
                                                 const struct idle_capture *from);

#endif
