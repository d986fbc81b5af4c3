/* grid.h - tables of text whose widest column gives way to the width of the page.
 *
 * Cells are put row by row; printing measures them, lets the one flexible column
 * shrink (kernel names are shortened sensibly, other text is cut), and aligns.
 * Widths count characters of UTF-8. Owner's thread. */
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

enum { GRID_COLUMNS = 16, GRID_LEAST = 16 /* columns that a flexible one keeps */ };

struct grid {
    const struct grid_column *columns; /* the caller's */
    unsigned count;
    struct buf text; /* cells, a NUL after each */
    size_t cells;
};

void grid_init(struct grid *g, const struct grid_column *columns, unsigned count);
void grid_fini(struct grid *g);

/* The next cell, row by row. */
void grid_put(struct grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Titles and rows, indented by two columns, within width where that is possible.
 * 0 or GPUFL_E_NOMEM. */
int grid_print(const struct grid *g, FILE *out, int width, bool color);

#endif
