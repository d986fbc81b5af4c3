/* select_cells.c - see select_cells.h. */
#include "store/duckdb/select_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef __int128 wide;

static const wide EXACT = (wide)1 << 53;

static const struct {
    int type;
    const char *word;
} words[] = {
    {DUCK_TYPE_BOOLEAN, "BOOLEAN"},
    {DUCK_TYPE_TINYINT, "TINYINT"},
    {DUCK_TYPE_SMALLINT, "SMALLINT"},
    {DUCK_TYPE_INTEGER, "INTEGER"},
    {DUCK_TYPE_BIGINT, "BIGINT"},
    {DUCK_TYPE_UTINYINT, "UTINYINT"},
    {DUCK_TYPE_USMALLINT, "USMALLINT"},
    {DUCK_TYPE_UINTEGER, "UINTEGER"},
    {DUCK_TYPE_UBIGINT, "UBIGINT"},
    {DUCK_TYPE_HUGEINT, "HUGEINT"},
    {DUCK_TYPE_FLOAT, "FLOAT"},
    {DUCK_TYPE_DOUBLE, "DOUBLE"},
    {DUCK_TYPE_DECIMAL, "DECIMAL"},
    {DUCK_TYPE_VARCHAR, "VARCHAR"},
    {DUCK_TYPE_DATE, "DATE"},
    {DUCK_TYPE_TIMESTAMP, "TIMESTAMP"},
    {DUCK_TYPE_TIMESTAMP_S, "TIMESTAMP_S"},
    {DUCK_TYPE_TIMESTAMP_MS, "TIMESTAMP_MS"},
    {DUCK_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"},
    {DUCK_TYPE_TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE"},
    {DUCK_TYPE_NULL, "NULL"},
};

bool cell_column(const struct duck *d, struct duck_result *r, uint64_t column,
                 struct cell_column *out)
{
    *out = (struct cell_column){.type = d->column_type(r, column)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].type == out->type)
            out->word = words[i].word;
    if (out->type == DUCK_TYPE_DECIMAL) {
        struct duck_type *type = d->column_logical_type(r, column);
        out->inside = d->decimal_internal_type(type);
        out->scale = d->decimal_scale(type);
        d->destroy_logical_type(&type);
    }
    return out->word != NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static wide integer(int type, const void *data, uint64_t row)
{
    wide v = 0;
    switch (type) {
    case DUCK_TYPE_TINYINT:
        return ((const int8_t *)data)[row];
    case DUCK_TYPE_SMALLINT:
        return ((const int16_t *)data)[row];
    case DUCK_TYPE_INTEGER:
    case DUCK_TYPE_DATE:
        return ((const int32_t *)data)[row];
    case DUCK_TYPE_UTINYINT:
        return ((const uint8_t *)data)[row];
    case DUCK_TYPE_USMALLINT:
        return ((const uint16_t *)data)[row];
    case DUCK_TYPE_UINTEGER:
        return ((const uint32_t *)data)[row];
    case DUCK_TYPE_UBIGINT:
        return (wide)((const uint64_t *)data)[row];
    case DUCK_TYPE_HUGEINT:
        memcpy(&v, (const char *)data + row * sizeof v, sizeof v); /* aligned to 8 bytes only */
        return v;
    default:
        return ((const int64_t *)data)[row];
    }
}

/* Puts the integer with a decimal point before the last `scale` digits. */
static void put_decimal(struct buf *b, wide v, int scale)
{
    char text[64];
    size_t at = sizeof text;
    unsigned __int128 left = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    bool exact = v <= EXACT && v >= -EXACT;
    for (int digit = 0; left || digit <= scale; digit++) {
        if (digit == scale && scale)
            text[--at] = '.';
        text[--at] = (char)('0' + (int)(left % 10));
        left /= 10;
    }
    if (v < 0)
        text[--at] = '-';
    if (!exact)
        buf_char(b, '"');
    buf_put(b, text + at, sizeof text - at);
    if (!exact)
        buf_char(b, '"');
}

static void put_real(struct buf *b, double v, int digits)
{
    if (isnan(v))
        buf_str(b, "\"NaN\"");
    else if (isinf(v))
        buf_str(b, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else
        buf_printf(b, "%.*g", digits, v);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Writes a moment. v: units since the Unix epoch, a_second of which are a second. */
static void put_moment(struct buf *b, int64_t v, int64_t a_second, int digits, const char *zone)
{
    if (v == INT64_MAX || v == -INT64_MAX) {
        buf_str(b, v < 0 ? "\"-infinity\"" : "\"infinity\"");
        return;
    }
    int64_t rest = (v % a_second + a_second) % a_second;
    time_t seconds = (time_t)((v - rest) / a_second);
    struct tm t;
    gmtime_r(&seconds, &t);
    buf_printf(b, "\"%04d-%02d-%02dT%02d:%02d:%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
               t.tm_hour, t.tm_min, t.tm_sec);
    if (digits)
        buf_printf(b, ".%0*" PRId64, digits, rest);
    buf_printf(b, "%s\"", zone);
}

static void put_date(struct buf *b, int64_t days)
{
    time_t seconds = (time_t)(days * 86400);
    struct tm t;
    if (days == INT32_MAX || days == -INT32_MAX) {
        buf_str(b, days < 0 ? "\"-infinity\"" : "\"infinity\"");
        return;
    }
    gmtime_r(&seconds, &t);
    buf_printf(b, "\"%04d-%02d-%02d\"", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

/* ---- all ------------------------------------------------------------------------------------- */

void cell_put(struct buf *b, const struct cell_column *c, const void *data, uint64_t row)
{
    const struct duck_string *s = (const struct duck_string *)data + row;
    switch (c->type) {
    case DUCK_TYPE_BOOLEAN:
        buf_str(b, ((const uint8_t *)data)[row] ? "true" : "false");
        break;
    case DUCK_TYPE_FLOAT:
        put_real(b, (double)((const float *)data)[row], 9);
        break;
    case DUCK_TYPE_DOUBLE:
        put_real(b, ((const double *)data)[row], 17);
        break;
    case DUCK_TYPE_DECIMAL:
        put_decimal(b, integer(c->inside, data, row), c->scale);
        break;
    case DUCK_TYPE_VARCHAR:
        buf_json(b, s->length <= DUCK_STRING_INLINED ? s->prefix : s->at, s->length);
        break;
    case DUCK_TYPE_DATE:
        put_date(b, (int64_t)integer(c->type, data, row));
        break;
    case DUCK_TYPE_TIMESTAMP_S:
        put_moment(b, ((const int64_t *)data)[row], 1, 0, "");
        break;
    case DUCK_TYPE_TIMESTAMP_MS:
        put_moment(b, ((const int64_t *)data)[row], 1000, 3, "");
        break;
    case DUCK_TYPE_TIMESTAMP:
    case DUCK_TYPE_TIMESTAMP_TZ:
        put_moment(b, ((const int64_t *)data)[row], 1000000, 6,
                   c->type == DUCK_TYPE_TIMESTAMP ? "" : "Z");
        break;
    case DUCK_TYPE_TIMESTAMP_NS:
        put_moment(b, ((const int64_t *)data)[row], 1000000000, 9, "");
        break;
    case DUCK_TYPE_NULL:
        buf_str(b, "null");
        break;
    default:
        put_decimal(b, integer(c->type, data, row), 0);
    }
}
