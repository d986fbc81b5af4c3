/* offline.h - has the commands that need no running server: restore, check, migrate, aside.
 *
 * Each command locks the data folder first, and so fails while a server runs, except the list of
 * what is set aside. Results go to stdout. */
#ifndef GPUFL_SERVER_OFFLINE_H
#define GPUFL_SERVER_OFFLINE_H

#include "base/err.h"
#include "server/options.h"

/* Copies a backup (backup.h) to a data folder that does not exist or is empty; its columns go to
 * the ClickHouse server, if the options name one. The folder can be used once everything is there.
 * An interrupted restore can be run again, and skips sessions that the ClickHouse server has. */
int offline_restore(const char *from, const struct options *o, struct err *e);

/* Opens everything below the data folder, compares it with the small tables, and prints what is
 * damaged or lost. GPUFL_E_CORRUPT: something is; GPUFL_E_NOMEM: something could not be checked. */
int offline_check(const struct options *o, struct err *e);

/* Brings the small tables up to date; columns are updated when they are opened. */
int offline_migrate(const struct options *o, struct err *e);

/* The functions list the sessions with frames that are set aside (intake/aside.h), and load these
 * frames. GPUFL_E_CORRUPT: some cannot be loaded, and stay. */
int offline_aside_list(const struct options *o, struct err *e);
int offline_aside_load(const struct options *o, struct err *e);

#endif
