/* image.c - keeps rows in memory; see image.h. Their bytes: image_code.c. */
#include "store/duckdb/pack/image.h"

#include "base/alloc.h"

#include <string.h>

enum { CELLS_MAX = 1 << 26, TEXTS_MAX = 1 << 30, AMENDS_MAX = 1 << 22 };

void image_init(struct image *m)
{
    memset(m, 0, sizeof *m);
    buf_init(&m->texts, TEXTS_MAX);
}

void image_fini(struct image *m)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        mem_free(m->tables[i].cells);
    mem_free(m->amends);
    mem_free(m->amended);
    buf_fini(&m->texts);
}

void image_clear(struct image *m)
{
    image_fini(m);
    image_init(m);
}

size_t image_rows(const struct image *m, unsigned table)
{
    unsigned width = store_table(table)->column_count;
    return width ? m->tables[table].used / width : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t *more_cells(struct image *m, unsigned table, size_t rows)
{
    struct image_table *t = &m->tables[table];
    size_t more = rows * store_table(table)->column_count;
    if (mem_grow(&t->cells, &t->cap, t->used + more, sizeof *t->cells, CELLS_MAX))
        return NULL;
    t->used += more;
    m->cells += more;
    return t->cells + t->used - more;
}

int image_row(struct image *m, unsigned table, const int64_t *cells, const struct store_text *texts)
{
    const struct table *t = store_table(table);
    int64_t *row = more_cells(m, table, 1);
    if (!row)
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < t->column_count; c++) {
        if (t->columns[c].type != CELL_TEXT && t->columns[c].type != CELL_BYTES) {
            row[c] = cells[c];
            continue;
        }
        row[c] = (int64_t)(m->texts.len << 32 | (texts[c].len & 0xffffffff));
        buf_put(&m->texts, texts[c].at, texts[c].len);
    }
    return buf_error(&m->texts) ? GPUFL_E_NOMEM : 0;
}

int image_columns(struct image *m, unsigned table, const int64_t *const *columns, size_t n)
{
    unsigned width = store_table(table)->column_count;
    int64_t *row = more_cells(m, table, n);
    if (!row)
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < width; c++)
        for (size_t i = 0; i < n; i++)
            row[i * width + c] = columns[c] ? columns[c][i] : CELL_NULL;
    return 0;
}

int image_amend(struct image *m, unsigned table, int64_t place, const int64_t *cells)
{
    unsigned width = store_table(table)->column_count;
    if (mem_grow(&m->amends, &m->amend_cap, m->amend_count + 1, sizeof *m->amends, AMENDS_MAX) ||
        mem_grow(&m->amended, &m->amended_cap, m->amended_used + width, sizeof *m->amended,
                 CELLS_MAX))
        return GPUFL_E_NOMEM;
    m->amends[m->amend_count++] = (struct image_amend){table, place, m->amended_used};
    memcpy(m->amended + m->amended_used, cells, width * sizeof *cells);
    m->amended_used += width;
    m->cells += width;
    return 0;
}

void image_positions(struct image *m, const struct store_position *p, unsigned n)
{
    m->position_count = n < STORE_POSITIONS_MAX ? n : STORE_POSITIONS_MAX;
    if (n) /* if n is 0, p may be NULL */
        memcpy(m->positions, p, m->position_count * sizeof *p);
}

const int64_t *image_cells(const struct image *m, unsigned table, size_t row)
{
    return m->tables[table].cells + row * store_table(table)->column_count;
}

