/* image.h - keeps the rows of a small session in memory, and as bytes of a pack (pack.h).
 *
 * The bytes have the names of tables, and newer versions of the program add columns only at the end
 * of a table. So in bytes of an older version the missing cells are unknown. Rows keep the order in
 * which they came. Called by the owner's thread, or under the owner's lock. */
#ifndef GPUFL_STORE_DUCKDB_PACK_IMAGE_H
#define GPUFL_STORE_DUCKDB_PACK_IMAGE_H

#include "base/buf.h"
#include "store/ask.h"
#include "store/tables.h"

struct image_table {
    int64_t *cells; /* owned: row by row; for a text its place and length in image.texts */
    size_t used, cap;
};

/* Holds new cells for a row that an earlier image has. */
struct image_amend {
    unsigned table;
    int64_t place; /* of the row, from 0 */
    size_t at;     /* of its cells in image.amended */
};

struct image {
    struct image_table tables[TABLE_COUNT];
    struct buf texts;
    struct image_amend *amends; /* owned: for the image that this one is added to */
    size_t amend_count, amend_cap;
    int64_t *amended; /* owned: cells of amends */
    size_t amended_used, amended_cap;
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count; /* 0: unchanged */
    size_t cells;            /* number in all tables and in amended */
};

void image_init(struct image *m); /* allocates nothing */
void image_fini(struct image *m);
void image_clear(struct image *m); /* frees the memory */

/* Returns the number of bytes of the cells and texts. */
static inline size_t image_bytes(const struct image *m)
{
    return m->cells * sizeof(int64_t) + m->texts.len;
}

size_t image_rows(const struct image *m, unsigned table);

/* The functions do what those of struct append_engine do (store/append.h). 0 or GPUFL_E_NOMEM. */
int image_row(struct image *m, unsigned table, const int64_t *cells,
              const struct store_text *texts);
int image_columns(struct image *m, unsigned table, const int64_t *const *columns, size_t n);
int image_amend(struct image *m, unsigned table, int64_t place, const int64_t *cells);
void image_positions(struct image *m, const struct store_position *p, unsigned n);

/* The functions return the cells of a row, and the text of a cell. Valid until something is
 * added. */
const int64_t *image_cells(const struct image *m, unsigned table, size_t row);
struct store_text image_text(const struct image *m, int64_t cell);

/* Appends the image as bytes; the buffer notes an error. */
void image_encode(const struct image *m, struct buf *out);

/* Adds the content of another image's bytes: rows after the present rows, amended rows in their
 * places. GPUFL_E_CORRUPT: the bytes are damaged, or from a newer version. After an error clear the
 * image. */
int image_decode(struct image *m, const char *data, size_t n, struct err *e);

/* Names the columns to read, in order. time: the column that from and to bound; -1: none. */
struct image_ask {
    unsigned table;
    const unsigned *columns;
    unsigned column_count;
    int time;
    int64_t from, to;
};

/* Gives the rows to take, page by page. Returns what take returned, or GPUFL_E_NOMEM. */
int image_pages(const struct image *m, const struct image_ask *ask, ask_take take, void *arg);

/* Gives all rows of a table with its first `columns` columns. */
int image_table_pages(const struct image *m, unsigned table, unsigned columns, ask_take take,
                      void *arg);

#endif
