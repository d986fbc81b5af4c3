/* owner.h - finds what a process on a GPU belongs to: program, user, container, pod, job and
 * session of gpufl, from /proc.
 *
 * Control groups of both versions name the container, the pod's UID and the Slurm job; the
 * process's environment names the pod and the job, if this user may read it. Unknown fields are
 * empty. The functions have no state. Called by any thread. */
#ifndef GPUFL_MONITORD_OWNER_H
#define GPUFL_MONITORD_OWNER_H

#include "monitor/traced.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_POD_NAME = 320 }; /* a namespace of 63 letters, a name of 253 */

struct owner {
    int64_t start;                 /* ns on CLOCK_BOOTTIME; CELL_NULL: unknown */
    int64_t uid;                   /* CELL_NULL: unknown */
    char name[64];                 /* comm */
    char container[72];            /* hexadecimal id */
    char pod[40];                  /* UID, with '-' */
    char pod_name[OWNER_POD_NAME]; /* namespace/name */
    char job[24];                  /* Slurm job id */
    char session[TRACED_SESSION];  /* in which gpufl traces it */
};

/* Reads who owns a process. proc: "/proc", or a folder like it. False: the process cannot be read,
 * or is gone; o is empty then. */
bool owner_read(struct owner *o, const char *proc, int64_t pid);

/* Returns when the process started; CELL_NULL: gone or unknown. */
int64_t owner_start(const char *proc, int64_t pid);

/* Adds what the text of a file /proc/PID/cgroup names. */
void owner_cgroup(struct owner *o, const char *text);

/* Adds what an environment names: strings with NUL between them. */
void owner_environment(struct owner *o, const char *text, size_t len);

#endif
