/* small.c - see small.h. */
#include "store/clickhouse/small.h"

#include "base/alloc.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "toInt64('-9223372036854775808')" /* CELL_NULL; its bits as a real are -0.0 */

static bool is_text(const struct table *t, unsigned column)
{
    return t->columns[column].type == CELL_TEXT || t->columns[column].type == CELL_BYTES;
}

/* ---- read ------------------------------------------------------------------------------------ */

/* A row of an older version lacks columns that were added later, which are then unknown. */
static void put_column(struct buf *b, const struct table *t, unsigned column)
{
    unsigned at = 1; /* arrays begin with 1 */
    for (unsigned i = 0; i < column; i++)
        at += is_text(t, i) == is_text(t, column);
    static const char cell[] = "if(length(cells) < %u, " UNKNOWN ", cells[%u])";
    char text[128];
    snprintf(text, sizeof text, is_text(t, column) ? "texts[%u]" : cell, at, at);
    if (t->columns[column].type == CELL_REAL)
        buf_printf(b, ", reinterpretAsFloat64(reinterpretAsString(%s)) AS ", text);
    else
        buf_printf(b, ", %s AS ", text);
    literal_name(b, t->columns[column].name);
}

static void put_small(struct buf *b, const struct store *s, const char *workspace, bool all)
{
    if (all)
        place_put_all(b, s, workspace, place_name(TABLE_about));
    else
        place_put(b, s, workspace, place_name(TABLE_about));
}

void small_put_place(struct buf *b, const struct store_session *ss, const struct state *t,
                     unsigned table, bool all)
{
    unsigned place = place_of(table);
    const struct table *of = store_table(place);
    const char *workspace = ss->workspace->name;
    if (!t->small) {
        if (all)
            place_put_all(b, ss->store, workspace, place_name(place));
        else
            place_put(b, ss->store, workspace, place_name(place));
        return;
    }
    buf_str(b, "(SELECT session, commit");
    buf_str(b, place_levelled(place) ? ", in_level AS level" : "");
    buf_str(b, place_numbered(place) ? ", run, rowid" : "");
    for (unsigned i = 0; i < of->column_count; i++)
        put_column(b, of, i);
    buf_str(b, " FROM ");
    put_small(b, ss->store, workspace, all);
    /* PREWHERE, so that cells of rows that do not count are not read: those may be damaged. */
    buf_printf(b, " %s in_table = '%s' AND ", all ? "WHERE" : "PREWHERE", place_name(place));
    state_where(b, ss, t);
    buf_char(b, ')');
}

/* ---- written --------------------------------------------------------------------------------- */

bool small_fits(const struct writer *w)
{
    size_t bytes = 0;
    int64_t rows = 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        rows += w->next.rows[i];
        bytes += w->places[i] ? click_rows_bytes(w->places[i]) : 0;
    }
    return rows <= SMALL_ROWS && bytes <= SMALL_BYTES;
}

/* Puts the cell of a column of the block, for a row of a place. */
typedef void (*put_cell)(struct buf *body, const struct rows *r, size_t row);

static int64_t mark_of(const struct rows *r, size_t row)
{
    int64_t mark;
    memcpy(&mark, r->marks.data + row * sizeof mark, sizeof mark);
    return mark;
}

static int64_t rowid_of(const struct rows *r, size_t row)
{
    if (!place_numbered(r->place))
        return 0;
    return place_completed(r->place) ? mark_of(r, row) : r->first + (int64_t)row;
}

static void put_int(struct buf *body, int64_t v)
{
    buf_put(body, &v, sizeof v);
}

static void put_place_name(struct buf *body, const struct rows *r, size_t row)
{
    (void)row;
    native_text(body, place_name(r->place), strlen(place_name(r->place)));
}

static void put_level(struct buf *body, const struct rows *r, size_t row)
{
    put_int(body, place_levelled(r->place) ? mark_of(r, row) : 0);
}

static void put_run(struct buf *body, const struct rows *r, size_t row)
{
    put_int(body, rowid_of(r, row) >> RUN_SHIFT);
}

static void put_rowid(struct buf *body, const struct rows *r, size_t row)
{
    put_int(body, rowid_of(r, row));
}

static void put_cells(struct buf *body, const struct rows *r, size_t row)
{
    for (unsigned i = 0; i < r->table->column_count; i++)
        if (!is_text(r->table, i))
            buf_put(body, r->columns[i].data + row * sizeof(int64_t), sizeof(int64_t));
}

static void put_each(struct buf *body, const struct writer *w, const char *name, const char *type,
                     put_cell put)
{
    native_column(body, name, type);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        for (size_t row = 0; w->places[i] && row < w->places[i]->count; row++)
            put(body, w->places[i], row);
}

static void put_same(struct buf *body, const char *name, const char *type, int64_t v, size_t n)
{
    native_column(body, name, type);
    for (size_t i = 0; i < n; i++)
        put_int(body, v);
}

static unsigned count_of(const struct table *t, bool texts)
{
    unsigned n = 0;
    for (unsigned i = 0; i < t->column_count; i++)
        n += is_text(t, i) == texts;
    return n;
}

