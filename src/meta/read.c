/* read.c - reads results of statements as structs in the caller's region, and the cursors with
 * which lists continue.
 *
 * A cursor is the key of the last row, its id and a number, as text that can be part of a URL:
 * i<number>, r<bits of a double, hexadecimal> or t<text, hexadecimal>, then ~ and the id, then ~
 * and the number. It says where a page begins and gives no rights: the statement of the page is
 * bound to its workspace like every other. */
#include "meta/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists -------------------------------------------------------------------------------- */

struct list {
    const struct meta_row *row;
    struct region *mem;
    char *items; /* in mem */
    size_t count, cap;
};

static int list_row(void *arg, const struct meta_value *cells, unsigned n)
{
    struct list *l = arg;
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        char *items = region_array(l->mem, cap, l->row->size);
        if (!items)
            return GPUFL_E_FULL;
        if (l->count)
            memcpy(items, l->items, l->count * l->row->size);
        l->items = items;
        l->cap = cap;
    }
    int rc = meta_row_take(l->row, cells, n, l->mem, l->items + l->count * l->row->size);
    if (rc == 0)
        l->count++;
    return rc;
}

static int answer_error(int rc, const struct meta_row *row, struct err *e)
{
    if (rc == GPUFL_E_FULL)
        return err_set(e, rc, "the answer is larger than a request may take");
    return err_set(e, rc, "the database's columns do not fit those of %s", row->name);
}

int meta_list_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                 const struct meta_rows *into, struct err *e)
{
    struct list l = {.row = &meta_rows[into->row], .mem = into->mem};
    const struct meta_reader reader = {list_row, &l};
    struct err said = {0};
    int rc = meta_run(tx, s, a, &reader, NULL, &said);
    if (rc && rc != META_AGAIN && said.code == 0)
        answer_error(rc, l.row, &said);
    if (rc && e)
        *e = said;
    memcpy(into->rows, &l.items, sizeof l.items);
    *into->count = rc ? 0 : l.count;
    return rc;
}

struct list_call {
    enum meta_statement_id s;
    const struct meta_args *a;
    struct meta_rows into;
};

static int list_call_run(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct list_call *c = arg;
    return meta_list_tx(tx, c->s, c->a, &c->into, e);
}

int meta_list(const struct meta_ask *ask, enum meta_statement_id s, const struct meta_args *a,
              enum meta_row_id row, void *rows, size_t *count)
{
    struct list_call c = {s, a, {row, ask->mem, rows, count}};
    return meta_read(ask->m, ask->workspace, list_call_run, &c, ask->e);
}

/* ---- one row ------------------------------------------------------------------------------ */

struct one_reading {
    const struct meta_one *one;
    unsigned rows; /* seen */
};

static int one_part(const struct meta_part *p, const struct meta_value *cells, unsigned n,
                    struct region *mem, unsigned *taken)
{
    if (p->row != META_ROW_COUNT) {
        *taken = meta_rows[p->row].field_count;
        return meta_row_take(&meta_rows[p->row], cells, n, mem, p->out);
    }
    *taken = 1;
    if (n == 0 || cells[0].kind != META_KIND_TEXT || cells[0].null)
        return GPUFL_E_CORRUPT;
    const char *text = region_copy(mem, cells[0].at, cells[0].len);
    memcpy(p->out, &text, sizeof text);
    return text ? 0 : GPUFL_E_FULL;
}

static int one_row(void *arg, const struct meta_value *cells, unsigned n)
{
    struct one_reading *r = arg;
    unsigned at = 0, taken = 0;
    if (r->rows++)
        return 0;
    for (unsigned i = 0; i < r->one->part_count; i++, at += taken) {
        int rc = one_part(&r->one->parts[i], cells + at, n - at, r->one->mem, &taken);
        if (rc)
            return rc;
    }
    return at == n ? 0 : GPUFL_E_CORRUPT;
}

