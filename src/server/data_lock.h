/* data_lock.h - takes a lock that lets one process at a time use a data folder.
 *
 * Two servers on one folder would load each other's journal and overwrite each other's tables.
 * Every command that opens the folder (serve, check, migrate, restore) holds a lock on the file
 * DATA/lock, which the system releases when the process ends: a killed server leaves nothing to
 * clean up. */
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

/* This is the folder in DATA in which a restore collects its files. While this folder exists, DATA
 * has only a part of a backup, and every command except restore refuses DATA. */
#define DATA_LOCK_RESTORE "restore.part"

/* Locks an existing folder. GPUFL_E_BUSY: another process has the lock; *e says which.
 * GPUFL_E_STATE: a restore into the folder was not finished. */
int data_lock_take(struct data_lock *l, const char *data, struct err *e);
/* Does what data_lock_take does, but without GPUFL_E_STATE. */
int data_lock_take_restore(struct data_lock *l, const char *data, struct err *e);
void data_lock_drop(struct data_lock *l); /* no error if the lock is not held */

#endif
