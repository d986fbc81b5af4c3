/* ask_pass.c - answers whose rows need no order and no names: pages go to the visitor as chunks. */
#include "store/ask.h"

#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { CHUNK_ROWS = 2048 };

/* Holds a chunk's columns that cannot point into the page. */
struct room {
    struct store_text texts[CHUNK_ROWS];
    uint64_t valid[CHUNK_ROWS / 64];
};

struct passing {
    const struct ask *ask;
    const struct store_visitor *visitor;
    struct room *rooms; /* owned: by column */
};

/* Returns the bits of known cells. A cell of CELL_NULL is unknown, too: as a real it is -0. */
static const uint64_t *known_cells(struct room *room, const struct page *page, unsigned column,
                                   size_t first, size_t rows)
{
    const char *cells = (const char *)page->data[column] + first * sizeof(int64_t);
    const uint64_t *valid = page->valid[column];
    bool all = true;
    memset(room->valid, 0, sizeof room->valid);
    for (size_t i = 0; i < rows; i++) {
        int64_t cell;
        memcpy(&cell, cells + i * sizeof cell, sizeof cell);
        bool known = cell != CELL_NULL && (!valid || page_known(page, column, first + i));
        room->valid[i / 64] |= (uint64_t)known << (i % 64);
        all &= known;
    }
    return all ? NULL : room->valid;
}

/* Makes a column of the rows from `first` on, which is a multiple of CHUNK_ROWS. */
static struct store_vec column_of(const struct passing *p, const struct page *page, unsigned column,
                                  size_t first, size_t rows)
{
    struct store_vec v = {.type = p->ask->def->columns[column].type};
    struct room *room = &p->rooms[column];
    if (v.type == STORE_INT || v.type == STORE_REAL) {
        v.valid = known_cells(room, page, column, first, rows);
        v.ints = (const int64_t *)page->data[column] + first;
        v.reals = (const double *)page->data[column] + first;
        return v;
    }
    if (page->valid[column])
        v.valid = page->valid[column] + first / 64;
    for (size_t i = 0; i < rows; i++)
        room->texts[i] = page_text(page, column, first + i);
    v.texts = room->texts;
    return v;
}

static int pass_page(void *arg, const struct page *page)
{
    const struct passing *p = arg;
    struct store_vec columns[STORE_COLUMNS_MAX];
    unsigned n = p->ask->def->column_count;
    int rc = 0;
    if (page->columns < n)
        return GPUFL_E_CORRUPT;
    for (size_t first = 0; !rc && first < page->rows; first += CHUNK_ROWS) {
        size_t rows = page->rows - first < CHUNK_ROWS ? page->rows - first : CHUNK_ROWS;
        for (unsigned c = 0; c < n; c++)
            columns[c] = column_of(p, page, c, first, rows);
        rc = p->visitor->chunk(p->visitor->arg, &(struct store_chunk){rows, n, columns});
    }
    return rc;
}

int ask_pass(struct ask *a, const struct store_visitor *v)
{
    struct passing p = {a, v, mem_array(a->def->column_count, sizeof *p.rooms)};
    int rc = p.rooms ? ask_pages(a, pass_page, &p) : err_nomem(a->e);
    mem_free(p.rooms);
    return rc;
}
