/* page.h - a page of rows of an answer, column by column, in the engine's form.
 *
 * A page is valid until the engine reads the next one. Called by the owner's thread only. */
#ifndef GPUFL_STORE_PAGE_H
#define GPUFL_STORE_PAGE_H

#include "store/store.h"

enum { PAGE_COLUMNS_MAX = RECORD_MAX_COLUMNS, PAGE_CELLS = 2048 };

struct page {
    size_t rows;
    unsigned columns;
    const void *data[PAGE_COLUMNS_MAX];      /* int64_t, double, or texts in the engine's form */
    const uint64_t *valid[PAGE_COLUMNS_MAX]; /* bit a row; NULL: all known */
    /* For a column of lists, data has the cells of all rows one after the other, and ends says
     * where the list of each row ends. NULL: one cell for each row. */
    const int64_t *ends[PAGE_COLUMNS_MAX];
    struct store_text (*text)(const struct page *p, unsigned column, size_t row);
};

static inline bool page_known(const struct page *p, unsigned column, size_t row)
{
    const uint64_t *v = p->valid[column];
    return !v || (v[row / 64] >> (row % 64) & 1);
}

static inline int64_t page_int(const struct page *p, unsigned column, size_t row)
{
    return page_known(p, column, row) ? ((const int64_t *)p->data[column])[row] : CELL_NULL;
}

static inline double page_real(const struct page *p, unsigned column, size_t row)
{
    return page_known(p, column, row) ? ((const double *)p->data[column])[row] : 0;
}

static inline struct store_text page_text(const struct page *p, unsigned column, size_t row)
{
    return page_known(p, column, row) ? p->text(p, column, row) : (struct store_text){"", 0};
}

/* Returns n cells from a row on, with CELL_NULL for unknown ones: a pointer into data, or to a copy
 * in room. */
static inline const int64_t *page_cells(const struct page *p, unsigned column, size_t from,
                                        size_t n, int64_t room[PAGE_CELLS])
{
    if (!p->valid[column])
        return (const int64_t *)p->data[column] + from;
    for (size_t i = 0; i < n; i++)
        room[i] = page_int(p, column, from + i);
    return room;
}

#endif
