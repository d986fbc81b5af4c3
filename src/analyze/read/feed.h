/* feed.h - gives the lines of a session's parts, in order, to one consumer.
 *
 * Small sessions are read on the caller's thread. For large ones a second thread inflates and
 * splits while the caller decodes: the second thread fills blocks of lines, which circulate between
 * the two. Calls for different sessions are independent. */
#ifndef GPUFL_ANALYZE_READ_FEED_H
#define GPUFL_ANALYZE_READ_FEED_H

#include "analyze/read/discover.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct feed_stats {
    uint64_t parts;        /* read */
    uint64_t unreadable;   /* could not be opened */
    uint64_t cut;          /* compressed parts that end early or are damaged */
    uint64_t too_long;     /* lines beyond the limit, skipped */
    uint64_t unfinished;   /* last lines without a line end, which may still be being written */
    char first_error[384]; /* sentence about the first unreadable part; "" none */
    unsigned damaged;      /* channels of which some could not be read: bits by DISCOVER_ */
};

struct feed {
    void *arg;
    /* Takes one line, which may be modified. complete: the line had its end. Non-zero stops. */
    int (*line)(void *arg, char *line, size_t len, bool complete);
    /* The lines that follow are of this channel. May be NULL. */
    void (*channel)(void *arg, enum discover_channel c);
    /* Called from time to time; done and all are bytes on disk. May be NULL. */
    void (*progress)(void *arg, int64_t done, int64_t all);
    int64_t threads_from; /* bytes on disk from which a second thread reads; 0: default */
};

/* Feeds every part that a report reads. 0, the consumer's code, or GPUFL_E_NOMEM. */
int feed_session(const struct discover_session *s, const struct feed *f, struct feed_stats *stats);

#endif
