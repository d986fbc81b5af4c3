/* cupti_users.h - notices the program's own use of CUPTI before it begins.
 *
 * CUPTI has one subscriber, and one owner of its buffers: a program that uses CUPTI itself and
 * gpufl would take records from each other, or get none, without an error. The program comes
 * first (ADR 18). Two signs show that it uses CUPTI:
 *   - its executable needs libcupti: it was built to use CUPTI;
 *   - one of its libraries calls a function with which every use of CUPTI begins (the table is in
 *     the .c file). Such calls are redirected to functions of ours (base/process/plt.h),
 *     also those that a library finds with dlsym.
 * A library that only links or loads libcupti (PyTorch, XLA, Triton) is no sign.
 *
 * Limits: calls of a library that is loaded while the program runs are redirected from the
 * collector's next round on; a statically linked CUPTI is not noticed. In both cases CUPTI refuses
 * the later subscriber. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_USERS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the program's executable needs libcupti; the library's name goes to out. [any] */
bool cupti_users_linked(char *out, size_t size);

/* Redirects these calls of all libraries that are loaded. When the program makes such a call for
 * the first time, begins(function) runs on its thread before the call goes on. It runs once in a
 * process, and other threads that make such a call meanwhile wait for its end. [owner] */
void cupti_users_watch(void (*begins)(const char *function));

/* Redirects the calls of libraries that were loaded since. [collector] */
void cupti_users_watch_new(void);

/* Returns true if the program has made such a call. [any] */
bool cupti_users_began(void);

#endif
