/* fork.h - the ends of a process that are not gpufl_shutdown.
 *
 * exit: an atexit handler ends the session, with a deadline. fork: the child's
 * session is silent, as if there had never been one, and a later init starts its
 * own. _exit and SIGKILL: nothing runs; what was flushed is on disk. */
#ifndef GPUFL_CAPTURE_FORK_H
#define GPUFL_CAPTURE_FORK_H

/* Installs both handlers, once a process. 0 or GPUFL_E_NOMEM. [owner] */
int fork_watch(void);

#endif
