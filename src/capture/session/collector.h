/* collector.h - the thread that takes records, decodes them and writes the log.
 *
 * Only this thread uses the log, the ids, the joins and the consumer's side of every
 * ring. Every flush_interval_ms, or when woken because a ring or pool fills up, it runs:
 *
 *   vendor flush -> take buffers -> drain rings -> decode buffers -> write
 *
 * Why rings come after buffers: the launch of every record taken is then already joined.
 * The end of a capture runs on this thread, too (closing.c), so that the program's thread
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
    const char *reason; /* of the end; written by the collector */
};

/* Makes the wake-ups usable; called before the gate opens. 0 or GPUFL_E_NOMEM. [owner] */
int collector_prepare(void);

/* Takes over everything in *c; on failure the caller keeps it. 0 or GPUFL_E_NOMEM. [owner] */
int collector_start(const struct collector *c);

/* Says how long a thread of the program waits for the collector. On a busy machine the collector is
 * slow; a driver or disk that does not answer stops its progress. The waiting thread gives up only
 * when there is no progress. */
struct patience {
    int64_t still_ns; /* without progress, waits for a core not counted (standing.h) */
    int64_t most_ns;  /* in total */
};

/* Writes everything recorded so far; false: out of patience. [owner] */
bool collector_flush(const struct patience *p);

/* Asks the capture to end. No new scopes are taken from here on, so that the rows left to write
 * do not grow while threads work on. reason: static text; the first one counts. [any] */
void collector_ask_end(const char *reason);

/* Waits until the capture has ended; false: out of patience. [any] */
bool collector_await_end(const struct patience *p);

/* Asks for the end, waits for it, and joins the thread. [owner] */
bool collector_end(const char *reason, const struct patience *p);

/* Returns true if the thread has ended by itself, or is about to. [any] */
bool collector_ended(void);

/* Switches the engine's activity on or off, in a session with windows. [any] */
int collector_window(bool open, struct err *e);

/* Switches the benchmark's floor. [owner] */
int collector_floor(bool on);

/* Stops the captures and samples that name the line that caused idle time, or continues them, for
 * benchmarks. [owner] */
int collector_idle(bool on);

/* Takes the lock under which the collector changes the trace, so that no other thread calls its
 * ops meanwhile. [collector] */
void collector_trace_take(void);
void collector_trace_give(void);

void collector_forget(void); /* in a forked child */

/* ---- for closing.c --------------------------------------------------------------------------- */

void collector_cycle(struct collector *c, bool flush, bool all); /* [collector] */
void collector_say_log(struct collector *c);                     /* [collector] */
void collector_clock(struct collector *c);                       /* a clock row. [collector] */
void closing_run(struct collector *c);                           /* the end. [collector] */

#endif
