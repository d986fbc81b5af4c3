/* image.h - the rows of a small session in memory, and as bytes of a pack (pack.h).
 *
 * The bytes name tables, and a newer version of the program adds columns at the end of a table
 * only: so an older version's bytes are read with unknown cells in the place of what they lack.
 * Rows keep the order in which they came. Owner's thread, or under the owner's lock. */
#ifndef GPUFL_STORE_DUCKDB_PACK_IMAGE_H
#define GPUFL_STORE_DUCKDB_PACK_IMAGE_H

#include "base/buf.h"
#include "store/ask.h"
#include "store/tables.h"

struct image_table {
    int64_t *cells; /* owned: row by row; of a text its place and length in the image's texts */
    size_t used, cap;
};

/* A row that an earlier image has, written again: its cells follow at `at`. */
struct image_amend {
    unsigned table;
    int64_t place; /* of the row, from 0 */
    size_t at;     /* in amended cells */
};

struct image {
    struct image_table tables[TABLE_COUNT];
    struct buf texts;
    struct image_amend *amends; /* owned: for the image below this one */
    size_t amend_count, amend_cap;
    int64_t *amended; /* owned: cells of amends */
    size_t amended_used, amended_cap;
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count; /* 0: they are as they were */
    size_t cells;            /* of all tables, and amended ones */
};

void image_init(struct image *m); /* allocates nothing */
void image_fini(struct image *m);
void image_clear(struct image *m); /* gives the memory back */

/* Bytes of its cells and texts. */
static inline size_t image_bytes(const struct image *m)
{
    return m->cells * sizeof(int64_t) + m->texts.len;
}

size_t image_rows(const struct image *m, unsigned table);

/* These do what the calls of struct append_engine do (store/append.h). 0 or GPUFL_E_NOMEM. */
int image_row(struct image *m, unsigned table, const int64_t *cells,
              const struct store_text *texts);
int image_columns(struct image *m, unsigned table, const int64_t *const *columns, size_t n);
int image_amend(struct image *m, unsigned table, int64_t place, const int64_t *cells);
void image_positions(struct image *m, const struct store_position *p, unsigned n);

/* The cells of a row, and the text of one of them. Valid until something is added. */
const int64_t *image_cells(const struct image *m, unsigned table, size_t row);
struct store_text image_text(const struct image *m, int64_t cell);

/* Appends the image as bytes; an error is the buffer's. */
void image_encode(const struct image *m, struct buf *out);

/* Adds what the bytes of another image have: rows after the rows that are there, amended rows in
 * their places. CORRUPT: they are not valid, or of a newer version. After an error the image is to
 * be cleared. */
int image_decode(struct image *m, const char *data, size_t n, struct err *e);

/* Which columns of a table, in which order; time: the column that from and to bound, -1: none. */
struct image_ask {
    unsigned table;
    const unsigned *columns;
    unsigned column_count;
    int time;
    int64_t from, to;
};

/* The rows, page by page. What take returned, or NOMEM. */
int image_pages(const struct image *m, const struct image_ask *ask, ask_take take, void *arg);

/* The first `columns` columns of a table, all rows. */
int image_table_pages(const struct image *m, unsigned table, unsigned columns, ask_take take,
                      void *arg);

#endif
