/* fd_thread.h - work on files where a foreign program cannot reach their descriptors.
 *
 * Descriptors belong to the process: a host program that closes all it finds, as daemons do, closes
 * ours, and gets their numbers for files of its own; one of its threads may do so between any two
 * instructions of ours. No look at a descriptor before it is used can rule out that our bytes go into a
 * file of the program's. So files are opened, written and closed on a thread with a descriptor table
 * of its own, which holds nothing of the program's either: its pipes end when it closes them.
 *
 * Not for what calls a vendor's library: that has descriptors of its own among the program's. */
#ifndef GPUFL_BASE_PROCESS_FD_THREAD_H
#define GPUFL_BASE_PROCESS_FD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define ASIDE_THREAD "gpufl-files" /* its name */

/* Starts the thread; false where the system refuses (before Linux 5.9 without unshare(2), a
 * sandbox) or under ThreadSanitizer, which knows descriptors by their numbers. Between begin and
 * end the table stays what it is. [owner] */
bool aside_begin(void);
void aside_end(void);

/* Runs fn(arg) on it and waits for that; without it, here. Descriptors that fn keeps are to be used
 * inside such calls only. One at a time. [any] */
void aside_run(void (*fn)(void *arg), void *arg);

/* CPU time of the thread since it began, ns; 0: there is none. [any] */
int64_t aside_cpu_ns(void);

/* Gives the calling thread a descriptor table of its own, with nothing in it but that 0 to 2 cannot be
 * written to, so that no message ends up in a file. For threads of ours that do nothing else than read
 * and write files; false as above. */
bool aside_own_table(void);

/* In a forked child, which has neither the thread nor its files. */
void aside_forget(void);

#endif
