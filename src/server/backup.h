/* backup.h - looking after what a server keeps: backups, restoring them, checks.
 *
 * A backup is made through the running server (POST /api/v1/backups): everything that
 * was acknowledged before it is loaded first, then the small tables are copied, what
 * is kept for senders, and the columns, as files wherever they stand. It is a data folder:
 * restoring is copying it to where a new server finds it. */
#ifndef GPUFL_SERVER_BACKUP_H
#define GPUFL_SERVER_BACKUP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct options;
struct server;

/* Below the data folder: backups/<name>, complete when it is there. [worker; one at a time] */
int upkeep_backup(struct server *s, char *name, size_t size, int64_t *bytes, struct err *e);

/* Removes what a killed process left of exports and backups. Nobody else works on the folder. */
void upkeep_clean(const char *data);

/* Copies a backup to a data folder that is not there yet, or empty; its columns to the server that is
 * to have them, where the options name one. Done again after it was broken off (to a
 * new folder), it passes over the sessions that are there. */
int upkeep_restore(const char *from, const struct options *o, struct err *e);

/* Opens everything below the data folder and says what is damaged, on stdout. No server may be
 * running on it. CORRUPT: something is. */
int upkeep_check(const struct options *o, struct err *e);

/* Brings the small tables up to date; columns follow when they are opened. */
int upkeep_migrate(const struct options *o, struct err *e);

#endif
