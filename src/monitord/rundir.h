/* rundir.h - the folder by which traced programs find the monitor, and which keeps a second
 * monitor away.
 *
 * The roles of the host and of each GPU lie there (monitor/roles.h), readable by all users: who
 * finds them held takes the samples of the session that they name. [sampling thread, open and close
 * on main before and after it] */
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

/* Finds, makes and locks the folder. option: of --run-dir, or NULL. GPUFL_E_BUSY: another monitor
 * runs, with a sentence. */
int rundir_open(struct rundir *r, const char *option, struct err *e);

/* Adds to the sentence about a folder that cannot be made which option names another. Returns code.
 */
int rundir_advise(int code, const char *option, struct err *e);

/* Takes and keeps the roles, each round; anew where the session or the GPUs are others. */
void rundir_step(struct rundir *r, const struct gpus *g, uint64_t generation,
                 const struct role_holder *self, int64_t now);

void rundir_close(struct rundir *r);

/* Closes, and takes the folder away where nothing but the lock is left in it. */
void rundir_remove(struct rundir *r);

#endif
