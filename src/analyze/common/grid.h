/* grid.h - prints tables of text that fit the width of the page: flexible columns become narrower.
 *
 * The caller puts cells row by row. grid_print measures all cells, gives a flexible column what the
 * fixed columns leave (kernel names are shortened, other text is cut), and aligns. The width of a
 * cell is its number of UTF-8 characters. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMMON_GRID_H
#define GPUFL_ANALYZE_COMMON_GRID_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>

enum grid_kind {
    GRID_LEFT,
    GRID_RIGHT,
    GRID_TEXT, /* left, flexible: cut at its end */
    GRID_NAME, /* left, flexible: shortened as a demangled name; one column at most */
};

struct grid_column {
    const char *title;
    enum grid_kind kind;
};

enum { GRID_COLUMNS = 16, GRID_LEAST = 16 /* characters that a flexible column keeps */ };

struct grid {
    const struct grid_column *columns; /* the caller's */
    unsigned count;
    struct buf text; /* cells, a NUL after each */
    size_t cells;
};

void grid_init(struct grid *g, const struct grid_column *columns, unsigned count);
void grid_fini(struct grid *g);

/* Adds the next cell of the row; after the last column a new row begins. */
void grid_put(struct grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints titles and rows, indented by two characters, within width where that is possible. 0 or
 * GPUFL_E_NOMEM. */
int grid_print(const struct grid *g, FILE *out, int width, bool color);

#endif
