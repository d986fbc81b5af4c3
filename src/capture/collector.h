/* collector.h - the thread that takes, decodes and writes.
 *
 * It alone owns the log, the ids, the joins and the consumer's side of every
 * ring. Every flush_interval_ms, or when woken because something fills up:
 *
 *   vendor flush -> take buffers -> drain rings -> decode buffers -> write
 *
 * Rings after buffers: the launch of every record taken is then already joined.
 * The end of a capture runs here too, in closing.c, so that the program's thread
 * can wait for it with a deadline. */
#ifndef GPUFL_CAPTURE_COLLECTOR_H
#define GPUFL_CAPTURE_COLLECTOR_H

#include "capture/ledger.h"
#include "capture/options.h"
#include "capture/scopes.h"

#include <stdbool.h>
#include <stdint.h>

struct collector {
    const struct options *options; /* the session's; outlives the thread */
    const struct backend *backend;
    enum gpufl_engine engine; /* in effect */
    struct trace *trace;      /* NULL: nothing is traced */
    bool trace_started;
    bool exit_first; /* the exit handler stands before what came up with the driver */
    struct writer *writer;
    struct ledger ledger;
    struct scopes_drain drain;
    int64_t end_at;     /* steady ns; 0: no end */
    const char *reason; /* of the end; collector's */
};

/* Makes the wake-up usable: before the gate opens. 0 or GPUFL_E_NOMEM. [owner] */
int collector_prepare(void);

/* Takes over everything in *c; on failure the caller keeps it. 0 or GPUFL_E_NOMEM. [owner] */
int collector_start(const struct collector *c);

/* Asks for a drain soon. One load while it is asked already; never blocks. [hot] */
void collector_wake(void);

/* Writes everything recorded so far; false: not within the time. [owner] */
bool collector_flush(int64_t timeout_ns);

/* Ends the capture and waits for it; false: not within the time. reason: static. [owner] */
bool collector_end(const char *reason, int64_t timeout_ns);

/* The thread has ended by itself, or is about to. [any] */
bool collector_ended(void);

/* Switches the benchmark's floor. [owner] */
int collector_floor(bool on);

void collector_forget(void); /* in a forked child */

/* ---- for closing.c ---------------------------------------------------------------------------- */

void collector_cycle(struct collector *c, bool flush, bool all); /* [collector] */
void collector_clock(struct collector *c);                       /* a clock row. [collector] */
void closing_run(struct collector *c);                           /* the end. [collector] */

#endif
