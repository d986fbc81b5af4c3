/* backup.h - makes a backup of a running server's data (POST /api/v1/backups).
 *
 * First, everything acknowledged so far is loaded. Then the small tables, the frames that are kept
 * for decoders, and the columns are copied, columns always as files. The result is a data folder,
 * which offline.h restores by copying it. */
#ifndef GPUFL_SERVER_BACKUP_BACKUP_H
#define GPUFL_SERVER_BACKUP_BACKUP_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/loader/loader.h"
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

/* Makes backups/<name> below the data folder, which gets that name when it is complete. name gets
 * the name, *bytes the size. GPUFL_E_STATE: there is a backup of this second already. [worker; one
 * at a time] */
int backup_make(const struct backup_source *s, char *name, size_t size, int64_t *bytes,
                struct err *e);

/* Removes what a killed process left of exports and backups. No other process may use the
 * folder. */
void backup_clean(const char *data);

#endif
