/* exits.h - has our exit handlers, which run before those that the vendor's libraries install.
 *
 * Why: handlers run last in, first out, and ours must run while the vendor's libraries still
 * work. So our handler is installed again after each stage at which a library may have installed
 * one. The session passes what the handlers do to exits_begin. */
#ifndef GPUFL_CAPTURE_THREADS_EXITS_H
#define GPUFL_CAPTURE_THREADS_EXITS_H

#include <stdbool.h>

/* Lists the stages after which other exit handlers may have been installed. */
enum exit_stage {
    EXITS_STARTED,  /* no vendor library has installed one yet */
    EXITS_TRACING,  /* by the vendor's libraries, as they were loaded */
    EXITS_RECORDED, /* by the driver, as it was initialized */
    EXITS_ENGINES, /* by the libraries of an engine, as it began: a stage for each enum engine_bit */
    EXITS_STAGES = EXITS_ENGINES + 8
};

/* This is called once in a process, before the first session. `end` ends the session at exit;
 * `leave` runs as the process's first thread ends, and returns whether a session is still running.
 * 0 or GPUFL_E_NOMEM. [owner] */
int exits_begin(void (*end)(void), bool (*leave)(void));

/* Installs our handler after all that are installed so far; once for each stage of the process,
 * because handlers cannot be removed and there may be many sessions. 0 or GPUFL_E_NOMEM. [any] */
int exits_first(enum exit_stage stage);

/* Watches the end of the calling thread, if it is the process's first one, whose return from main
 * is the usual exit. At its end, before any exit handler runs, `leave` waits until the collector
 * has finished its work in the vendor's libraries, and our handler is installed once more.
 * Handlers that those libraries install while they work (an engine that begins takes 0.3 s) would
 * otherwise run before the collector has finished. If the C library has no such destructors, or if
 * another thread calls exit, handlers run in the usual order. [any] */
void exits_watch_thread(void);

#endif
