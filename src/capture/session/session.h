/* session.h - one capture of this process: its start, its end, and who may ask for them.
 *
 * One lock serializes start, stop and what else needs the session to stay; hot
 * paths never take it. A session that `gpufl trace` started ends with the
 * program, once: gpufl_shutdown only writes out what there is. */
#ifndef GPUFL_CAPTURE_SESSION_SESSION_H
#define GPUFL_CAPTURE_SESSION_SESSION_H

#include <gpufl/gpufl.h>

#include <stdbool.h>

/* injected: from InitializeInjection, inside cuInit. Results as gpufl_init's. [any] */
int session_start(const struct gpufl_options *code, bool injected);

/* [any] */
void session_shutdown(void);

/* At the program's end: waits while the collector gets on, ten seconds at most, and two where
 * it does not. */
void session_exit(void);

/* The calling thread ends, and perhaps the process: reads what the thread has counted, and waits
 * until the collector has finished what it is doing, as long as session_exit would. True: a
 * session is still running. [any] */
bool session_leave(void);

/* Writes out what is recorded so far; GPUFL_E_TIMEOUT. [any] */
int session_flush(void);

bool session_active(void);     /* [any] */
const char *session_id(void);  /* "" before the first */
const char *session_dir(void); /* absolute; "" before the first */
/* Capture is switched off: GPUFL_DISABLED, or enabled=false in code, the environment or the config
 * file. [any] */
bool session_switched_off(void);

int session_floor(bool on); /* gpufl_bench_floor */
int session_idle(bool on);  /* gpufl_bench_idle */
void session_forget(void);  /* in a forked child: everything is as before the first init */

#endif
