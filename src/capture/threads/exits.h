/* exits.h - our exit handlers, in front of those that the vendor's libraries install.
 *
 * Why: handlers run last in, first out, and ours must run while the vendor's libraries are still
 * whole. So a handler is installed again after each stage at which a library may have installed
 * one. What the handlers do is the session's: see exits_begin. */
#ifndef GPUFL_CAPTURE_THREADS_EXITS_H
#define GPUFL_CAPTURE_THREADS_EXITS_H

#include <stdbool.h>

/* After these, other exit handlers may have been installed. */
enum exit_stage {
    EXITS_STARTED,  /* by nobody yet */
    EXITS_TRACING,  /* by the vendor's libraries, as they were loaded */
    EXITS_RECORDED, /* by the driver, as it came up */
    EXITS_ENGINES, /* by the libraries of an engine, as it began: a stage for each enum engine_bit */
    EXITS_STAGES = EXITS_ENGINES + 8
};

/* Once a process, before the first session: `end` ends the session at exit; `leave` runs as the
 * process's first thread ends, and returns whether a session is still running. 0 or GPUFL_E_NOMEM.
 * [owner] */
int exits_begin(void (*end)(void), bool (*leave)(void));

/* Installs our handler after all that are installed so far. Once for each stage of the process:
 * handlers cannot be removed, and sessions may be many. 0 or GPUFL_E_NOMEM. [any] */
int exits_first(enum exit_stage stage);

/* Watches the end of the calling thread, if it is the process's first, whose return from main is
 * the usual exit. At its end, before any exit handler runs, `leave` waits until the collector has
 * finished what it does in the vendor's libraries, and our handler is installed once more.
 * Handlers that those libraries install while they work (an engine that begins takes 0.3 s) would
 * otherwise run before the collector has finished. Where threads have no such destructors, and
 * where another thread calls exit, handlers run in the order in which they were installed. [any] */
void exits_watch_thread(void);

#endif
