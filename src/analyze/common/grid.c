/* grid.c - measures, shrinks and aligns. */
#include "analyze/common/grid.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"
#include "symbol/names/shorten.h"

#include <stdarg.h>
#include <string.h>

enum { INDENT = 2, GAP = 2, TEXT_MAX = 64 << 20 };

void grid_init(struct grid *g, const struct grid_column *columns, unsigned count)
{
    *g = (struct grid){.columns = columns, .count = count < GRID_COLUMNS ? count : GRID_COLUMNS};
    buf_init(&g->text, TEXT_MAX);
}

void grid_fini(struct grid *g)
{
    buf_fini(&g->text);
}

void grid_put(struct grid *g, const char *fmt, ...)
{
    char small[512];
    size_t from = g->text.len;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    if ((size_t)n < sizeof small) {
        buf_put(&g->text, small, (size_t)n);
    } else if (!buf_reserve(&g->text, (size_t)n + 1)) {
        va_start(ap, fmt);
        vsnprintf(g->text.data + g->text.len, (size_t)n + 1, fmt, ap);
        va_end(ap);
        g->text.len += (size_t)n;
    }
    if (!buf_error(&g->text))
        printable_clean(g->text.data + from, g->text.len - from);
    buf_char(&g->text, '\0');
    g->cells++;
}

static size_t columns_of(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Returns the number of bytes that the first n columns take. */
static size_t column_at(const char *text, size_t len, size_t n)
{
    size_t i = 0;
    for (; i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

static bool flexible(const struct grid_column *c)
{
    return c->kind == GRID_TEXT || c->kind == GRID_NAME;
}

/* Measures the width of every column; a flexible one gets at most what the fixed ones leave. */
static void measure(const struct grid *g, int page, size_t *widths)
{
    const char *at = g->text.data;
    size_t used = INDENT + GAP * (g->count - 1);
    for (unsigned c = 0; c < g->count; c++)
        widths[c] = columns_of(g->columns[c].title, strlen(g->columns[c].title));
    for (size_t i = 0; i < g->cells; i++, at += strlen(at) + 1) {
        size_t w = columns_of(at, strlen(at));
        if (w > widths[i % g->count])
            widths[i % g->count] = w;
    }
    for (unsigned c = 0; c < g->count; c++)
        used += flexible(&g->columns[c]) ? 0 : widths[c];
    for (unsigned c = 0; c < g->count; c++) {
        size_t left = (size_t)page > used + GRID_LEAST ? (size_t)page - used : GRID_LEAST;
        if (flexible(&g->columns[c]) && widths[c] > left)
            widths[c] = left;
    }
}

/* Puts the shortened cells of a column of names, a NUL after each. */
static int shorten_column(const struct grid *g, unsigned column, size_t width, struct buf *shown)
{
    const char **cells = mem_array(g->cells / g->count + 1, sizeof *cells), *at = g->text.data;
    size_t rows = 0;
    if (!cells)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < g->cells; i++, at += strlen(at) + 1)
        if (i % g->count == column)
            cells[rows++] = at;
    int rc = shorten_rows(shown, cells, rows, width);
    mem_free(cells);
    return rc;
}

/* Puts the cell into `shown`, cut if it is too wide. */
static void fit(struct buf *shown, const char *text, size_t width)
{
    buf_clear(shown);
    size_t len = strlen(text);
    bool whole = columns_of(text, len) <= width;
    buf_put(shown, text, whole ? len : column_at(text, len, width > 2 ? width - 2 : 0));
    if (!whole)
        buf_str(shown, "..");
}

/* Prints a cell. blanks: spaces to print before the next cell that has text, so that no row ends
 * with spaces. */
static void print_cell(FILE *out, const struct grid *g, unsigned c, const char *text, size_t width,
                       size_t *blanks)
{
    size_t len = strlen(text), used = columns_of(text, len), pad = width > used ? width - used : 0;
    bool right = g->columns[c].kind == GRID_RIGHT;
    *blanks += c ? GAP : INDENT;
    *blanks += right || !len ? pad : 0;
    if (!len)
        return;
    fprintf(out, "%*s", (int)*blanks, "");
    fwrite(text, 1, len, out);
    *blanks = right ? 0 : pad;
}

int grid_print(const struct grid *g, FILE *out, int width, bool color)
{
    size_t widths[GRID_COLUMNS];
    struct buf shown, names;
    int rc = 0;
    if (buf_error(&g->text))
        return GPUFL_E_NOMEM;
    if (!g->count)
        return 0;
    buf_init(&shown, TEXT_MAX);
    buf_init(&names, TEXT_MAX);
    measure(g, width, widths);
    for (unsigned c = 0; c < g->count && !rc; c++)
        if (g->columns[c].kind == GRID_NAME)
            rc = shorten_column(g, c, widths[c], &names);
    size_t blanks = 0;
    fputs(color ? "\033[2m" : "", out);
    for (unsigned c = 0; c < g->count; c++)
        print_cell(out, g, c, g->columns[c].title, widths[c], &blanks);
    fputs(color ? "\033[0m\n" : "\n", out);
    const char *at = g->text.data, *name = names.data;
    for (size_t i = 0; !rc && i < g->cells && !buf_error(&shown); i++, at += strlen(at) + 1) {
        unsigned c = (unsigned)(i % g->count);
        blanks = c ? blanks : 0;
        if (g->columns[c].kind == GRID_NAME) {
            print_cell(out, g, c, name, widths[c], &blanks);
            name += strlen(name) + 1;
        } else {
            fit(&shown, at, widths[c]);
            print_cell(out, g, c, buf_cstr(&shown), widths[c], &blanks);
        }
        if (c + 1 == g->count)
            fputc('\n', out);
    }
    rc = rc ? rc : buf_error(&shown) ? GPUFL_E_NOMEM : 0;
    buf_fini(&shown);
    buf_fini(&names);
    return rc;
}