/* Puts where each array ends. */
static void put_ends(struct buf *body, const struct writer *w, bool texts)
{
    int64_t end = 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        for (size_t row = 0; w->places[i] && row < w->places[i]->count; row++) {
            end += count_of(w->places[i]->table, texts);
            put_int(body, end);
        }
}

/* Returns the number of bytes of the text at an offset of a column, with its length (native.h). */
static size_t text_size(const struct buf *b, size_t at)
{
    size_t length = 0, used = 0;
    unsigned char c;
    do {
        c = (unsigned char)b->data[at + used];
        length |= (size_t)(c & 0x7f) << (7 * used++);
    } while (c & 0x80);
    return used + length;
}

static void put_texts_of(struct buf *body, const struct rows *r)
{
    size_t at[RECORD_MAX_COLUMNS] = {0};
    for (size_t row = 0; row < r->count; row++)
        for (unsigned i = 0; i < r->table->column_count; i++) {
            if (!is_text(r->table, i))
                continue;
            size_t n = text_size(&r->columns[i], at[i]);
            buf_put(body, r->columns[i].data + at[i], n);
            at[i] += n;
        }
}

static void put_block(struct buf *body, const struct store_session *ss, const struct writer *w,
                      size_t n)
{
    native_block(body, 8, n);
    put_same(body, "session", "UInt64", (int64_t)ss->key, n);
    put_same(body, "commit", "Int64", w->number, n);
    put_each(body, w, "in_table", "String", put_place_name);
    put_each(body, w, "in_level", "Int64", put_level);
    put_each(body, w, "run", "Int64", put_run);
    put_each(body, w, "rowid", "Int64", put_rowid);
    native_column(body, "cells", "Array(Int64)");
    put_ends(body, w, false);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        for (size_t row = 0; w->places[i] && row < w->places[i]->count; row++)
            put_cells(body, w->places[i], row);
    native_column(body, "texts", "Array(String)");
    put_ends(body, w, true);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->places[i])
            put_texts_of(body, w->places[i]);
}

int small_gather(struct store_session *ss, struct buf *body, struct err *e)
{
    struct writer *w = ss->writer;
    size_t n = 0;
    int rc = 0;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++) {
        n += w->places[i] ? w->places[i]->count : 0;
        rc = w->places[i] ? click_rows_check(w->places[i]) : 0;
    }
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    if (!n)
        return 0;
    rc = place_ready(ss->store, ss->workspace, TABLE_about, e);
    if (rc)
        return rc;
    put_block(body, ss, w, n);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->places[i])
            click_rows_clear(w->places[i], w->places[i]->first + (int64_t)w->places[i]->count);
    return buf_error(body) ? err_nomem(e) : 0;
}

int small_send(const struct store_session *any, const struct buf *body, struct err *e)
{
    struct buf into;
    if (!body->len)
        return 0;
    buf_init(&into, 4096);
    place_put(&into, any->store, any->workspace->name, place_name(TABLE_about));
    int rc = link_insert(&any->store->links, any->host, buf_cstr(&into), body->data, body->len, e);
    buf_fini(&into);
    return rc;
}

/* ---- grown ----------------------------------------------------------------------------------- */

/* Copies the rows of a place; of rows that were written again, the last version. */
static int copy_place(struct store_session *ss, unsigned place, struct err *e)
{
    const struct writer *w = ss->writer;
    const struct table *t = store_table(place);
    struct buf text;
    int rc = place_ready(ss->store, ss->workspace, place, e);
    buf_init(&text, STATE_STATEMENT_MAX);
    buf_str(&text, "INSERT INTO ");
    place_put(&text, ss->store, ss->workspace->name, place_name(place));
    for (int into = 1; into >= 0; into--) {
        buf_str(&text, into ? " (session, commit" : "SELECT session, ");
        if (!into)
            literal_int(&text, w->number);
        buf_str(&text, place_levelled(place) ? ", level" : "");
        buf_str(&text, place_numbered(place) ? ", run, rowid" : "");
        for (unsigned i = 0; i < t->column_count; i++) {
            buf_str(&text, ", ");
            literal_name(&text, t->columns[i].name);
        }
        buf_str(&text, into ? ") " : " FROM ");
    }
    small_put_place(&text, ss, &w->state, place, false);
    buf_str(&text, " WHERE ");
    state_where_last(&text, ss, &w->state, place);
    if (!rc)
        rc = buf_error(&text) ? err_nomem(e)
                              : link_do(&ss->store->links, ss->host, buf_cstr(&text), e);
    buf_fini(&text);
    return rc;
}

int small_grow(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    int64_t rows[TABLE_COUNT] = {0};
    int rc = 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        rows[place_of(i)] += w->state.rows[i];
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (w->state.small && rows[i])
            rc = copy_place(ss, i, e);
    if (rc)
        return rc;
    w->next.small = false;
    if (w->state.small && !state_count(&w->next, w->number))
        w->next.commit = ++w->number;
    else if (w->state.small)
        return err_nomem(e);
    return 0;
}
