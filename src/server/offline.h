/* offline.h - the commands that need no running server: restore, check, migrate, aside.
 *
 * Each locks the data folder first, and so refuses a running server, except for the list of what is
 * set aside. Results go to stdout. */
#ifndef GPUFL_SERVER_OFFLINE_H
#define GPUFL_SERVER_OFFLINE_H

#include "base/err.h"
#include "server/options.h"

/* Copies a backup (backup.h) to a data folder that does not exist yet, or is empty; its columns to
 * the ClickHouse server that the options name, if they do. The folder counts as a data folder once
 * everything is there. A restore that was interrupted is run again, and passes over sessions that
 * the ClickHouse server has. */
int offline_restore(const char *from, const struct options *o, struct err *e);

/* Opens everything below the data folder, compares the small tables with it, and prints what is
 * damaged or lost. CORRUPT: something is; NOMEM: something could not be checked. */
int offline_check(const struct options *o, struct err *e);

/* Brings the small tables up to date; columns follow when they are opened. */
int offline_migrate(const struct options *o, struct err *e);

/* Lists the sessions of which frames are set aside (intake/aside.h); loads them. CORRUPT: some
 * cannot be loaded, and stay. */
int offline_aside_list(const struct options *o, struct err *e);
int offline_aside_load(const struct options *o, struct err *e);

#endif
