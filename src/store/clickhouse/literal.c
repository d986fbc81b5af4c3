/* literal.c - see literal.h. */
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Returns true for characters without a special meaning in literals of any version. */
static bool is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c >= 0x80 || (c && strchr(" _-.,:;/()[]{}<>=+*&|!?@#%^~$\"", c));
}

void literal_text(struct buf *b, const char *at, size_t len)
{
    size_t from = 0;
    buf_char(b, '\'');
    for (size_t i = 0; i < len; i++) {
        if (is_plain((unsigned char)at[i]))
            continue;
        buf_put(b, at + from, i - from);
        buf_printf(b, "\\x%02x", (unsigned char)at[i]);
        from = i + 1;
    }
    buf_put(b, at + from, len - from);
    buf_char(b, '\'');
}

void literal_name(struct buf *b, const char *name)
{
    buf_char(b, '`');
    for (; *name; name++) {
        if (*name == '`' || *name == '\\')
            buf_char(b, '\\');
        buf_char(b, *name);
    }
    buf_char(b, '`');
}

/* INT64_MIN is put as a text: as a number it would be the negation of one that does not fit. */
void literal_int(struct buf *b, int64_t v)
{
    if (v == INT64_MIN) {
        buf_str(b, "toInt64('-9223372036854775808')");
        return;
    }
    buf_str(b, "toInt64(");
    buf_i64(b, v);
    buf_char(b, ')');
}

static void put_real(struct buf *b, double v)
{
    if (isfinite(v))
        buf_printf(b, "toFloat64('%.17g')", v);
    else
        buf_printf(b, "toFloat64('%s')", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static void put_list(struct buf *b, const int64_t *list, size_t n)
{
    if (!n)
        buf_str(b, "(SELECT toInt64(0) WHERE 0)");
    for (size_t i = 0; i < n; i++) {
        buf_char(b, i ? ',' : '(');
        if (list[i] == INT64_MIN)
            literal_int(b, list[i]);
        else
            buf_i64(b, list[i]);
    }
    if (n)
        buf_char(b, ')');
}

void literal_put(struct buf *b, const struct sql_arg *arg)
{
    const struct store_value *v = &arg->value;
    if (v->null) {
        buf_str(b, "NULL");
        return;
    }
    switch (arg->type) {
    case STORE_INT:
        literal_int(b, v->i);
        return;
    case STORE_REAL:
        put_real(b, v->r);
        return;
    case STORE_TEXT:
    case STORE_NAME:
        literal_text(b, v->text.at, v->text.len);
        return;
    case STORE_LIST:
        put_list(b, v->list, v->list_count);
        return;
    }
}