struct store_text image_text(const struct image *m, int64_t cell)
{
    uint64_t place = (uint64_t)cell;
    if (cell == CELL_NULL)
        return (struct store_text){"", 0};
    return (struct store_text){m->texts.data + (place >> 32), place & 0xffffffff};
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { BITS = PAGE_CELLS / 64 };

/* Holds a page that is being filled, and the memory of its columns. */
struct paging {
    const struct image *m;
    const struct image_ask *ask;
    struct page page;
    size_t room;              /* rows */
    int64_t *cells;           /* owned: room of them a column */
    uint64_t *valid;          /* owned: BITS a column */
    struct store_text *texts; /* owned: room of them a column; NULL: none has texts */
};

static struct store_text page_text_of(const struct page *p, unsigned column, size_t row)
{
    return ((const struct store_text *)p->data[column])[row];
}

static bool has_texts(const struct image_ask *ask)
{
    for (unsigned i = 0; i < ask->column_count; i++) {
        enum cell_type type = store_table(ask->table)->columns[ask->columns[i]].type;
        if (type == CELL_TEXT || type == CELL_BYTES)
            return true;
    }
    return false;
}

/* Returns the number of rows of a page. */
static size_t page_room(const struct image *m, unsigned table)
{
    size_t rows = image_rows(m, table);
    return rows < PAGE_CELLS ? rows : PAGE_CELLS;
}

static int paging_open(struct paging *p, const struct image *m, const struct image_ask *ask)
{
    bool texts = has_texts(ask);
    *p = (struct paging){.m = m, .ask = ask, .room = page_room(m, ask->table)};
    p->cells = mem_array(ask->column_count, p->room * sizeof *p->cells);
    p->valid = mem_array(ask->column_count, BITS * sizeof *p->valid);
    p->texts = texts ? mem_array(ask->column_count, p->room * sizeof *p->texts) : NULL;
    p->page.columns = ask->column_count;
    p->page.text = page_text_of;
    return p->cells && p->valid && (p->texts || !texts) ? 0 : GPUFL_E_NOMEM;
}

static void paging_close(struct paging *p)
{
    mem_free(p->cells);
    mem_free(p->valid);
    mem_free(p->texts);
}

static void put_row(struct paging *p, const int64_t *row)
{
    const struct table *t = store_table(p->ask->table);
    size_t at = p->page.rows++;
    for (unsigned i = 0; i < p->ask->column_count; i++) {
        unsigned c = p->ask->columns[i];
        if (t->columns[c].type == CELL_TEXT || t->columns[c].type == CELL_BYTES)
            /* NOLINTNEXTLINE: texts is there, since has_texts looked at the same columns */
            p->texts[(size_t)i * p->room + at] = image_text(p->m, row[c]);
        else
            p->cells[(size_t)i * p->room + at] = row[c];
        if (row[c] == CELL_NULL)
            p->valid[(size_t)i * BITS + at / 64] &= ~(UINT64_C(1) << (at % 64));
    }
}

static void page_begin(struct paging *p)
{
    p->page.rows = 0;
    memset(p->valid, 0xff, p->ask->column_count * BITS * sizeof *p->valid);
}

static int page_end(struct paging *p, ask_take take, void *arg)
{
    const struct table *t = store_table(p->ask->table);
    if (!p->page.rows)
        return 0;
    for (unsigned i = 0; i < p->ask->column_count; i++) {
        enum cell_type type = t->columns[p->ask->columns[i]].type;
        bool text = type == CELL_TEXT || type == CELL_BYTES;
        p->page.data[i] = text ? (const void *)(p->texts + (size_t)i * p->room)
                               : (const void *)(p->cells + (size_t)i * p->room);
        p->page.valid[i] = p->valid + (size_t)i * BITS;
    }
    int rc = take(arg, &p->page);
    page_begin(p);
    return rc;
}

static bool is_wanted(const struct image_ask *ask, const int64_t *row)
{
    return ask->time < 0 || (row[ask->time] != CELL_NULL && row[ask->time] >= ask->from &&
                             row[ask->time] <= ask->to);
}

int image_pages(const struct image *m, const struct image_ask *ask, ask_take take, void *arg)
{
    struct paging p;
    size_t rows = image_rows(m, ask->table);
    if (!rows)
        return 0;
    int rc = paging_open(&p, m, ask);
    if (!rc)
        page_begin(&p);
    for (size_t i = 0; !rc && i < rows; i++) {
        const int64_t *row = image_cells(m, ask->table, i);
        if (is_wanted(ask, row))
            put_row(&p, row);
        if (p.page.rows == p.room)
            rc = page_end(&p, take, arg);
    }
    rc = rc ? rc : page_end(&p, take, arg);
    paging_close(&p);
    return rc;
}

int image_table_pages(const struct image *m, unsigned table, unsigned columns, ask_take take,
                      void *arg)
{
    unsigned numbers[RECORD_MAX_COLUMNS];
    for (unsigned i = 0; i < columns; i++)
        numbers[i] = i;
    const struct image_ask ask = {table, numbers, columns, -1, 0, 0};
    return image_pages(m, &ask, take, arg);
}
