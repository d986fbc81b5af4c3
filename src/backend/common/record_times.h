/* record_times.h - checks whether the times of a vendor's record are possible.
 *
 * A record whose times lie before the session or after now is damaged, or not of this session. It
 * is counted as lost, and the first such record is reported. [collector] */
#ifndef GPUFL_BACKEND_COMMON_RECORD_TIMES_H
#define GPUFL_BACKEND_COMMON_RECORD_TIMES_H

#include "backend/backend.h"

#include <stdbool.h>

struct record_times {
    struct sink *sink;
    const char *library, *code; /* "CUPTI", and the code of the message */
    int64_t earliest, latest;   /* ns of our clock: times outside are impossible */
    bool said;                  /* an impossible time has been reported */
};

/* Begins: times earlier than a second before now are impossible. */
void record_times_open(struct record_times *t, struct sink *s, const char *library,
                       const char *code);

/* Notes the present time, before records are read: times later than a second after it are
 * impossible. */
void record_times_now(struct record_times *t);

/* Converts both times to our clock, which is shift ns ahead of the record's. False: they are
 * impossible, and the record is counted as lost. */
bool record_times_read(struct record_times *t, uint64_t start, uint64_t end, int64_t shift,
                       int64_t *at, int64_t *duration);

#endif
