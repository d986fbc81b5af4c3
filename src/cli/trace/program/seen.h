/* seen.h - says what `gpufl trace` observes of the program from outside: whether any process opened
 * a GPU driver's library or the capture library while the program ran, and in which environment and
 * under which limits.
 *
 * If a program leaves no session, either it has not used the GPU or gpufl's environment did not
 * reach it; only these observations distinguish the two. The files are watched (inotify), which
 * costs the program nothing; a file of another mount namespace is not noticed. When one is opened,
 * /proc of the program and of its descendants is read at once. inotify does not say which process
 * opened a file: only the file among the program's mappings proves that it was the program. Called
 * by one thread only. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_SEEN_H
#define GPUFL_CLI_TRACE_PROGRAM_SEEN_H

#include "backend/vendor.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SEEN_DRIVERS = 16 };

struct seen {
    int fd;      /* inotify; -1: nothing is watched */
    int library; /* watch of libgpufl.so; -1: none */
    /* Watches of files with the name of a vendor's driver (vendor.h). */
    int drivers[SEEN_DRIVERS];
    unsigned driver_count;       /* of them */
    char driver[PATH_MAX];       /* the first of them */
    const struct vendor *vendor; /* its vendor; NULL: none is watched */
    unsigned looks;              /* times that the processes were examined */
    bool library_opened;         /* by any process of this host */
    bool driver_opened;          /* by any process of this host */
    /* The program, or a descendant, had mapped the driver when examined. */
    bool driver_mapped;
    bool environment_lost; /* the program, or a descendant, ran without gpufl's variables */
    int64_t memory_limit;  /* bytes: their smallest RLIMIT_AS; 0: none */
    char name[64];         /* of a process without the variables */
};

void seen_open(struct seen *s, const char *library);
void seen_close(struct seen *s);

/* Takes the events since the last call; child: the program, 0: it is not running. */
void seen_take(struct seen *s, pid_t child);

/* Returns true if it is known that no process opened the driver. */
bool seen_no_driver(const struct seen *s);

#endif
