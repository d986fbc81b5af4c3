/* data_lock.h - a lock that lets one process at a time use a data folder.
 *
 * Two servers on one folder would each hand out the journal of both, and write over each other's
 * tables. Every command that opens the folder (serve, check, migrate, restore) holds DATA/lock,
 * a file that is locked as long as its owner lives: a killed server leaves nothing to clean up. */
#ifndef GPUFL_SERVER_DATA_LOCK_H
#define GPUFL_SERVER_DATA_LOCK_H

#include "base/err.h"

struct data_lock {
    int fd; /* owned; -1: not held */
};

#define DATA_LOCK_INIT                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* The folder of DATA in which a restore gathers its files. While the folder exists, DATA holds a
 * part of a backup only, and every command except restore refuses DATA. */
#define DATA_LOCK_RESTORE "restore.part"

/* The folder must be there. BUSY: another process holds it, and *e says which. STATE: a restore
 * into the folder was not finished. */
int data_lock_take(struct data_lock *l, const char *data, struct err *e);
int data_lock_take_restore(struct data_lock *l, const char *data, struct err *e); /* no STATE */
void data_lock_drop(struct data_lock *l); /* also of one that is not held */

#endif
