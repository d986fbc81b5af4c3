/* seen.h - what `gpufl trace` sees of the program from outside: whether any process opened
 * the CUDA driver's library or the capture library while the program ran, and in which environment
 * and under which limits that happened.
 *
 * A program that leaves no session has not used the GPU, or was not reached by gpufl's
 * environment: only what is seen here distinguishes the two. The files are watched (inotify), which
 * costs the program nothing; a file of another mount namespace is not seen. When one is opened,
 * /proc of the program and of its descendants is read at once. inotify does not say who opened a
 * file: that it was the program is known only where the file is among its mappings. One thread. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_SEEN_H
#define GPUFL_CLI_TRACE_PROGRAM_SEEN_H

#include "backend/vendor.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SEEN_DRIVERS = 16 };

struct seen {
    int fd;                      /* inotify; -1: nothing is watched */
    int library;                 /* watch of libgpufl.so; -1: none */
    int drivers[SEEN_DRIVERS];   /* watches of files called as a vendor's driver (vendor.h) */
    unsigned driver_count;       /* of them */
    char driver[PATH_MAX];       /* the first of them */
    const struct vendor *vendor; /* whose that is; NULL: none is watched */
    unsigned looks;              /* at the processes */
    bool library_opened;         /* by any process of this host */
    bool driver_opened;          /* by any process of this host */
    bool driver_mapped;          /* the program, or a descendant, had the driver when looked at */
    bool environment_lost;       /* the program, or a descendant, ran without gpufl's variables */
    int64_t memory_limit;        /* bytes: their smallest RLIMIT_AS; 0: none was seen */
    char name[64];               /* of a process without the variables */
};

void seen_open(struct seen *s, const char *library);
void seen_close(struct seen *s);

/* Takes what has happened; child: the program, 0: it is not running. */
void seen_take(struct seen *s, pid_t child);

/* True where it is known that no process opened the driver. */
bool seen_no_driver(const struct seen *s);

#endif
