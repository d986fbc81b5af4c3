/* copy.h - copies sessions from one store to another, whatever their engines: backups of columns
 * in a server, and their restore.
 *
 * A session is copied as one commit of it left it; sums of its rows are made again by the store
 * that gets them. Its positions come with the last commit: a copy that was interrupted has none,
 * and is made again. [the caller's thread; one writer a session, as ever] */
#ifndef GPUFL_STORE_COPY_H
#define GPUFL_STORE_COPY_H

#include "store/store.h"

struct store_end {
    const struct store_ops *ops;
    struct store *store;
};

struct store_copied {
    int64_t sessions, rows; /* rows: of records */
    int64_t there;          /* sessions that the target had already */
};

/* Copies a workspace: all its sessions and its history. STATE: the target has a session of that id
 * with another content. Adds to *count. */
int store_copy_workspace(const struct store_end *from, const struct store_end *to,
                         const char *workspace, struct store_copied *count, struct err *e);

/* A record of a session as Parquet by way of a store of files below folder, which is empty or not
 * there and is gone afterwards. */
int store_copy_parquet(const struct store_ops *ops, struct store_session *ss, enum record_type type,
                       const char *folder, const char *path, struct err *e);

#endif
