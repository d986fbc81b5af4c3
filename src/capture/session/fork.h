/* fork.h - the ends of a process that are not gpufl_shutdown.
 *
 * exit and quick_exit: a handler ends the session, with a deadline. fork: the child's
 * session is silent, as if there had never been one, and a later init starts its
 * own. _exit and SIGKILL: nothing runs; what was flushed is on disk. */
#ifndef GPUFL_CAPTURE_SESSION_FORK_H
#define GPUFL_CAPTURE_SESSION_FORK_H

/* Installs the fork handler, once a process. 0 or GPUFL_E_NOMEM. [owner] */
int fork_watch(void);

/* What may have installed exit handlers of its own. */
enum fork_stage {
    FORK_STARTED,  /* nobody yet */
    FORK_TRACING,  /* the vendor's libraries, when they were loaded */
    FORK_RECORDED, /* the driver, when it came up */
    FORK_ENGINES,  /* the libraries of an engine, when it began: a stage for each enum engine_bit */
    FORK_STAGES = FORK_ENGINES + 8
};

/* Puts our exit handler before all that are installed so far: handlers run last in,
 * first out, and ours must find the vendor's libraries whole. Once for each stage of
 * the process: handlers cannot be taken back, and sessions may be many.
 * 0 or GPUFL_E_NOMEM. [any] */
int fork_exit_first(enum fork_stage stage);

/* Of the calling thread, if it is the process's first, whose return from main is the usual exit: at its
 * end, before any exit handler runs, waits until the collector is through what it does in the
 * vendor's libraries, and puts our handler in front. What those install while they work (an engine
 * that begins takes 0.3 s) would otherwise run below the collector. Where threads have no such
 * destructors, and where another thread calls exit, handlers run as they were installed. [any] */
void fork_watch_thread(void);

#endif
