/* small.h - sessions that have no file of their own.
 *
 * A session begins small: its commits go to its workspace's pack (pack.h), DuckDB has nothing of
 * it. Whoever reads it gets an image of its records (image.h), which scans read, and which is shown
 * to the statements of a question (shown.h). A transaction that makes the session larger than the
 * store's small_most gives it a file: all of its rows and those of the transaction go there, and
 * with its commit the session leaves the pack. Until that commit the pack is right, so what a crash
 * leaves of such a file is removed.
 *
 * Lock order: the session's write_lock; small.lock. */
#ifndef GPUFL_STORE_DUCKDB_SMALL_H
#define GPUFL_STORE_DUCKDB_SMALL_H

#include "store/append.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/pack/image.h"
#include "store/duckdb/pack/pack.h"

/* Rows of a session's records up to one of them; they do not change while somebody holds them. */
struct small_image {
    struct image rows; /* first */
    size_t records;
    uint64_t since;   /* packed_state's */
    unsigned holders; /* guarded by small.lock */
};

struct small {
    pthread_mutex_t lock;      /* not held by a reader: nobody waits for whom a reader sends to */
    struct small_image *image; /* owned: the newest; guarded by lock. Others: of their holders */

    struct append append;          /* [the session's writer], as all below */
    struct image pending;          /* of the transaction */
    bool begun;                    /* a transaction */
    int64_t contents;              /* bytes in memory of earlier commits */
    struct store_session *growing; /* the file that the transaction writes; NULL: none */

    /* The file that the session has since it grew, as a session; owned. NULL: it is small. */
    struct store_session *_Atomic grown;
};

/* Makes a session small; before it is in the list. */
int small_open(struct store_session *ss, struct err *e);
void small_close(struct store_session *ss); /* what is attached for it */
void small_free(struct store_session *ss);

/* The session that has a file, or NULL: it is small. */
struct store_session *small_file(struct store_session *ss);

/* An image that is up to date, and stays as it is until it is let go. *out is NULL, with nothing to
 * be let go, where the session got a file meanwhile: it has one for as long as it is open then. */
int small_hold_image(struct store_session *ss, const struct image **out, struct err *e);
void small_let_go(struct store_session *ss, const struct image *image);

/* A session that statements read: its file, or an image that is shown. */
struct small_reading {
    struct store_session *session;
    struct store_session *file; /* NULL: its image is shown */
    const struct image *image;
    struct shown shown;
};

/* Shows a session's rows as they are now to the caller's statements, until small_read_end. */
int small_read_begin(struct store_session *ss, struct small_reading *r, struct err *e);
void small_read_end(struct small_reading *r);

/* Puts the text after FROM for one of its tables. */
void small_read_table(struct buf *b, const struct small_reading *r, unsigned table);

/* Writes all rows to a file of its own at path. */
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

/* Appends an image's rows to a session's tables, in its present transaction. */
int small_put_image(struct store_session *to, const struct image *m, struct err *e);

#endif
