/* select_cells.h - writes the cells of any answer as JSON, by their type.
 *
 * Numbers that a JSON reader may not represent exactly (above 2^53) are strings, and so are dates
 * and times. Called by the owner's thread only. */
#ifndef GPUFL_STORE_DUCKDB_SELECT_CELLS_H
#define GPUFL_STORE_DUCKDB_SELECT_CELLS_H

#include "base/buf.h"
#include "store/duckdb/duck.h"

enum { CELLS_COLUMNS_MAX = 256 };

struct cell_column {
    int type;          /* enum duck_type_id */
    const char *word;  /* its name in SQL */
    int inside, scale; /* for DECIMAL: type of the integers, digits after the point */
};

/* Finds the type of a column of the result; false: we have no JSON form for it. */
bool cell_column(const struct duck *d, struct duck_result *r, uint64_t column,
                 struct cell_column *out);

/* Appends a known cell. */
void cell_put(struct buf *b, const struct cell_column *c, const void *data, uint64_t row);

#endif
