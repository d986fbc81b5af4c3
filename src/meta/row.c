/* row.c - has tables of the rows in schema/meta.def; converts rows between structs, cells and JSON.
 *
 * No other code knows the layout of a row: sql.c gets the columns of statements from the same
 * table, so that structs, columns and JSON cannot differ. */
#include "meta/inside.h"

#include <string.h>

/* clang-format off */
#define ROW(name, of, doc)           static const struct meta_field fields_##name[] = {
#define FIELD(row, field, type, doc) {#field, META_##type, offsetof(struct meta_##row, field), doc},
#define ROW_END(name)                };
#include "schema/meta.def"
/* clang-format on */

enum { ROW_TENANT = 1, ROW_GLOBAL = 0 };

const struct meta_row meta_rows[META_ROW_COUNT] = {
#define ROW(name, of, doc)                                                                         \
    {#name,                                                                                        \
     ROW_##of == ROW_TENANT,                                                                       \
     doc,                                                                                          \
     fields_##name,                                                                                \
     sizeof fields_##name / sizeof fields_##name[0],                                               \
     sizeof(struct meta_##name)},
#include "schema/meta.def"
};

/* ---- struct to parameters ----------------------------------------------------------------- */

bool meta_id_ok(const char *id)
{
    if (!id || !*id)
        return false;
    size_t n = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    return id[n] == '\0' && n < META_ID_MAX;
}

void meta_lower(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] - 'A' + 'a');
}

static bool is_utf8(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        if ((unsigned char)s[i] < 0x80) {
            i++;
            continue;
        }
        size_t len = utf8_sequence((const unsigned char *)s + i, n - i);
        if (!len)
            return false;
        i += len;
    }
    return true;
}

static struct meta_value *arg_next(struct meta_args *a)
{
    static struct meta_value beyond;
    if (a->n < META_ARGS_MAX)
        return &a->v[a->n++];
    if (!a->error.code)
        err_set(&a->error, GPUFL_E_INVAL, "a statement has too many parameters");
    return &beyond;
}

static void arg_text(struct meta_args *a, const char *what, const char *v, size_t most)
{
    size_t len = v ? strnlen(v, most + 1) : 0;
    if (!a->error.code && len > most)
        err_set(&a->error, GPUFL_E_INVAL, "%s is longer than %zu bytes", what, most);
    if (!a->error.code && !is_utf8(v, len))
        err_set(&a->error, GPUFL_E_INVAL, "%s is not UTF-8", what);
    *arg_next(a) =
        (struct meta_value){.kind = META_KIND_TEXT, .null = !v, .at = v ? v : "", .len = len};
}

void meta_arg_int(struct meta_args *a, int64_t v)
{
    *arg_next(a) = (struct meta_value){.kind = META_KIND_INT, .null = v == META_NONE, .i = v};
}

void meta_arg_real(struct meta_args *a, double v)
{
    *arg_next(a) = (struct meta_value){.kind = META_KIND_REAL, .null = isnan(v), .r = v};
}

void meta_arg_text(struct meta_args *a, const char *v)
{
    arg_text(a, "a text", v, META_TEXT_MAX);
}

static void arg_field(struct meta_args *a, const struct meta_field *f, const void *at)
{
    switch (f->type) {
    case META_INT:
    case META_BOOL:
    case META_TIME:
        meta_arg_int(a, *(const int64_t *)at);
        return;
    case META_REAL:
        meta_arg_real(a, *(const double *)at);
        return;
    case META_BYTES: {
        const struct meta_bytes *b = at;
        if (!a->error.code && b->len > META_BODY_MAX)
            err_set(&a->error, GPUFL_E_INVAL, "%s is longer than %d bytes", f->name, META_BODY_MAX);
        *arg_next(a) = (struct meta_value){
            .kind = META_KIND_BYTES, .at = b->len ? b->data : "", .len = b->len};
        return;
    }
    case META_TEXT:
    case META_SECRET:
    case META_JSON: {
        const char *text = *(const char *const *)at;
        text = text ? text : "";
        if (!a->error.code && strcmp(f->name, "id") == 0 && !meta_id_ok(text))
            err_set(&a->error, GPUFL_E_INVAL,
                    "an id consists of 1 to %d of the characters 0-9 A-Z a-z _ -", META_ID_MAX - 1);
        arg_text(a, f->name, text, f->type == META_JSON ? META_JSON_MAX : META_TEXT_MAX);
        return;
    }
    }
}

