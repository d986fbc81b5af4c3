/* encode.c - turns rows, names and headers into lines; see encode.h for their shape.
 *
 * This is the collector's hot path: a million kernel rows a second on one thread. A
 * batch is written column by column; room for a whole column is reserved once,
 * then digits are written without further checks (digits.h). Each column is first
 * tested for being constant; the test of a varying column ends at its first change. */
#include "wire/encode.h"

#include "wire/digits.h"
#include "wire/header.h"
#include "wire/limits.h"

#include <string.h>

/* ---- header ---------------------------------------------------------------------------- */

void encode_header(struct buf *b, const struct wire_header *h)
{
    buf_str(b, "{\"type\":\"header\",\"format\":");
    buf_i64(b, WIRE_FORMAT);
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
        const struct header_field *f = &header_fields[i];
        const void *at = (const char *)h + f->offset;
        buf_str(b, ",\"");
        buf_str(b, f->name);
        buf_str(b, "\":");
        if (f->kind == HEADER_INT) {
            buf_i64(b, *(const int64_t *)at);
        } else if (f->kind == HEADER_BOOL) {
            buf_str(b, *(const bool *)at ? "true" : "false");
        } else {
            const char *text = *(const char *const *)at;
            buf_json_str(b, text ? text : "");
        }
    }
    buf_str(b, "}\n");
}

/* ---- names ----------------------------------------------------------------------------- */

/* Returns how many entries from `first` on fit in one line: at least one, at most WIRE_MAX_ROWS. */
static size_t names_of_line(const size_t *lens, size_t first, size_t n)
{
    size_t bytes = 0, i = first;
    do
        bytes += lens[i++];
    while (i < n && i - first < WIRE_MAX_ROWS && bytes + lens[i] < WIRE_NAMES_CUT);
    return i - first;
}

void encode_names(struct buf *b, const uint32_t *ids, const char *const *texts, const size_t *lens,
                  size_t n)
{
    for (size_t first = 0, count; first < n; first += count) {
        count = names_of_line(lens, first, n);
        buf_str(b, "{\"type\":\"names\",\"rows\":");
        buf_u64(b, count);
        buf_str(b, ",\"id\":");
        for (size_t i = first; i < first + count; i++) {
            buf_char(b, i == first ? '[' : ',');
            buf_u64(b, ids[i]);
        }
        buf_str(b, "],\"text\":");
        for (size_t i = first; i < first + count; i++) {
            buf_char(b, i == first ? '[' : ',');
            buf_json(b, texts[i], lens[i] < WIRE_MAX_NAME ? lens[i] : WIRE_MAX_NAME);
        }
        buf_str(b, "]}\n");
    }
}

/* ---- rows ------------------------------------------------------------------------------ */

static inline char *put_null(char *p)
{
    memcpy(p, "null", 4);
    return p + 4;
}

static char *put_hex(char *p, uint64_t v)
{
    char digits[16];
    int n = 0;
    do
        digits[n++] = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    *p++ = '"';
    while (n)
        *p++ = digits[--n];
    *p++ = '"';
    return p;
}

/* Writes a value: an element of an INT or HEX column, or the value of a constant column. */
static inline char *put_value(char *p, enum coding coding, int64_t v)
{
    if (v == CELL_NULL)
        return put_null(p);
    return coding == CODING_HEX ? put_hex(p, (uint64_t)v) : digits_put_i64(p, v);
}

static char *put_plain(char *p, enum coding coding, const int64_t *cell, size_t stride, size_t n)
{
    for (; n; n--, cell += stride) {
        p = put_value(p, coding, *cell);
        *p++ = ',';
    }
    return p;
}

/* Writes differences modulo 2^64 to the last cell that was not null; the first one to 0. */
static char *put_deltas(char *p, bool time, const int64_t *cell, size_t stride, size_t n)
{
    uint64_t last = 0;
    for (; n; n--, cell += stride) {
        if (*cell == CELL_NULL || (time && !wire_time_ok(*cell))) {
            p = put_null(p);
        } else {
            p = digits_put_i64(p, (int64_t)((uint64_t)*cell - last));
            last = (uint64_t)*cell;
        }
        *p++ = ',';
    }
    return p;
}

static bool is_constant(const int64_t *cell, size_t stride, size_t n)
{
    int64_t first = *cell;
    for (size_t i = 1; i < n; i++)
        if (cell[i * stride] != first)
            return false;
    return true;
}

static void encode_column(struct buf *b, const struct column *c, const int64_t *cell, size_t stride,
                          size_t n)
{
    bool constant = is_constant(cell, stride, n);
    if (constant && (*cell == CELL_NULL || (c->coding == CODING_TIME && !wire_time_ok(*cell))))
        return; /* unknown throughout */
    size_t name = strlen(c->name);
    if (buf_reserve(b, name + 8 + (constant ? 1 : n) * DIGITS_ROOM))
        return;
    char *p = b->data + b->len;
    *p++ = ',';
    *p++ = '"';
    memcpy(p, c->name, name);
    p += name;
    *p++ = '"';
    *p++ = ':';
    if (constant) {
        p = put_value(p, c->coding, *cell);
    } else {
        *p++ = '[';
        if (c->coding == CODING_TIME || c->coding == CODING_DELTA)
            p = put_deltas(p, c->coding == CODING_TIME, cell, stride, n);
        else
            p = put_plain(p, c->coding, cell, stride, n);
        p[-1] = ']';
    }
    b->len = (size_t)(p - b->data);
}

static void encode_batch(struct buf *b, const struct record *r, const int64_t *rows, size_t n)
{
    buf_str(b, "{\"type\":\"");
    buf_str(b, r->type);
    buf_str(b, "\",\"rows\":");
    buf_u64(b, n);
    for (unsigned i = 0; i < r->column_count; i++)
        encode_column(b, &r->columns[i], rows + i, r->column_count, n);
    buf_str(b, "}\n");
}

void encode_rows(struct buf *b, enum record_type type, const int64_t *rows, size_t n)
{
    const struct record *r = &records[type];
    size_t most = WIRE_MAX_LINE / (DIGITS_ROOM * (r->column_count + 1)); /* a line's worst case */
    if (most > WIRE_MAX_ROWS)
        most = WIRE_MAX_ROWS;
    for (size_t count; n; n -= count, rows += count * r->column_count) {
        count = n < most ? n : most;
        encode_batch(b, r, rows, count);
    }
}