int meta_get_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                const struct meta_one *one, struct err *e)
{
    struct one_reading r = {one, 0};
    const struct meta_reader reader = {one_row, &r};
    struct err said = {0};
    int rc = meta_run(tx, s, a, &reader, NULL, &said);
    if (rc == 0 && r.rows == 0)
        rc = err_set(&said, GPUFL_E_NOENT, "no such %s", one->what);
    if (rc && rc != META_AGAIN && said.code == 0)
        err_set(&said, rc, "%s: %s", one->what, err_text(rc));
    if (rc && e)
        *e = said;
    return rc;
}

struct get_call {
    enum meta_statement_id s;
    const struct meta_args *a;
    struct meta_one one;
};

static int get_call_run(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct get_call *c = arg;
    return meta_get_tx(tx, c->s, c->a, &c->one, e);
}

int meta_get(const struct meta_ask *ask, enum meta_statement_id s, const struct meta_args *a,
             const struct meta_part *parts, unsigned part_count, const char *what)
{
    struct get_call c = {s, a, {parts, part_count, ask->mem, what}};
    return meta_read(ask->m, ask->workspace, get_call_run, &c, ask->e);
}

int meta_get_by(const struct meta_ask *ask, enum meta_statement_id s, enum meta_row_id row,
                const char *key, void *out, const char *what)
{
    const struct meta_part part = {row, out};
    struct meta_args a = {0};
    meta_arg_text(&a, key);
    return meta_get(ask, s, &a, &part, 1, what);
}

/* ---- one number --------------------------------------------------------------------------- */

static int number_row(void *arg, const struct meta_value *cells, unsigned n)
{
    if (n != 1 || cells[0].kind != META_KIND_INT || cells[0].null)
        return GPUFL_E_CORRUPT;
    *(int64_t *)arg = cells[0].i;
    return 0;
}

int meta_number_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                   int64_t *out, struct err *e)
{
    const struct meta_reader reader = {number_row, out};
    *out = 0;
    return meta_run(tx, s, a, &reader, NULL, e);
}

struct number_call {
    enum meta_statement_id s;
    const struct meta_args *a;
    int64_t *out;
};

static int number_call_run(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct number_call *c = arg;
    return meta_number_tx(tx, c->s, c->a, c->out, e);
}

int meta_number(struct meta *m, const char *workspace, enum meta_statement_id s,
                const struct meta_args *a, int64_t *out, struct err *e)
{
    struct number_call c = {s, a, out};
    return meta_read(m, workspace, number_call_run, &c, e);
}

/* ---- pages -------------------------------------------------------------------------------- */

unsigned meta_page_limit(unsigned limit)
{
    enum { USUAL = 50 };
    return limit == 0 ? USUAL : limit > META_PAGE_MAX ? META_PAGE_MAX : limit;
}

