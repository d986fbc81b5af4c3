/* copy.h - copies sessions from one store to another, also between engines: for backups of columns
 * in a server, and their restore.
 *
 * A session is copied as one of its commits left it; the target store makes the sums of its rows
 * again. The positions come with the last commit: an interrupted copy has none, and is made again.
 * [the caller's thread; one writer for each session] */
#ifndef GPUFL_STORE_COPY_H
#define GPUFL_STORE_COPY_H

#include "store/store.h"

struct store_end {
    const struct store_ops *ops;
    struct store *store;
};

struct store_copied {
    int64_t sessions, rows; /* copied; rows of records */
    int64_t there;          /* sessions that the target had already */
};

/* Copies a workspace: all its sessions and its history. GPUFL_E_STATE: the target has a session
 * with that id and other content. Adds to *count. */
int store_copy_workspace(const struct store_end *from, const struct store_end *to,
                         const char *workspace, struct store_copied *count, struct err *e);

/* Writes a record of a session as Parquet, with a temporary DuckDB store in folder, which must be
 * empty or absent and is removed afterwards. */
int store_copy_parquet(const struct store_ops *ops, struct store_session *ss, enum record_type type,
                       const char *folder, const char *path, struct err *e);

#endif
