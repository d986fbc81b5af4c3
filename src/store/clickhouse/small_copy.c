/* small_copy.c - see small_copy.h. Rows keep their form of table `small`: their numbers, and their
 * texts. Columns are made from them page by page. */
#include "store/clickhouse/small_copy.h"

#include "base/alloc.h"
#include "base/order.h"
#include "store/clickhouse/small.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES_MAX = 32 << 20, COPY_ROWS_MAX = 1 << 20, PAGE_ROWS = 512 };

/* Describes a row: where its cells are, and their number. */
struct row {
    unsigned place;
    int64_t level, rowid, commit;
    size_t cells, texts; /* indexes of the first ones in the copy's arrays */
    unsigned cell_count, text_count;
};

struct text_at {
    size_t at, len; /* in the copy's bytes */
};

struct small_copy {
    struct row *rows; /* owned: by place, level, rowid */
    size_t count, cap;
    struct buf cells, texts, bytes; /* of int64_t; of struct text_at; the bytes of the texts */
};

/* ---- read ------------------------------------------------------------------------------------ */

enum { C_TABLE, C_LEVEL, C_ROWID, C_COMMIT, C_CELLS, C_TEXTS, C_COUNT };

/* Returns where the list of a row begins; *count gets its length. */
static size_t list_of(const struct page *p, unsigned column, size_t row, unsigned *count)
{
    const int64_t *ends = p->ends[column];
    size_t from = row ? (size_t)ends[row - 1] : 0;
    *count = (unsigned)((size_t)ends[row] - from);
    return from;
}

static void add_texts(struct small_copy *c, const struct page *p, size_t from, unsigned count)
{
    for (size_t i = from; i < from + count; i++) {
        struct store_text text = p->text(p, C_TEXTS, i);
        const struct text_at at = {c->bytes.len, text.len};
        buf_put(&c->bytes, text.at, text.len);
        buf_put(&c->texts, &at, sizeof at);
    }
}

static int take_rows(void *arg, const struct page *p)
{
    struct small_copy *c = arg;
    if (p->columns != C_COUNT || !p->ends[C_CELLS] || !p->ends[C_TEXTS])
        return GPUFL_E_CORRUPT;
    int rc = mem_grow(&c->rows, &c->cap, c->count + p->rows, sizeof *c->rows, COPY_ROWS_MAX);
    for (size_t i = 0; !rc && i < p->rows; i++) {
        int place = place_find(page_text(p, C_TABLE, i));
        if (place < 0) /* a table of a newer version */
            continue;
        struct row *r = &c->rows[c->count++];
        *r = (struct row){.place = (unsigned)place,
                          .level = page_int(p, C_LEVEL, i),
                          .rowid = page_int(p, C_ROWID, i),
                          .commit = page_int(p, C_COMMIT, i),
                          .cells = c->cells.len / sizeof(int64_t),
                          .texts = c->texts.len / sizeof(struct text_at)};
        size_t from = list_of(p, C_CELLS, i, &r->cell_count);
        buf_put(&c->cells, (const int64_t *)p->data[C_CELLS] + from,
                r->cell_count * sizeof(int64_t));
        from = list_of(p, C_TEXTS, i, &r->text_count);
        add_texts(c, p, from, r->text_count);
    }
    if (buf_error(&c->cells) || buf_error(&c->texts) || buf_error(&c->bytes))
        return GPUFL_E_FULL;
    return rc;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    int order = compare(a->place, b->place);
    order = order ? order : compare(a->level, b->level);
    order = order ? order : compare(a->rowid, b->rowid);
    return order ? order : compare(a->commit, b->commit);
}

/* Keeps only the last version of rows that were written again. */
static void drop_replaced(struct small_copy *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct row *r = &c->rows[i], *next = r + 1;
        bool replaced = i + 1 < c->count && place_completed(r->place) && next->place == r->place &&
                        next->rowid == r->rowid;
        if (!replaced)
            c->rows[kept++] = *r;
    }
    c->count = kept;
}

