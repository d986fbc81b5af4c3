/* session.h - handles the start and end of a capture of this process.
 *
 * One lock serializes start, stop and other calls during which the session must not
 * end; hot paths never take it. A session that `gpufl trace` started ends only with the
 * program: gpufl_shutdown just writes out what is recorded. */
#ifndef GPUFL_CAPTURE_SESSION_SESSION_H
#define GPUFL_CAPTURE_SESSION_SESSION_H

#include <gpufl/gpufl.h>

#include <stdbool.h>

/* Starts a session. injected: called by InitializeInjection, inside cuInit. Returns what gpufl_init
 * returns. [any] */
int session_start(const struct gpufl_options *code, bool injected);

/* Does what gpufl_shutdown does. [any] */
void session_shutdown(void);

/* Ends the session at the program's end. Waits at most thirty seconds while the collector makes
 * progress, and two seconds without progress. */
void session_exit(void);

/* This is called when the calling thread ends, and perhaps the process. Reads what the thread has
 * counted, and waits until the collector has finished its present work, as long as session_exit
 * would. True: a session is still running. [any] */
bool session_leave(void);

/* Writes out what is recorded so far; GPUFL_E_TIMEOUT. [any] */
int session_flush(void);

bool session_active(void);     /* [any] */
const char *session_id(void);  /* "" before the first */
const char *session_dir(void); /* absolute; "" before the first */
/* Returns true if capture is switched off: GPUFL_DISABLED, or enabled=false in code, the
 * environment or the config file. [any] */
bool session_switched_off(void);

int session_floor(bool on); /* gpufl_bench_floor */
int session_idle(bool on);  /* gpufl_bench_idle */
void session_forget(void);  /* in a forked child: everything is as before the first init */

#endif
