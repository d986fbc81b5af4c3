/* rundir.h - holds the folder in which traced programs find the monitor, and whose lock prevents a
 * second monitor.
 *
 * The roles of the host and of each GPU are there (monitor/roles.h), readable by all users: a
 * program that finds them taken uses the samples of the session that they name. [sampling thread;
 * open and close on main, before and after it] */
#ifndef GPUFL_MONITORD_RUNDIR_H
#define GPUFL_MONITORD_RUNDIR_H

#include "base/err.h"
#include "monitor/roles.h"
#include "monitord/gpus.h"

#include <limits.h>

struct rundir {
    char path[PATH_MAX];
    int lock; /* descriptor of the lock file; -1: none */
    struct roles *roles;
    int roled;           /* GPUs that have a role, in the order of the table */
    uint64_t generation; /* of the session that the roles name */
    char uuids[GPUS_MOST][96];
};

/* Finds, makes and locks the folder. option: value of --run-dir, or NULL. A code with a sentence;
 * GPUFL_E_BUSY: another monitor runs. */
int rundir_open(struct rundir *r, const char *option, struct err *e);

/* Adds to the sentence about a folder that cannot be made the option that names another folder.
 * Returns code.
 */
int rundir_advise(int code, const char *option, struct err *e);

/* Takes and keeps the roles, in each round; takes them again when the session or the GPUs
 * change. */
void rundir_step(struct rundir *r, const struct gpus *g, uint64_t generation,
                 const struct role_holder *self, int64_t now);

void rundir_close(struct rundir *r);

/* Closes, and removes the folder if it contains nothing but the lock. */
void rundir_remove(struct rundir *r);

#endif
