/* answer.h - builds the answer to a question: cells by row. Names stay ids until the end, when the
 * texts of all ids in the answer are read together.
 *
 * Both engines use it; each fills it in its own way. Called by the owner's thread only. */
#ifndef GPUFL_STORE_ANSWER_H
#define GPUFL_STORE_ANSWER_H

#include "base/buf.h"
#include "store/store.h"
#include "wire/rowset.h"

enum {
    ANSWER_LIMIT_MAX = 1 << 20, /* largest `limit` of a question */
    ANSWER_CELLS_MAX = 1 << 24, /* 128 MiB */
};

struct answer {
    const struct store_query_def *def;
    int64_t *cells; /* owned: def->column_count a row; CELL_NULL: unknown */
    size_t rows, cap;
    int error;           /* why answer_row failed */
    struct buf texts;    /* texts of TEXT cells and of names: the length, then the bytes of each */
    struct rowset names; /* id, index of its text in texts; -1: not known yet */
};

void answer_init(struct answer *a, const struct store_query_def *def);
void answer_fini(struct answer *a);

/* Adds a row of unknown cells, valid until the next one is added; NULL: no room, see a->error. */
int64_t *answer_row(struct answer *a);

/* Returns the type of a column's cells while the answer is built: names are ids of the session; in
 * questions across sessions they are texts. */
enum store_type answer_stored(const struct answer *a, unsigned column);

/* Makes the cell of a text, or of a real number. answer_deliver returns errors of texts. */
int64_t answer_text(struct answer *a, struct store_text text);
int64_t answer_real(double v);

/* Reads the texts of ids: calls answer_take_name for each text that the session has. */
struct answer_names {
    void *arg;
    int (*fetch)(void *arg, const int64_t *ids, size_t n, struct answer *a, struct err *e);
};

/* Takes the text of an id; fetch calls it. */
int answer_take_name(struct answer *a, int64_t id, struct store_text text);

/* Gives all rows to the visitor. */
int answer_deliver(struct answer *a, const struct answer_names *names,
                   const struct store_visitor *v, struct err *e);

#endif
