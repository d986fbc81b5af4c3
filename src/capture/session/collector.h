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
#ifndef GPUFL_CAPTURE_SESSION_COLLECTOR_H
#define GPUFL_CAPTURE_SESSION_COLLECTOR_H

#include "capture/options/options.h"
#include "capture/records/scopes.h"
#include "capture/session/ledger.h"
#include "capture/threads/collector_wake.h"
#include "monitor/announce.h"

#include <stdbool.h>
#include <stdint.h>

struct collector {
    const struct options *options; /* the session's; outlives the thread */
    const char *session;           /* the session's id; outlives the thread */
    const char *dir;               /* the folder of its log; outlives the thread */
    const struct backend *backend;
    enum gpufl_engine engine; /* in effect */
    struct trace *trace;      /* NULL: nothing is traced */
    bool trace_started;
    bool roused;     /* a trace was opened on demand (on_demand.h) */
    bool exit_first; /* our exit handler runs before those of the driver's libraries */
    struct writer *writer;
    struct ledger ledger;
    struct scopes_drain drain;
    struct announcer announcer;
    int64_t end_at;     /* steady ns; 0: no end */
    const char *reason; /* of the end; collector's */
};

/* Makes the wake-ups usable: before the gate opens. 0 or GPUFL_E_NOMEM. [owner] */
int collector_prepare(void);

/* Takes over everything in *c; on failure the caller keeps it. 0 or GPUFL_E_NOMEM. [owner] */
int collector_start(const struct collector *c);

/* How long a thread of the program waits for the collector. A busy machine makes the collector
 * slow, a wedged driver or disk makes it stand still: only a collector that stands still is given
 * up. */
struct patience {
    int64_t still_ns; /* since it was last seen to get on, without waits for a core (standing.h) */
    int64_t most_ns;  /* in all */
};

/* Writes everything recorded so far; false: out of patience. [owner] */
bool collector_flush(const struct patience *p);

/* Asks the capture to end, and takes no new scopes from here on: what is left to write
 * does not grow while threads work on. reason: static; the first one counts. [any] */
void collector_ask_end(const char *reason);

/* Waits until the capture has ended; false: out of patience. [any] */
bool collector_await_end(const struct patience *p);

/* Asks for the end, waits for it, and joins the thread. [owner] */
bool collector_end(const char *reason, const struct patience *p);

/* The thread has ended by itself, or is about to. [any] */
bool collector_ended(void);

/* Switches the engine's activity on or off, in a session with windows. [any] */
int collector_window(bool open, struct err *e);

/* Switches the benchmark's floor. [owner] */
int collector_floor(bool on);

/* Stops what names the line behind idle time, or goes on with it, for benchmarks. [owner] */
int collector_idle(bool on);

/* While the collector changes the trace nobody else calls its ops. [collector] */
void collector_trace_take(void);
void collector_trace_give(void);

void collector_forget(void); /* in a forked child */

/* ---- for closing.c --------------------------------------------------------------------------- */

void collector_cycle(struct collector *c, bool flush, bool all); /* [collector] */
void collector_say_log(struct collector *c);                     /* [collector] */
void collector_clock(struct collector *c);                       /* a clock row. [collector] */
void closing_run(struct collector *c);                           /* the end. [collector] */

#endif