static int read_rows(struct small_copy *c, const struct store_session *ss, const struct state *t,
                     struct err *e)
{
    struct buf text;
    buf_init(&text, STATE_STATEMENT_MAX);
    buf_str(&text, "SELECT in_table, in_level, rowid, commit, cells, texts FROM ");
    place_put(&text, ss->store, ss->workspace->name, place_name(TABLE_about));
    buf_str(&text, " PREWHERE "); /* like small_put_place */
    state_where(&text, ss, t);
    buf_str(&text, " FORMAT Native");
    const struct link_question q = {text.data, text.len, take_rows, c, 0};
    int rc = buf_error(&text) ? err_nomem(e) : link_ask(&ss->store->links, ss->host, &q, e);
    buf_fini(&text);
    return rc;
}

int small_copy_open(struct small_copy **out, const struct store_session *ss, const struct state *t,
                    struct err *e)
{
    struct small_copy *c = mem_zalloc(sizeof *c);
    *out = NULL;
    if (!c)
        return err_nomem(e);
    buf_init(&c->cells, COPY_BYTES_MAX);
    buf_init(&c->texts, COPY_BYTES_MAX);
    buf_init(&c->bytes, COPY_BYTES_MAX);
    int rc = t->range_count ? read_rows(c, ss, t, e) : 0;
    if (rc) {
        small_copy_close(c);
        return rc;
    }
    if (c->count)
        qsort(c->rows, c->count, sizeof *c->rows, by_place);
    drop_replaced(c);
    *out = c;
    return 0;
}

void small_copy_close(struct small_copy *c)
{
    if (!c)
        return;
    buf_fini(&c->cells);
    buf_fini(&c->texts);
    buf_fini(&c->bytes);
    mem_free(c->rows);
    mem_free(c);
}

/* ---- what a reader gets ---------------------------------------------------------------------- */

/* Returns the index of the first row that is not before this place and level. */
static size_t find(const struct small_copy *c, unsigned place, int64_t level)
{
    return ORDER_PLACE(c->count, i,
                       c->rows[i].place < place ||
                           (c->rows[i].place == place && c->rows[i].level < level));
}

static struct store_text text_of(const struct page *p, unsigned column, size_t row)
{
    return ((const struct store_text *)p->data[column])[row];
}

/* Holds a page of columns, each with PAGE_ROWS cells of 16 bytes. */
struct columns {
    struct page page;
    char *cells; /* owned */
};

static void *column_at(const struct columns *to, unsigned column)
{
    return to->cells + (size_t)column * PAGE_ROWS * sizeof(struct store_text);
}

/* Rows of an earlier version have fewer cells; missing cells are unknown. */
static void put_row(struct columns *to, const struct small_copy *c, const struct table *t,
                    const struct row *r, size_t at)
{
    const int64_t *cells = (const int64_t *)(const void *)c->cells.data + r->cells;
    const struct text_at *texts = (const struct text_at *)(const void *)c->texts.data + r->texts;
    unsigned cell = 0, text = 0;
    for (unsigned i = 0; i < t->column_count; i++) {
        enum cell_type type = t->columns[i].type;
        if (type == CELL_TEXT || type == CELL_BYTES) {
            struct store_text *out = column_at(to, i);
            const struct text_at *from = text < r->text_count ? &texts[text] : NULL;
            out[at] = from ? (struct store_text){c->bytes.data + from->at, from->len}
                           : (struct store_text){"", 0};
            text++;
        } else {
            int64_t *out = column_at(to, i);
            /* For a real number the bits. */
            out[at] = cell < r->cell_count ? cells[cell] : CELL_NULL;
            cell++;
        }
    }
}

int small_copy_read(const struct small_copy *c, unsigned table, ask_take take, void *arg)
{
    unsigned place = place_of(table);
    const struct table *t = store_table(place);
    int64_t level = place_levelled(place) ? place_level(table) : 0;
    size_t at = find(c, place, level), end = find(c, place, level + 1);
    struct columns to = {.page = {.columns = t->column_count, .text = text_of}};
    int rc = 0;
    if (at == end)
        return 0;
    to.cells = mem_array(t->column_count, PAGE_ROWS * sizeof(struct store_text));
    if (!to.cells)
        return GPUFL_E_NOMEM;
    for (unsigned i = 0; i < t->column_count; i++)
        to.page.data[i] = column_at(&to, i);
    while (!rc && at < end) {
        size_t n = end - at < PAGE_ROWS ? end - at : PAGE_ROWS;
        for (size_t i = 0; i < n; i++)
            put_row(&to, c, t, &c->rows[at + i], i);
        to.page.rows = n;
        rc = take(arg, &to.page);
        at += n;
    }
    mem_free(to.cells);
    return rc;
}
