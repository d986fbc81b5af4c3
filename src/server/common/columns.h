/* columns.h - writes the answer of the column store as JSON, column by column.
 *
 *   {"columns":["lane","at",…],"rows":2,"data":{"lane":["72…","72…"],"at":[0,8],…},
 *    "names":["gemm<float>(…)"],"mangled":["_Z4gemm…"]}
 *
 * Columns take half the bytes of rows, and a reader can use them as arrays. A NAME is the index of
 * a text in names (demangled) and mangled, because answers repeat a few names thousands of times.
 * Times count from the session's start; a value that a JSON number cannot represent is a string
 * (see schema/queries.def). Called by the owner's thread only. */
#ifndef GPUFL_SERVER_COMMON_COLUMNS_H
#define GPUFL_SERVER_COMMON_COLUMNS_H

#include "analyze/common/json_out.h"
#include "store/store.h"

struct intern;

struct columns {
    const struct store_query_def *def;
    int64_t start; /* CLOCK_MONOTONIC of the session's start, subtracted from times */
    size_t rows, max;
    struct buf cells[STORE_COLUMNS_MAX]; /* JSON of the cells, with commas between */
    struct intern *names;                /* mangled; NULL: no column is a NAME */
};

/* Prepares columns. max: the most bytes of JSON. 0 or GPUFL_E_NOMEM. */
int columns_init(struct columns *c, const struct store_query_def *def, int64_t start, size_t max);
void columns_fini(struct columns *c);

/* Makes the visitor that takes an answer's rows; it returns GPUFL_E_FULL above max bytes. */
struct store_visitor columns_visitor(struct columns *c);

/* Puts the members columns, rows, data, names and mangled into the open object. 0 or
 * GPUFL_E_NOMEM. */
int columns_put(struct columns *c, struct json_out *j);

#endif
