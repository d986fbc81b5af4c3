/* fd_thread.h - a thread with its own descriptor table, for work on files inside a foreign program.
 *
 * Why: descriptors belong to the process. A program that closes every descriptor it finds, as
 * daemons do, closes ours, and then gets their numbers for its own files; one of its threads may
 * do so between any two of our instructions. A check before each use cannot rule out that our
 * bytes go into a file of the program. So our files are opened, written and closed on a thread
 * whose descriptor table is its own. That table holds none of the program's descriptors, so a pipe
 * still ends when the program closes it.
 *
 * Limits: a vendor's library must not be called here, because its descriptors are in the program's
 * table. */
#ifndef GPUFL_BASE_PROCESS_FD_THREAD_H
#define GPUFL_BASE_PROCESS_FD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define FD_THREAD_NAME "gpufl-files" /* its name */

/* Starts the thread; false if the system refuses (before Linux 5.9 without unshare(2), a
 * sandbox) or under ThreadSanitizer, which identifies descriptors by number. The table lives from
 * start to stop. [owner] */
bool fd_thread_start(void);
void fd_thread_stop(void);

/* Runs fn(arg) on the thread and waits; if there is no thread, runs it on the caller's.
 * Descriptors that fn keeps are valid inside such calls only. Calls run one at a time. [any] */
void fd_thread_run(void (*fn)(void *arg), void *arg);

/* Returns the CPU time of the thread since its start, ns; 0: there is no thread. [any] */
int64_t fd_thread_cpu_ns(void);

/* Gives the calling thread a descriptor table of its own. The table is empty, except that 0 to 2
 * are open and refuse writes, so that no message ends up in a file. Use it on threads of ours that
 * only read and write files; false as for fd_thread_start. */
bool fd_thread_own_table(void);

/* Returns the thread's kernel id; 0: there is none. [any] */
int32_t fd_thread_id(void);

/* Resets the state in a forked child, which has neither the thread nor its files. */
void fd_thread_forget(void);

#endif