/* This is the position before every row: below or above every key that a row can have. */
static void cursor_first(enum meta_kind kind, bool ascending, struct meta_cursor *c)
{
    static const char above[] = "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf"; /* U+10FFFF twice */
    c->number = ascending ? INT64_MIN + 1 : INT64_MAX;
    c->key.i = c->number;
    c->key.r = ascending ? -INFINITY : INFINITY;
    if (kind == META_KIND_TEXT && !ascending)
        memcpy(c->text, above, sizeof above);
    c->key.len = strlen(c->text);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hexadecimal text up to ~; NULL: it is malformed. */
static const char *hex_read(const char *at, struct meta_cursor *c)
{
    size_t n = 0;
    while (*at && *at != '~') {
        int high = hex_digit(at[0]), low = high < 0 ? -1 : hex_digit(at[1]);
        if (low < 0 || n + 1 >= sizeof c->text)
            return NULL;
        c->text[n++] = (char)(high << 4 | low);
        at += 2;
    }
    c->text[n] = '\0';
    c->key.len = n;
    return strlen(c->text) == n ? at : NULL;
}

static const char *key_read(const char *at, enum meta_kind kind, struct meta_cursor *c)
{
    char *end = NULL;
    errno = 0;
    if (kind == META_KIND_TEXT)
        return *at == 't' ? hex_read(at + 1, c) : NULL;
    if (*at != (kind == META_KIND_INT ? 'i' : 'r'))
        return NULL;
    if (kind == META_KIND_INT) {
        c->key.i = strtoll(at + 1, &end, 10);
    } else {
        uint64_t bits = strtoull(at + 1, &end, 16);
        memcpy(&c->key.r, &bits, sizeof bits);
    }
    return errno || end == at + 1 || isnan(c->key.r) ? NULL : end;
}

static const char *id_read(const char *at, struct meta_cursor *c)
{
    if (*at++ != '~')
        return NULL;
    size_t n = strcspn(at, "~");
    if (n >= sizeof c->id)
        return NULL;
    memcpy(c->id, at, n);
    c->id[n] = '\0';
    return meta_id_ok(c->id) || n == 0 ? at + n : NULL;
}

static bool cursor_read(const char *after, enum meta_kind kind, struct meta_cursor *c)
{
    char *end = NULL;
    const char *at = key_read(after, kind, c);
    at = at ? id_read(at, c) : NULL;
    if (!at || *at != '~')
        return false;
    errno = 0;
    c->number = strtoll(at + 1, &end, 10);
    return !errno && end != at + 1 && !*end;
}

static int no_room(struct err *e)
{
    return err_set(e, GPUFL_E_FULL, "the answer is larger than a request may take");
}

int meta_page_begin(const struct meta_ask *ask, struct meta_page *page, enum meta_kind kind,
                    bool ascending, struct meta_cursor **out)
{
    struct meta_cursor *c = region_array(ask->mem, 1, sizeof *c);
    page->next = NULL;
    *out = c;
    if (!c)
        return no_room(ask->e);
    c->key.kind = kind;
    c->key.at = c->text;
    if (!page->after || !*page->after)
        cursor_first(kind, ascending, c);
    else if (!cursor_read(page->after, kind, c))
        return err_set(ask->e, GPUFL_E_INVAL, "the page's cursor is not from this list");
    return 0;
}

int meta_page_end(const struct meta_ask *ask, struct meta_page *page, const struct meta_value *key,
                  const char *id, int64_t number)
{
    struct buf b;
    uint64_t bits = 0;
    buf_init(&b, 3 * (size_t)META_TEXT_MAX);
    if (key->kind == META_KIND_INT) {
        buf_printf(&b, "i%" PRId64, key->i);
    } else if (key->kind == META_KIND_REAL) {
        memcpy(&bits, &key->r, sizeof bits);
        buf_printf(&b, "r%" PRIx64, bits);
    } else {
        buf_char(&b, 't');
        for (size_t i = 0; i < key->len; i++)
            buf_printf(&b, "%02x", (unsigned)(unsigned char)key->at[i]);
    }
    buf_printf(&b, "~%s~%" PRId64, id, number);
    page->next = buf_error(&b) ? NULL : region_copy(ask->mem, b.data, b.len);
    buf_fini(&b);
    return page->next ? 0 : no_room(ask->e);
}

bool meta_page_more(const struct meta_page *page, size_t *count)
{
    unsigned limit = meta_page_limit(page->limit);
    if (*count <= limit)
        return false;
    *count = limit;
    return true;
}

int meta_page_list(const struct meta_ask *ask, enum meta_statement_id s, enum meta_row_id row,
                   struct meta_page *page, void *rows, size_t *count)
{
    struct meta_cursor *c = NULL;
    struct meta_args a = {0};
    int rc = meta_page_begin(ask, page, META_KIND_INT, false, &c);
    if (rc)
        return rc;
    meta_arg_int(&a, c->key.i);
    meta_arg_text(&a, c->id);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    return meta_list(ask, s, &a, row, rows, count);
}
