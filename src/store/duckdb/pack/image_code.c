/* image_code.c - writes an image as bytes: section by section, a table's rows column by column.
 *
 *   section  := 1 table columns rows column…     rows of a table
 *             | 2 table columns place cell…      a row written again
 *             | 3 n (name cell)…                 positions of channels
 *   table, name := length, bytes
 *
 * Numbers are LEB128; a cell is the zigzag of its difference from the cell above, in 64 bits
 * without overflow. Texts are their lengths, then their bytes. Reals are their 8 bytes. The caller
 * deflates the bytes. */
#include "store/duckdb/pack/image.h"

#include <string.h>

enum { SECTION_ROWS = 1, SECTION_AMEND, SECTION_POSITIONS };

static bool is_text(enum cell_type type)
{
    return type == CELL_TEXT || type == CELL_BYTES;
}

/* ---- to bytes -------------------------------------------------------------------------------- */

static void put_number(struct buf *b, uint64_t v)
{
    char bytes[10];
    size_t n = 0;
    if (v < 0x80) {
        buf_char(b, (char)v);
        return;
    }
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    buf_put(b, bytes, n);
}

static void put_cell(struct buf *b, int64_t cell, int64_t above)
{
    int64_t d = (int64_t)((uint64_t)cell - (uint64_t)above);
    put_number(b, (uint64_t)d << 1 ^ (uint64_t)(d >> 63));
}

static void put_name(struct buf *b, const char *name, size_t len)
{
    put_number(b, len);
    buf_put(b, name, len);
}

static void put_texts(struct buf *b, const struct image *m, unsigned table, unsigned c)
{
    size_t rows = image_rows(m, table);
    for (size_t i = 0; i < rows; i++)
        put_number(b, image_text(m, image_cells(m, table, i)[c]).len);
    for (size_t i = 0; i < rows; i++) {
        struct store_text t = image_text(m, image_cells(m, table, i)[c]);
        buf_put(b, t.at, t.len);
    }
}

static void put_rows(struct buf *b, const struct image *m, unsigned table)
{
    const struct table *t = store_table(table);
    size_t rows = image_rows(m, table);
    const int64_t *cells = m->tables[table].cells;
    put_number(b, SECTION_ROWS);
    put_name(b, t->name, strlen(t->name));
    put_number(b, t->column_count);
    put_number(b, rows);
    for (unsigned c = 0; c < t->column_count; c++) {
        int64_t above = 0;
        if (is_text(t->columns[c].type)) {
            put_texts(b, m, table, c);
            continue;
        }
        for (size_t i = 0; i < rows; i++) {
            int64_t cell = cells[i * t->column_count + c];
            if (t->columns[c].type == CELL_REAL)
                buf_put(b, &cell, sizeof cell);
            else
                put_cell(b, cell, above);
            above = cell;
        }
    }
}

static void put_amend(struct buf *b, const struct image *m, const struct image_amend *a)
{
    const struct table *t = store_table(a->table);
    put_number(b, SECTION_AMEND);
    put_name(b, t->name, strlen(t->name));
    put_number(b, t->column_count);
    put_number(b, (uint64_t)a->place);
    for (unsigned c = 0; c < t->column_count; c++)
        put_cell(b, m->amended[a->at + c], 0);
}

void image_encode(const struct image *m, struct buf *out)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (image_rows(m, i))
            put_rows(out, m, i);
    for (size_t i = 0; i < m->amend_count; i++)
        put_amend(out, m, &m->amends[i]);
    if (!m->position_count)
        return;
    put_number(out, SECTION_POSITIONS);
    put_number(out, m->position_count);
    for (unsigned i = 0; i < m->position_count; i++) {
        const struct store_position *p = &m->positions[i];
        put_name(out, p->channel, strnlen(p->channel, sizeof p->channel));
        put_cell(out, p->offset, 0);
    }
}

/* ---- from bytes ------------------------------------------------------------------------------ */

/* Holds bytes being read; bad: some of them are not valid. */
struct reading {
    const unsigned char *at, *end;
    bool bad, newer;
};

static uint64_t take_number(struct reading *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    r->bad = true;
    return 0;
}

static int64_t take_cell(struct reading *r, int64_t above)
{
    uint64_t z = take_number(r);
    return (int64_t)((uint64_t)above + (z >> 1 ^ -(z & 1)));
}

