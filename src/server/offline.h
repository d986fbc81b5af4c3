/* offline.h - the commands that need no running server, and refuse one: restore, check, migrate.
 *
 * Each locks the data folder first. Results go to stdout. */
#ifndef GPUFL_SERVER_OFFLINE_H
#define GPUFL_SERVER_OFFLINE_H

#include "base/err.h"
#include "server/options.h"

/* Copies a backup (backup.h) to a data folder that does not exist yet, or is empty; its columns to
 * the ClickHouse server that the options name, if they do. A restore that was interrupted is run
 * again with a new folder, and passes over sessions that the server has. */
int offline_restore(const char *from, const struct options *o, struct err *e);

/* Opens everything below the data folder and prints what is damaged. CORRUPT: something is. */
int offline_check(const struct options *o, struct err *e);

/* Brings the small tables up to date; columns follow when they are opened. */
int offline_migrate(const struct options *o, struct err *e);

#endif
