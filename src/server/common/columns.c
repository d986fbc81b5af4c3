/* columns.c - has a buffer a column, put together at the end. */
#include "server/common/columns.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20, NAMES_BYTES = 64 << 20 };

int columns_init(struct columns *c, const struct store_query_def *def, int64_t start, size_t max)
{
    *c = (struct columns){.def = def, .start = start, .max = max};
    bool names = false;
    for (unsigned i = 0; i < def->column_count; i++) {
        buf_init(&c->cells[i], max);
        names = names || def->columns[i].type == STORE_NAME;
    }
    return names ? intern_open(&c->names, NAMES_MAX, NAMES_BYTES) : 0;
}

void columns_fini(struct columns *c)
{
    for (unsigned i = 0; i < c->def->column_count; i++)
        buf_fini(&c->cells[i]);
    if (c->names)
        intern_close(c->names);
    c->names = NULL;
}

/* Names the form of an integer in JSON, by the unit of its column. */
enum form { FORM_NUMBER, FORM_TIME, FORM_TEXT };

static enum form form_of(const struct store_column *c)
{
    if (strcmp(c->unit, "time") == 0)
        return FORM_TIME;
    return strcmp(c->unit, "wide") == 0 || strcmp(c->unit, "epoch") == 0 ? FORM_TEXT : FORM_NUMBER;
}

static void put_int(struct columns *c, struct buf *b, enum form form, int64_t v)
{
    if (form == FORM_TIME && __builtin_sub_overflow(v, c->start, &v)) {
        buf_str(b, "null"); /* a clock of another world */
        return;
    }
    if (form == FORM_TEXT)
        buf_char(b, '"');
    buf_i64(b, v);
    if (form == FORM_TEXT)
        buf_char(b, '"');
}

/* Writes the shortest text of printf's that reads back as v; null for NAN and infinities. */
static void put_real(struct buf *b, double v)
{
    if (!isfinite(v))
        buf_str(b, "null");
    else if (v == nearbyint(v) && fabs(v) < 9007199254740992.0)
        buf_i64(b, (int64_t)v);
    else
        buf_printf(b, "%.9g", v);
}

static void put_cell(struct columns *c, struct buf *b, const struct store_vec *v, enum form form,
                     size_t row)
{
    if (!store_known(v, row)) {
        buf_str(b, "null");
        return;
    }
    switch (v->type) {
    case STORE_INT:
        put_int(c, b, form, v->ints[row]);
        break;
    case STORE_REAL:
        put_real(b, v->reals[row]);
        break;
    case STORE_NAME: {
        const struct store_text t = v->texts[row];
        uint32_t id = intern_id(c->names, t.at, t.len);
        if (id)
            buf_u64(b, id - 1);
        else
            buf_str(b, "null");
        break;
    }
    case STORE_TEXT:
        buf_json(b, v->texts[row].at, v->texts[row].len);
        break;
    case STORE_LIST:
        buf_str(b, "null"); /* parameters only */
        break;
    }
}

static int take(void *arg, const struct store_chunk *chunk)
{
    struct columns *c = arg;
    size_t all = 0;
    for (unsigned i = 0; i < chunk->column_count; i++) {
        struct buf *b = &c->cells[i];
        enum form form = form_of(&c->def->columns[i]);
        for (size_t row = 0; row < chunk->rows; row++) {
            if (b->len)
                buf_char(b, ',');
            put_cell(c, b, &chunk->columns[i], form, row);
        }
        if (buf_error(b))
            return buf_error(b);
        all += b->len;
    }
    c->rows += chunk->rows;
    return all > c->max ? GPUFL_E_FULL : 0;
}

/* Writes a line with the demangled name, and one with the short name: pages show either. */
static void put_readable(struct buf *out, const char *name)
{
    struct buf full;
    buf_init(&full, DEMANGLE_ROOM);
    demangle_put(&full, name);
    const char *text = buf_error(&full) ? name : buf_cstr(&full);
    buf_str(out, text);
    buf_char(out, '\n');
    shorten_kernel(out, text, SHORT_COLUMNS);
    buf_fini(&full);
}

struct store_visitor columns_visitor(struct columns *c)
{
    return (struct store_visitor){.arg = c, .chunk = take, .readable = put_readable};
}

/* Writes the cells as they are, between brackets. */
static void put_column(struct columns *c, unsigned i, struct json_out *j)
{
    json_out_array(j, c->def->columns[i].name);
    buf_put(&j->buf, c->cells[i].data, c->cells[i].len);
    json_out_close_array(j);
}

/* Writes the short names of all names of the answer; no two of them are alike. */
static int put_short_names(struct columns *c, struct json_out *j)
{
    struct buf text;
    uint32_t count = intern_count(c->names);
    const char **symbols = mem_array(count ? count : 1, sizeof *symbols);
    int rc = symbols ? 0 : GPUFL_E_NOMEM;
    for (uint32_t i = 0; i < count && rc == 0; i++)
        symbols[i] = intern_text(c->names, i + 1, NULL);
    buf_init(&text, NAMES_BYTES);
    rc = rc ? rc : shorten_symbols(&text, symbols, count);
    json_out_array(j, "short_names");
    const char *at = text.data;
    for (uint32_t i = 0; i < count && rc == 0; i++, at += strlen(at) + 1)
        json_out_text(j, NULL, at);
    json_out_close_array(j);
    buf_fini(&text);
    mem_free(symbols);
    return rc;
}

static int put_names(struct columns *c, struct json_out *j)
{
    struct buf text;
    int rc = 0;
    uint32_t count = intern_count(c->names);
    buf_init(&text, DEMANGLE_ROOM);
    json_out_array(j, "names");
    for (uint32_t id = 1; id <= count && rc == 0; id++) {
        buf_clear(&text);
        demangle_put(&text, intern_text(c->names, id, NULL));
        rc = buf_error(&text);
        json_out_text(j, NULL, buf_cstr(&text));
    }
    json_out_close_array(j);
    buf_fini(&text);
    json_out_array(j, "mangled");
    for (uint32_t id = 1; id <= count; id++)
        json_out_text(j, NULL, intern_text(c->names, id, NULL));
    json_out_close_array(j);
    return rc ? rc : put_short_names(c, j);
}

int columns_put(struct columns *c, struct json_out *j)
{
    json_out_array(j, "columns");
    for (unsigned i = 0; i < c->def->column_count; i++)
        json_out_text(j, NULL, c->def->columns[i].name);
    json_out_close_array(j);
    json_out_count(j, "rows", c->rows);
    json_out_object(j, "data");
    for (unsigned i = 0; i < c->def->column_count; i++)
        put_column(c, i, j);
    json_out_close_object(j);
    return c->names ? put_names(c, j) : 0;
}