/* Takes n bytes; NULL: there are fewer. */
static const char *take_bytes(struct reading *r, uint64_t n)
{
    const char *at = (const char *)r->at;
    if (r->bad || n > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    r->at += n;
    return at;
}

/* Takes the table of a section and its number of columns; -1: the table is unknown. */
static int take_table(struct reading *r, uint64_t *columns)
{
    uint64_t len = take_number(r);
    const char *name = take_bytes(r, len);
    int table = name ? store_table_find(name, len) : -1;
    *columns = take_number(r);
    if (r->bad)
        return -1;
    r->newer = table < 0 || *columns > store_table((unsigned)table)->column_count;
    r->bad = r->newer || !*columns;
    return r->bad ? -1 : table;
}

/* All lengths come first, then the bytes, so two readers advance in parallel. */
static int take_texts(struct reading *r, struct image *m, int64_t *cells, size_t rows,
                      unsigned width)
{
    struct reading lengths = *r;
    for (size_t i = 0; i < rows; i++)
        take_number(r);
    for (size_t i = 0; i < rows; i++) {
        uint64_t len = take_number(&lengths);
        const char *bytes = take_bytes(r, len);
        if (!bytes)
            return 0;
        cells[i * width] = (int64_t)(m->texts.len << 32 | len);
        buf_put(&m->texts, bytes, len);
    }
    return buf_error(&m->texts) ? GPUFL_E_NOMEM : 0;
}

static void take_column(struct reading *r, enum cell_type type, int64_t *cells, size_t rows,
                        unsigned width)
{
    int64_t above = 0;
    for (size_t i = 0; i < rows && !r->bad; i++) {
        if (type == CELL_REAL) {
            const char *bytes = take_bytes(r, sizeof above);
            if (bytes)
                memcpy(&above, bytes, sizeof above);
        } else {
            above = take_cell(r, above);
        }
        cells[i * width] = above;
    }
}

static int take_rows(struct reading *r, struct image *m)
{
    static const int64_t *const unknown[RECORD_MAX_COLUMNS];
    uint64_t columns, rows;
    int table = take_table(r, &columns), rc = 0;
    rows = take_number(r);
    if (r->bad || rows > (uint64_t)(r->end - r->at)) { /* a cell has at least one byte */
        r->bad = true;
        return 0;
    }
    const struct table *t = store_table((unsigned)table);
    size_t before = m->tables[table].used;
    rc = image_columns(m, (unsigned)table, unknown, rows);
    for (unsigned c = 0; !rc && !r->bad && c < columns; c++) {
        int64_t *cells = m->tables[table].cells + before + c;
        if (is_text(t->columns[c].type))
            rc = take_texts(r, m, cells, rows, t->column_count);
        else
            take_column(r, t->columns[c].type, cells, rows, t->column_count);
    }
    return rc;
}

static void take_amend(struct reading *r, struct image *m)
{
    uint64_t columns;
    int table = take_table(r, &columns);
    uint64_t place = take_number(r);
    if (r->bad || place >= image_rows(m, (unsigned)table)) {
        r->bad = true;
        return;
    }
    int64_t *row = m->tables[table].cells + place * store_table((unsigned)table)->column_count;
    for (unsigned c = 0; c < columns; c++)
        row[c] = take_cell(r, 0);
}

static void take_positions(struct reading *r, struct image *m)
{
    uint64_t n = take_number(r);
    r->bad |= n > STORE_POSITIONS_MAX;
    m->position_count = r->bad ? 0 : (unsigned)n;
    for (unsigned i = 0; i < m->position_count && !r->bad; i++) {
        struct store_position *p = &m->positions[i];
        uint64_t len = take_number(r);
        const char *name = take_bytes(r, len);
        r->bad |= len >= sizeof p->channel;
        memset(p, 0, sizeof *p);
        if (name && !r->bad)
            memcpy(p->channel, name, len);
        p->offset = take_cell(r, 0);
    }
}

int image_decode(struct image *m, const char *data, size_t n, struct err *e)
{
    struct reading r = {(const unsigned char *)data, (const unsigned char *)data + n, false, false};
    int rc = 0;
    while (!rc && !r.bad && r.at < r.end)
        switch (take_number(&r)) {
        case SECTION_ROWS:
            rc = take_rows(&r, m);
            break;
        case SECTION_AMEND:
            take_amend(&r, m);
            break;
        case SECTION_POSITIONS:
            take_positions(&r, m);
            break;
        default:
            r.bad = true;
        }
    if (rc)
        return err_nomem(e);
    if (!r.bad)
        return 0;
    return err_set(e, GPUFL_E_CORRUPT, "%s",
                   r.newer ? "a newer version of this program wrote it"
                           : "its bytes are not what was written");
}
