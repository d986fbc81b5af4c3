/* cupti_users.h - the program's own use of CUPTI, seen before it begins.
 *
 * CUPTI has one subscriber, and one owner of its buffers: a program that uses CUPTI itself and
 * gpufl would take records from each other, or get none, without an error. The program comes
 * first (ADR 18). Two signs show that it uses CUPTI:
 *   - its executable needs libcupti: it was built to use CUPTI;
 *   - it calls a function by which every use of CUPTI begins (the table is in the .c file), from
 *     any of its libraries. Such calls are led through functions of ours (base/process/plt.h),
 *     also those that a library finds with dlsym.
 * A library that only links or loads libcupti (PyTorch, XLA, Triton) is no sign.
 *
 * Limits: a library that is loaded while the program runs is led from the collector's next round
 * on; a CUPTI that is linked statically is not seen. In both cases CUPTI refuses the later one. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_USERS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the program's executable needs libcupti, by the name that goes to out. [any] */
bool cupti_users_linked(char *out, size_t size);

/* Leads the beginning calls of all libraries that are loaded. When the program makes one of them
 * for the first time, begins(function) runs on its thread before the call goes on; it runs once a
 * process, and other threads that call meanwhile wait for its end. [owner] */
void cupti_users_watch(void (*begins)(const char *function));

/* Leads the calls of libraries that have come since. [collector] */
void cupti_users_watch_new(void);

/* The program has made such a call. [any] */
bool cupti_users_began(void);

#endif