void meta_arg_row(struct meta_args *a, enum meta_row_id row, const void *from)
{
    const struct meta_row *r = &meta_rows[row];
    for (unsigned i = 0; i < r->field_count; i++)
        arg_field(a, &r->fields[i], (const char *)from + r->fields[i].offset);
}

/* ---- cells to struct ---------------------------------------------------------------------- */

static int take_text(const struct meta_value *v, struct region *mem, const char **out)
{
    if (v->kind != META_KIND_TEXT)
        return GPUFL_E_CORRUPT;
    if (v->null || v->len == 0) {
        *out = "";
        return 0;
    }
    *out = region_copy(mem, v->at, v->len);
    return *out ? 0 : GPUFL_E_FULL;
}

static int take_field(const struct meta_field *f, const struct meta_value *v, struct region *mem,
                      void *at)
{
    switch (f->type) {
    case META_INT:
        *(int64_t *)at = v->null ? META_NONE : v->i;
        return v->null || v->kind == META_KIND_INT ? 0 : GPUFL_E_CORRUPT;
    case META_BOOL:
    case META_TIME:
        *(int64_t *)at = v->null ? 0 : v->i;
        return v->null || v->kind == META_KIND_INT ? 0 : GPUFL_E_CORRUPT;
    case META_REAL:
        *(double *)at = v->null ? NAN : v->kind == META_KIND_INT ? (double)v->i : v->r;
        return v->null || v->kind == META_KIND_REAL || v->kind == META_KIND_INT ? 0
                                                                                : GPUFL_E_CORRUPT;
    case META_BYTES: {
        struct meta_bytes *b = at;
        b->len = v->len;
        b->data = region_copy(mem, v->at, v->len);
        return b->data ? 0 : GPUFL_E_FULL;
    }
    case META_TEXT:
    case META_SECRET:
    case META_JSON:
        break;
    }
    return take_text(v, mem, at);
}

int meta_row_take(const struct meta_row *row, const struct meta_value *cells, unsigned n,
                  struct region *mem, void *out)
{
    if (n < row->field_count)
        return GPUFL_E_CORRUPT;
    for (unsigned i = 0; i < row->field_count; i++) {
        int rc = take_field(&row->fields[i], &cells[i], mem, (char *)out + row->fields[i].offset);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- struct to JSON ----------------------------------------------------------------------- */

static void json_real(struct buf *out, double v)
{
    if (isfinite(v))
        buf_printf(out, "%.17g", v);
    else
        buf_str(out, "null");
}

static void json_field(struct buf *out, const struct meta_field *f, const void *at)
{
    int64_t i = 0;
    const char *text = NULL;
    switch (f->type) {
    case META_INT:
        i = *(const int64_t *)at;
        if (i == META_NONE)
            buf_str(out, "null");
        else
            buf_i64(out, i);
        return;
    case META_BOOL:
        buf_str(out, *(const int64_t *)at ? "true" : "false");
        return;
    case META_TIME:
        i = *(const int64_t *)at;
        if (i)
            buf_printf(out, "\"%lld\"", (long long)i);
        else
            buf_str(out, "null");
        return;
    case META_REAL:
        json_real(out, *(const double *)at);
        return;
    case META_JSON:
        text = *(const char *const *)at;
        buf_str(out, text && *text ? text : "null");
        return;
    case META_TEXT:
        text = *(const char *const *)at;
        buf_json_str(out, text ? text : "");
        return;
    case META_SECRET:
    case META_BYTES:
        return;
    }
}

void meta_json(struct buf *out, enum meta_row_id row, const void *from)
{
    const struct meta_row *r = &meta_rows[row];
    char before = '{';
    for (unsigned i = 0; i < r->field_count; i++) {
        const struct meta_field *f = &r->fields[i];
        if (f->type == META_SECRET || f->type == META_BYTES)
            continue;
        buf_char(out, before);
        before = ',';
        buf_json_str(out, f->name);
        buf_char(out, ':');
        json_field(out, f, (const char *)from + f->offset);
    }
    buf_str(out, before == '{' ? "{}" : "}");
}
