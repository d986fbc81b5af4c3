/* append.h - turns what a writer is given into rows of tables, for every engine.
 *
 * Dictionary rows are kept once by id, and what later rows of an id add to it goes with the commit;
 * texts are made clean, kernels summed up by slice and lanes by transaction. The engine says how a
 * row gets into a table, and what a session has already. What is remembered here fits the session's
 * last commit; an engine that is not sure of that forgets it, and the next transaction loads it
 * again.
 *
 * The operations of struct store_ops work on the append of the session's struct listed, which the
 * engine sets when a transaction begins and clears at its end. [the session's writer] */
#ifndef GPUFL_STORE_APPEND_H
#define GPUFL_STORE_APPEND_H

#include "store/ask.h"
#include "store/ids.h"
#include "store/lane_sums.h"

struct append;

enum { APPEND_COMPLETED = 2 /* dictionaries of record_is_completed */ };

struct append_engine {
    /* A row: for each column of the table its cell (of a real its bits), or its text. Columns of
     * texts have no cell, and texts is NULL where the table has none. */
    int (*row)(struct store_session *ss, unsigned table, const int64_t *cells,
               const struct store_text *texts, struct err *e);
    /* n rows of a table of integers, an array a column; NULL: unknown. */
    int (*columns)(struct store_session *ss, unsigned table, const int64_t *const *columns,
                   size_t n, struct err *e);
    /* Writes a row of a completed dictionary again, which an earlier commit put at a place (from 0,
     * in the order of `dictionary`): with the commit it has these cells, and the same place. */
    int (*amend)(struct store_session *ss, unsigned table, int64_t place, const int64_t *cells,
                 struct err *e);
    /* Reads what the session has already: the first columns of a dictionary's rows, a completed
     * dictionary's in order; the number of slices and of the rows in them; and the kernels after
     * those (start, duration, config, stream). */
    int (*dictionary)(struct store_session *ss, unsigned table, unsigned columns, ask_take take,
                      void *arg, struct err *e);
    int (*slices)(struct store_session *ss, int64_t *slices, int64_t *summed, struct err *e);
    int (*rest)(struct store_session *ss, int64_t summed, ask_take take, void *arg, struct err *e);
};

/* Rows of a completed dictionary as they will be with the commit, in order: its columns, then what
 * the commit has to do with them. */
struct completed {
    struct rowset rows;
    bool any; /* something */
};

struct append {
    const struct append_engine *engine;
    struct store_session *session;
    struct ids ids; /* rows that are there, of the other dictionaries */
    struct completed completed[APPEND_COMPLETED];
    struct kernel_sums kernels; /* of kernel rows after the last slice */
    struct rowset lanes;        /* struct lane_sum: of this transaction */
    int64_t slices, summed;     /* slices there are, kernel rows in them */
    struct buf text;            /* a text being made clean */
    bool loaded;                /* all of it fits the last commit */
};

void append_init(struct append *a, const struct append_engine *engine, struct store_session *ss);
void append_fini(struct append *a);

/* The begin and the end of a transaction: load what is not known; add what goes with a commit,
 * before its rows are handed over; take over or forget what was added. */
int append_load(struct append *a, struct err *e);
int append_finish(struct append *a, struct err *e);
void append_commit(struct append *a);
void append_rollback(struct append *a);

/* Operations of struct store_ops. STATE: no transaction of the session has begun. */
int append_names(struct store_session *ss, const uint32_t *ids, const char *const *texts,
                 const size_t *lens, size_t n, struct err *e);
int append_batch(struct store_session *ss, const struct wire_batch *b, struct err *e);
int append_tiles(struct store_session *ss, int level, const struct tile *rows, size_t n,
                 struct err *e);
int append_spans(struct store_session *ss, int level, const struct tile_span *rows, size_t n,
                 struct err *e);
int append_unknown(struct store_session *ss, const char *channel, const char *line, size_t len,
                   struct err *e);

/* ---- append_sums.c -------------------------------------------------------------------------- */

/* Sums up kernels; every KERNEL_SLICE of them become rows. */
int append_kernels(struct append *a, const struct wire_batch *b, struct err *e);

/* Sums of lanes, which go with the commit. */
int append_lanes(struct append *a, struct err *e);

/* ---- append_completed.c --------------------------------------------------------------------- */

void completed_init(struct append *a);
void completed_fini(struct append *a);

int completed_load(struct append *a, struct err *e);
int completed_add(struct append *a, const struct wire_batch *b, struct err *e);

/* Rows that are new or know more, which go with the commit. */
int completed_put(struct append *a, struct err *e);

#endif
