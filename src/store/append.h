/* append.h - turns the batches of a writer into rows of tables, for every engine.
 *
 * A dictionary row is written once for each id, and facts that later rows of the id add are written
 * with the commit. Texts become valid UTF-8; kernels are summed up by slice, lanes by transaction.
 * The engine puts rows into tables, and reads what a session already has. The state here matches
 * the session's last commit. An engine that is not sure of that clears `loaded`, and the next
 * transaction loads the state again.
 *
 * The operations of struct store_ops use listed.append of the session, which the engine sets when a
 * transaction begins and clears when it ends. [the session's writer] */
#ifndef GPUFL_STORE_APPEND_H
#define GPUFL_STORE_APPEND_H

#include "store/ask.h"
#include "store/ids.h"
#include "store/lane_sums.h"

struct append;

/* Counts the dictionaries whose rows later rows complete (record_is_completed). */
enum { APPEND_COMPLETED = 2 };

struct append_engine {
    /* Puts a row. Each column of the table has its cell (for a real number the bits), or its text.
     * Columns of texts have no cell; texts is NULL if the table has no such column. */
    int (*row)(struct store_session *ss, unsigned table, const int64_t *cells,
               const struct store_text *texts, struct err *e);
    /* Puts n rows of a table of integers, an array for each column; NULL: all unknown. */
    int (*columns)(struct store_session *ss, unsigned table, const int64_t *const *columns,
                   size_t n, struct err *e);
    /* Replaces the cells of a dictionary row that an earlier commit wrote. place: its index, from
     * 0, in the order of `dictionary`; the row keeps it. */
    int (*amend)(struct store_session *ss, unsigned table, int64_t place, const int64_t *cells,
                 struct err *e);
    /* Read what the session already has: the first columns of a dictionary's rows, in order for a
     * dictionary that is completed; the number of slices and of the rows in them; the kernels after
     * these (start, duration, config, stream). */
    int (*dictionary)(struct store_session *ss, unsigned table, unsigned columns, ask_take take,
                      void *arg, struct err *e);
    int (*slices)(struct store_session *ss, int64_t *slices, int64_t *summed, struct err *e);
    int (*rest)(struct store_session *ss, int64_t summed, ask_take take, void *arg, struct err *e);
};

/* Holds rows of a dictionary that is completed, as the commit will leave them, in order: their
 * columns, then what the commit has to do with the row. */
struct completed {
    struct rowset rows;
    bool any; /* the commit has something to do */
};

struct append {
    const struct append_engine *engine;
    struct store_session *session;
    struct ids ids; /* rows of the other dictionaries that the session has */
    struct completed completed[APPEND_COMPLETED];
    struct kernel_sums kernels; /* of kernel rows after the last slice */
    struct rowset lanes;        /* struct lane_sum: of this transaction */
    int64_t slices, summed;     /* number of slices, and of kernel rows in them */
    struct buf text;            /* room for text_clean */
    bool loaded;                /* the state matches the last commit */
};

void append_init(struct append *a, const struct append_engine *engine, struct store_session *ss);
void append_fini(struct append *a);

/* These functions are for the begin and the end of a transaction. append_load loads the state if
 * necessary. append_finish adds the rows that go with a commit; call it before the rows are sent.
 * append_commit and append_rollback keep or drop what was added. */
int append_load(struct append *a, struct err *e);
int append_finish(struct append *a, struct err *e);
void append_commit(struct append *a);
void append_rollback(struct append *a);

/* These are operations of struct store_ops. STATE: no transaction of the session has begun. */
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

/* Sums up kernels; every KERNEL_SLICE of them become rows of sums. */
int append_kernels(struct append *a, const struct wire_batch *b, struct err *e);

/* Puts the sums of lanes, with the commit. */
int append_lanes(struct append *a, struct err *e);

/* ---- append_completed.c --------------------------------------------------------------------- */

void completed_init(struct append *a);
void completed_fini(struct append *a);

int completed_load(struct append *a, struct err *e);
int completed_add(struct append *a, const struct wire_batch *b, struct err *e);

/* Puts rows that are new or have more facts, with the commit. */
int completed_put(struct append *a, struct err *e);

#endif
