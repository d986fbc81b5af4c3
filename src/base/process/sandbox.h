/* sandbox.h - a process of ours gives up what it will not need, before it runs somebody else's words.
 *
 * For a child that was started for one task. Nothing here can be taken back. Linux; each step
 * fails rather than leaving the process freer than its caller thinks. */
#ifndef GPUFL_BASE_PROCESS_SANDBOX_H
#define GPUFL_BASE_PROCESS_SANDBOX_H

#include <stdint.h>

struct cage_limits {
    int64_t memory; /* bytes of address space beyond what is mapped now; 0: none */
    int64_t cpu;    /* seconds of CPU time; then the process is killed */
    int files;      /* descriptors */
};

/* Closes every descriptor from `first` on. */
int cage_close_from(unsigned first);

/* Limits, no core files, no file that grows, no new privileges; dies with its parent. */
int cage_limit(const struct cage_limits *l);

/* For whoever opens files that another process has open: record locks are granted without being taken
 * (who started the process holds the files still meanwhile, and has them locked itself), and names
 * stay as they are given, because nothing tells where a link leads. Needs cage_limit. */
int cage_keep_names(void);

/* Of a root process: becomes nobody. */
int cage_drop_user(void);

/* From here on the process computes, reads and writes descriptors that it has, asks for memory and
 * ends; every other system call fails with EPERM: no file is opened, no program or thread is
 * started, no socket made. Needs cage_limit. */
int cage_shut(void);

#endif
