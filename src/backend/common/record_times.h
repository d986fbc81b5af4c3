/* record_times.h - whether the times of a vendor's record can be true.
 *
 * A damaged time may be anything, and one that lies before the session or after now cannot be of
 * it. Such a record is counted as lost, and the first one is reported. [collector] */
#ifndef GPUFL_BACKEND_COMMON_RECORD_TIMES_H
#define GPUFL_BACKEND_COMMON_RECORD_TIMES_H

#include "backend/backend.h"

#include <stdbool.h>

struct record_times {
    struct sink *sink;
    const char *library, *code; /* "CUPTI", and the code of the message */
    int64_t earliest, latest;   /* ns of our clock: times outside are impossible */
    bool said;                  /* an impossible one has been reported */
};

/* Nothing before now less a second. */
void record_times_open(struct record_times *t, struct sink *s, const char *library,
                       const char *code);

/* Nothing after now and a second. Before records are read. */
void record_times_now(struct record_times *t);

/* Both times onto our clock, shift ns from the record's; false and counted where they are
 * impossible. */
bool record_times_read(struct record_times *t, uint64_t start, uint64_t end, int64_t shift,
                       int64_t *at, int64_t *duration);

#endif
