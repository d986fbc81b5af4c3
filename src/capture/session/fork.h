/* fork.h - a forked child has no session: nothing of the parent's is recorded in it, and a later
 * init starts a session of its own. */
#ifndef GPUFL_CAPTURE_SESSION_FORK_H
#define GPUFL_CAPTURE_SESSION_FORK_H

/* Installs the fork handler, once per process. 0 or GPUFL_E_NOMEM. [owner] */
int fork_watch(void);

#endif
