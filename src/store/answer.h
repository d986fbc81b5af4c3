/* answer.h - the answer to a question while it is put together: cells by row, names as ids until
 * the end, when the texts of the remaining ids are read at once.
 *
 * The engines share it, and each fills it in its own way. Owner's thread. */
#ifndef GPUFL_STORE_ANSWER_H
#define GPUFL_STORE_ANSWER_H

#include "base/buf.h"
#include "store/store.h"
#include "wire/rowset.h"

enum {
    ANSWER_LIMIT_MAX = 1 << 20, /* of a question's limit */
    ANSWER_CELLS_MAX = 1 << 24, /* 128 MiB */
};

struct answer {
    const struct store_query_def *def;
    int64_t *cells; /* owned: def->column_count a row; CELL_NULL: unknown */
    size_t rows, cap;
    int error;           /* why there is no new row */
    struct buf texts;    /* of TEXT cells, and of names: each its length, then its bytes */
    struct rowset names; /* id, index of its text in texts; -1: not known yet */
};

void answer_init(struct answer *a, const struct store_query_def *def);
void answer_fini(struct answer *a);

/* A new row, all unknown; NULL: no room, and a->error says why. Valid until the next one. */
int64_t *answer_row(struct answer *a);

/* The type that the cells of a column have: names are ids of the session's; in questions across
 * sessions they are texts. */
enum store_type answer_stored(const struct answer *a, unsigned column);

/* The cell that holds a text, or a real number. Errors of texts show in answer_deliver. */
int64_t answer_text(struct answer *a, struct store_text text);
int64_t answer_real(double v);

/* Asks for the texts of ids; take is called for each text that the session has. */
struct answer_names {
    void *arg;
    int (*fetch)(void *arg, const int64_t *ids, size_t n, struct answer *a, struct err *e);
};

/* The text of an id, from fetch. */
int answer_take_name(struct answer *a, int64_t id, struct store_text text);

/* Hands all rows out. */
int answer_deliver(struct answer *a, const struct answer_names *names,
                   const struct store_visitor *v, struct err *e);

#endif
