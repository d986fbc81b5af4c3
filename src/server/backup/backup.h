/* backup.h - a backup of a running server's data (POST /api/v1/backups).
 *
 * Everything that was acknowledged before is loaded first; then the small tables, the frames that
 * are kept for senders, and the columns are copied, columns always as files. The result is a data
 * folder: offline.h restores it by copying it to where a new server finds it. */
#ifndef GPUFL_SERVER_BACKUP_BACKUP_H
#define GPUFL_SERVER_BACKUP_BACKUP_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/loader.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct backup_source {
    const char *data; /* the data folder */
    struct meta *meta;
    const struct store_ops *ops;
    struct store *store;
    struct loader *loader; /* drained first */
};

/* Makes backups/<name> below the data folder, which is complete once it has that name. name gets
 * the name, *bytes the size. STATE: there is one of this second. [worker; one at a time] */
int backup_make(const struct backup_source *s, char *name, size_t size, int64_t *bytes,
                struct err *e);

/* Removes what a killed process left of exports and backups. Nobody else uses the folder. */
void backup_clean(const char *data);

#endif
