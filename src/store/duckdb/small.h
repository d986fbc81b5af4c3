/* small.h - handles sessions without a separate file.
 *
 * A session begins small: its commits go to its workspace's pack (pack.h), and DuckDB has nothing
 * of it. A reader gets an image of its records (image.h), which scans read, and which is shown to
 * the statements of a question (shown.h). A transaction that makes the session larger than the
 * store's small_most gives it a file: all of its rows and those of the transaction go there, and
 * with the commit the session leaves the pack. Until that commit the pack counts, so what a crash
 * leaves of such a file is removed.
 *
 * Lock order: the session's write_lock; small.lock. */
#ifndef GPUFL_STORE_DUCKDB_SMALL_H
#define GPUFL_STORE_DUCKDB_SMALL_H

#include "store/append.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/pack/image.h"
#include "store/duckdb/pack/pack.h"

/* Holds the rows of a session's first records. They do not change while a reader holds the
 * image. */
struct small_image {
    struct image rows; /* first */
    size_t records;
    uint64_t since;   /* of packed_state, when read */
    unsigned holders; /* guarded by small.lock */
};

struct small {
    pthread_mutex_t lock;      /* not held while a reader works, which may take long */
    struct small_image *image; /* owned: the newest; guarded by lock */

    struct append append;          /* [the session's writer], like all below */
    struct image pending;          /* of the transaction */
    bool begun;                    /* a transaction is open */
    int64_t contents;              /* bytes in memory of earlier commits */
    struct store_session *growing; /* the file that the transaction writes; NULL: none */

    /* Owned: the session's file, as a session, after it has grown. NULL: the session is small. */
    struct store_session *_Atomic grown;
};

/* Makes a session small. Call before it is in the list. */
int small_open(struct store_session *ss, struct err *e);
void small_close(struct store_session *ss); /* detaches its file */
void small_free(struct store_session *ss);

/* Returns the session of its file; NULL: the session is small. */
struct store_session *small_file(struct store_session *ss);

/* Holds an up-to-date image, which does not change until small_release_image. *out is NULL, and
 * nothing is held, if the session has got a file meanwhile; it then keeps the file as long as it is
 * open. */
int small_hold_image(struct store_session *ss, const struct image **out, struct err *e);
void small_release_image(struct store_session *ss, const struct image *image);

/* This is a session that statements read: from its file, or from a shown image. */
struct small_reading {
    struct store_session *session;
    struct store_session *file; /* NULL: its image is shown */
    const struct image *image;
    struct shown shown;
};

/* Makes a session's present rows readable for the caller's statements, until small_read_end. */
int small_read_begin(struct store_session *ss, struct small_reading *r, struct err *e);
void small_read_end(struct small_reading *r);

/* Puts what follows FROM for a table of the session. */
void small_read_table(struct buf *b, const struct small_reading *r, unsigned table);

/* Writes all rows to a separate file at path. */
int small_copy(struct store_session *ss, const char *path, struct err *e);

/* ---- operations of struct store_ops, for sessions of either kind ----------------------------- */

int small_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                    struct err *e);
int small_begin(struct store_session *ss, struct err *e);
int small_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                 struct err *e);
void small_rollback(struct store_session *ss);
int small_settle(struct store_session *ss, struct err *e);

/* ---- small_read.c ---------------------------------------------------------------------------- */

/* Appends an image's rows to a session's tables, in its open transaction. */
int small_put_image(struct store_session *to, const struct image *m, struct err *e);

#endif
