/* burst.h - when the analysis leaves the processors to loading. Pure.
 *
 * Many sessions that end within seconds are loaded first: then they are listed and searched sooner,
 * and their reports come when no more sessions end, or after BURST_MOST_NS. Reports of sessions
 * that run, and of a steady stream, which the analysis keeps up with, do not wait. */
#ifndef GPUFL_SERVER_ANALYSIS_BURST_H
#define GPUFL_SERVER_ANALYSIS_BURST_H

#include <stdint.h>

#define BURST_QUIET_NS INT64_C(300000000)   /* without an end: the burst is over */
#define BURST_MOST_NS  INT64_C(60000000000) /* of rest, until fewer wait than make a burst */

enum { BURST_SESSIONS = 16 /* that have ended and wait for their report */ };

struct burst {
    int64_t last;  /* CLOCK_MONOTONIC ns at which a session ended; 0: none did */
    int64_t since; /* when so many began to wait; 0: fewer do */
};

/* A session has ended. */
void burst_note(struct burst *b, int64_t now);

/* Until when the analysis rests, `waiting` being the sessions that have ended and lack their
 * report; 0: it does not. */
int64_t burst_rest(struct burst *b, unsigned waiting, int64_t now);

#endif
