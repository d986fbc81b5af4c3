/* sandbox.h - a child process gives up rights before it runs foreign input, such as SQL.
 *
 * The child was started for one task. No step can be undone. Each step fails rather than leaving
 * the process with more rights than its caller expects. Linux only. */
#ifndef GPUFL_BASE_PROCESS_SANDBOX_H
#define GPUFL_BASE_PROCESS_SANDBOX_H

#include <stdint.h>

struct sandbox_limits {
    int64_t memory; /* bytes of address space beyond what is mapped now; 0: no limit */
    int64_t cpu;    /* seconds of CPU time; then the process is killed */
    int files;      /* descriptors */
};

/* Closes every descriptor from `first` on. */
int sandbox_close_from(unsigned first);

/* Sets the limits and forbids core files, writes that make a file grow, and new privileges. The
 * process then ends with its parent. */
int sandbox_limit(const struct sandbox_limits *l);

/* Prepares opening files that the parent has open and locked, and leaves unchanged meanwhile. Calls
 * that take a record lock succeed without taking one, and readlink fails, so that names stay as
 * they are given. Needs sandbox_limit. */
int sandbox_keep_names(void);

/* Changes the user to nobody if the process runs as root. */
int sandbox_drop_user(void);

/* From here on the process can compute, read and write the descriptors that it has, allocate
 * memory and exit. Every other system call fails with EPERM: no file is opened, no program or
 * thread is started, no socket is made. Needs sandbox_limit. */
int sandbox_enter(void);

#endif
