/* canvas.c - see canvas.h. */
#include "cli/monitor/canvas.h"

#include "base/alloc.h"
#include "base/printable.h"

#include <string.h>
#include <wchar.h>

enum { BYTES_MOST = 4 };

static const struct cell blank = {" ", STYLE_PLAIN};

int canvas_size(struct canvas *c, int rows, int columns)
{
    rows = rows < 1 ? 1 : rows > CANVAS_ROWS_MOST ? CANVAS_ROWS_MOST : rows;
    columns = columns < 1 ? 1 : columns > CANVAS_COLUMNS_MOST ? CANVAS_COLUMNS_MOST : columns;
    size_t n = (size_t)rows * (size_t)columns;
    if (rows != c->rows || columns != c->columns) {
        struct cell *cells = mem_array(n, sizeof *cells);
        if (!cells)
            return GPUFL_E_NOMEM;
        mem_free(c->cells);
        c->cells = cells;
        c->rows = rows;
        c->columns = columns;
    }
    for (size_t i = 0; i < n; i++)
        c->cells[i] = blank;
    return 0;
}

void canvas_fini(struct canvas *c)
{
    mem_free(c->cells);
    c->cells = NULL;
    c->rows = c->columns = 0;
}

/* ---- characters ---------------------------------------------------------------------------- */

static wchar_t code_of(const unsigned char *s, size_t n)
{
    unsigned code = n == 2 ? s[0] & 0x1fu : n == 3 ? s[0] & 0x0fu : s[0] & 0x07u;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return (wchar_t)code;
}

/* Takes the next character of a text as a cell: its bytes there in *used, its columns as the
 * result. */
static int next(const struct canvas *c, const char *text, size_t *used, struct cell *out)
{
    size_t left = strnlen(text, BYTES_MOST);
    size_t n = (unsigned char)*text < 0x80 ? 1 : utf8_sequence((const unsigned char *)text, left);
    *used = n ? n : 1;
    memset(out, 0, sizeof *out);
    memcpy(out->text, text, *used);
    printable_clean(out->text, *used);
    if (n <= 1)
        return 1;
    if (!c->utf8 || out->text[0] == '?') {
        memcpy(out->text, "?", 2);
        return 1;
    }
    int width = wcwidth(code_of((const unsigned char *)text, n));
    if (width < 0)
        memcpy(out->text, "?", 2);
    return width < 0 ? 1 : width;
}

int canvas_columns(const struct canvas *c, const char *text)
{
    struct cell x;
    size_t used;
    int columns = 0;
    for (; *text; text += used)
        columns += next(c, text, &used, &x);
    return columns;
}

/* ---- putting ------------------------------------------------------------------------------- */

/* Blanks the other half of a wide character that is about to lose one. */
static void part(struct cell *row, int columns, int at)
{
    if (!*row[at].text && at > 0)
        row[at - 1] = blank;
    if (at + 1 < columns && !*row[at + 1].text)
        row[at + 1] = blank;
}

int canvas_text(struct canvas *c, int row, int column, int width, enum style style,
                const char *text)
{
    if (row < 0 || row >= c->rows || column < 0 || column >= c->columns)
        return 0;
    struct cell *cells = c->cells + (size_t)row * (size_t)c->columns;
    int at = column, end = width < c->columns - column ? column + width : c->columns;
    size_t used;
    for (struct cell x; *text; text += used) {
        int n = next(c, text, &used, &x);
        if (at + n > end)
            break;
        x.style = (unsigned char)style;
        for (int i = 0; i < n; i++)
            part(cells, c->columns, at + i);
        if (n)
            cells[at] = x;
        if (n == 2)
            cells[at + 1] = (struct cell){"", (unsigned char)style};
        at += n;
    }
    return at - column;
}

void canvas_right(struct canvas *c, int row, int column, int width, enum style style,
                  const char *text)
{
    int n = canvas_columns(c, text);
    int skip = n < width ? width - n : 0;
    (void)canvas_text(c, row, column + skip, width - skip, style, text);
}

void canvas_row(const struct canvas *c, int row, struct buf *out)
{
    const struct cell *cells = c->cells + (size_t)row * (size_t)c->columns;
    int end = c->columns;
    while (end > 0 && !strcmp(cells[end - 1].text, " "))
        end--;
    for (int i = 0; i < end; i++)
        buf_str(out, cells[i].text);
}
