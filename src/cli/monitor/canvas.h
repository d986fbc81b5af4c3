/* canvas.h - is a screen in memory: cells with a character and a style, which a terminal then
 * shows.
 *
 * Text may come from anywhere: it is cut at the width of the canvas; a wide character takes two
 * cells and is never cut in half; characters without a width, and control characters, are left out.
 * If the terminal has no UTF-8, characters other than ASCII become '?'. Called by one thread only;
 * widths are those of the locale (setlocale). */
#ifndef GPUFL_CLI_MONITOR_CANVAS_H
#define GPUFL_CLI_MONITOR_CANVAS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

enum { CANVAS_ROWS_MOST = 400, CANVAS_COLUMNS_MOST = 600 };

enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_HEAD,
    STYLE_CHOSEN,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_COUNT
};

struct cell {
    char text[5];        /* one character; "": the right half of a wide one */
    unsigned char style; /* enum style */
};

struct canvas {
    struct cell *cells; /* owned; rows x columns */
    int rows, columns;
    bool utf8;
};

/* Sets the size, within the bounds, and clears the canvas: 0 or GPUFL_E_NOMEM. */
int canvas_size(struct canvas *c, int rows, int columns);
void canvas_fini(struct canvas *c);

/* Writes text at a place, in at most `width` columns; returns the columns that it takes. */
int canvas_text(struct canvas *c, int row, int column, int width, enum style style,
                const char *text);

/* Does what canvas_text does, but at the right end of the width. */
void canvas_right(struct canvas *c, int row, int column, int width, enum style style,
                  const char *text);

/* Returns the columns of a text on this canvas. */
int canvas_columns(const struct canvas *c, const char *text);

/* Appends a row as text, without blanks at its end. */
void canvas_row(const struct canvas *c, int row, struct buf *out);

#endif
