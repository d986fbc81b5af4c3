/* burst.h - when the analysis pauses in favour of loading. Functions without state.
 *
 * If many sessions end within seconds, all are loaded first, so that they can be listed and
 * searched sooner. Their reports come when no more sessions end, or after BURST_MOST_NS. Reports of
 * running sessions do not wait, nor those of a steady stream of sessions with which the analysis
 * keeps up. */
#ifndef GPUFL_SERVER_ANALYSIS_BURST_H
#define GPUFL_SERVER_ANALYSIS_BURST_H

#include <stdint.h>

#define BURST_QUIET_NS INT64_C(300000000) /* without a session's end: the burst is over */
/* This is the longest pause, while a burst of sessions waits. */
#define BURST_MOST_NS INT64_C(60000000000)

enum { BURST_SESSIONS = 16 /* that wait for their report after their end: a burst */ };

struct burst {
    int64_t last;  /* CLOCK_MONOTONIC ns at which a session ended; 0: none did */
    int64_t since; /* when BURST_SESSIONS began to wait; 0: fewer wait */
};

/* Notes that a session has ended. */
void burst_note(struct burst *b, int64_t now);

/* Returns until when the analysis pauses; 0: it does not. waiting: sessions that wait for their
 * report after their end. */
int64_t burst_rest(struct burst *b, unsigned waiting, int64_t now);

#endif
