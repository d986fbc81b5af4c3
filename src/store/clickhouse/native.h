/* native.h - reads and writes blocks of ClickHouse's format Native, which has columns as in memory.
 *
 * A block is the numbers of columns and rows, then the name, type and cells of each column.
 * Integers and reals have this machine's form (little-endian on both architectures); a text is a
 * length and bytes; a column of lists is where each list ends, then their cells. A server that
 * fails in the middle of an answer puts its message where the next block would begin. Called by the
 * owner's thread only. */
#ifndef GPUFL_STORE_CLICKHOUSE_NATIVE_H
#define GPUFL_STORE_CLICKHOUSE_NATIVE_H

#include "base/buf.h"
#include "store/ask.h"

/* ---- out ----------------------------------------------------------------------------------- */

void native_block(struct buf *b, unsigned columns, size_t rows);
void native_column(struct buf *b, const char *name, const char *type); /* its cells follow */
void native_text(struct buf *b, const char *at, size_t len);

/* ---- in ------------------------------------------------------------------------------------ */

enum {
    NATIVE_ROWS_MAX = 1 << 20,
    NATIVE_CELLS_MAX = 1 << 25 /* of a column of lists */,
    NATIVE_BLOCK_MAX = 512 << 20,
    NATIVE_FAILURE_MAX = 16 << 10
};

enum native_type { NATIVE_NONE, NATIVE_INT, NATIVE_UINT, NATIVE_REAL, NATIVE_TEXT };

struct native_in {
    struct page page; /* the block that was read last */
    struct buf in;    /* owned: bytes of the block being read */
    size_t at;        /* bytes of `in` that are done */
    unsigned column;  /* being read */
    bool begun;       /* the block's numbers have been read */
    bool named;       /* the column's name and type have been read */
    bool nulls_done;
    enum native_type type; /* of the column */
    unsigned width;        /* bytes of a cell */
    bool nullable, list;
    bool ends_done;
    size_t count;                  /* cells of the column */
    size_t row;                    /* of a column of texts */
    void *cells[PAGE_COLUMNS_MAX]; /* owned: 8 or 16 bytes each */
    size_t cells_cap[PAGE_COLUMNS_MAX];
    size_t counts[PAGE_COLUMNS_MAX];    /* cells of the columns that have been read */
    int64_t *ends[PAGE_COLUMNS_MAX];    /* owned: of lists */
    size_t ends_cap[PAGE_COLUMNS_MAX];  /* rows */
    uint64_t *nulls[PAGE_COLUMNS_MAX];  /* owned: bits of known cells */
    size_t nulls_cap[PAGE_COLUMNS_MAX]; /* words */
    bool is_text[PAGE_COLUMNS_MAX];
    struct buf failure; /* owned: the server's message instead of a block */
};

void native_in_init(struct native_in *n);
void native_in_fini(struct native_in *n);
void native_in_clear(struct native_in *n); /* for the next answer */

/* Takes the next bytes; take is called for each block with rows. 0, GPUFL_E_NOMEM, GPUFL_E_FULL (a
 * block is too large), GPUFL_E_CORRUPT (another format), or what take returned. */
int native_in_feed(struct native_in *n, const char *data, size_t len, ask_take take, void *arg);

/* Returns true if the answer may end here. */
bool native_in_whole(const struct native_in *n);

#endif
