/* fork.h - a child of fork: its session is silent, as if there had never been one, and a later
 * init starts a session of the child's own. */
#ifndef GPUFL_CAPTURE_SESSION_FORK_H
#define GPUFL_CAPTURE_SESSION_FORK_H

/* Installs the fork handler, once a process. 0 or GPUFL_E_NOMEM. [owner] */
int fork_watch(void);

#endif
