/* json_out.c - writes JSON through a small buffer. */
#include "analyze/common/json_out.h"

#include "base/err.h"
#include "wire/record.h"

#include <math.h>
#include <string.h>

enum { FLUSH_AT = 1 << 16, BUFFER_MAX = 16 << 20 };

void json_out_init(struct json_out *j, FILE *file)
{
    *j = (struct json_out){.file = file};
    buf_init(&j->buf, BUFFER_MAX);
}

void json_out_init_memory(struct json_out *j, size_t max)
{
    *j = (struct json_out){0};
    buf_init(&j->buf, max);
}

static void flush(struct json_out *j)
{
    if (j->file && !buf_error(&j->buf) && j->buf.len) {
        fwrite(j->buf.data, 1, j->buf.len, j->file);
        buf_clear(&j->buf);
    }
}

int json_out_finish(struct json_out *j)
{
    buf_char(&j->buf, '\n');
    if (!j->file)
        return buf_error(&j->buf);
    flush(j);
    int rc = buf_error(&j->buf) ? GPUFL_E_NOMEM : ferror(j->file) ? GPUFL_E_IO : 0;
    buf_fini(&j->buf);
    return rc;
}

void json_out_fail(struct json_out *j, int rc)
{
    if (rc && !j->buf.error)
        j->buf.error = rc;
}

static void begin(struct json_out *j, const char *key)
{
    if (j->buf.len > FLUSH_AT)
        flush(j);
    if (j->comma)
        buf_char(&j->buf, ',');
    if (key) {
        buf_json_str(&j->buf, key);
        buf_char(&j->buf, ':');
    }
    j->comma = true;
}

void json_out_object(struct json_out *j, const char *key)
{
    begin(j, key);
    buf_char(&j->buf, '{');
    j->comma = false;
}

void json_out_array(struct json_out *j, const char *key)
{
    begin(j, key);
    buf_char(&j->buf, '[');
    j->comma = false;
}

void json_out_close_object(struct json_out *j)
{
    buf_char(&j->buf, '}');
    j->comma = true;
}

void json_out_close_array(struct json_out *j)
{
    buf_char(&j->buf, ']');
    j->comma = true;
}

void json_out_null(struct json_out *j, const char *key)
{
    begin(j, key);
    buf_str(&j->buf, "null");
}

void json_out_raw(struct json_out *j, const char *key, const char *json, size_t len)
{
    begin(j, key);
    buf_put(&j->buf, json, len);
}

void json_out_int(struct json_out *j, const char *key, int64_t v)
{
    if (v == CELL_NULL) {
        json_out_null(j, key);
        return;
    }
    begin(j, key);
    buf_i64(&j->buf, v);
}

void json_out_count(struct json_out *j, const char *key, uint64_t v)
{
    begin(j, key);
    buf_u64(&j->buf, v);
}

/* printf would use the decimal point of the locale, which the program may have set. */
enum { NUMBER_ROOM = 400 };

/* Writes v >= 0 with six digits after the point, as "%.6f" does, if they are sure: the product
 * below has an error, which matters where the next digits are about 5. Returns the length; 0: they
 * are not sure. */
static size_t put_digits(char text[NUMBER_ROOM], double v)
{
    double scaled = v * 1e6, whole = floor(scaled), rest = scaled - whole;
    if (!(scaled < 1e15) || fabs(rest - 0.5) <= scaled * 0x1p-52)
        return 0;
    uint64_t digits = (uint64_t)whole + (rest > 0.5);
    char back[24];
    size_t n = 0, len = 0;
    for (; n < 8 || digits; digits /= 10) {
        back[n++] = (char)('0' + digits % 10);
        if (n == 6)
            back[n++] = '.';
    }
    while (n)
        text[len++] = back[--n];
    return len;
}

void json_out_number(struct json_out *j, const char *key, double v)
{
    char text[NUMBER_ROOM];
    if (!isfinite(v)) {
        json_out_null(j, key);
        return;
    }
    begin(j, key);
    size_t len = signbit(v) ? 0 : put_digits(text, v);
    if (!len)
        len = (size_t)snprintf(text, sizeof text, "%.6f", v);
    for (size_t i = 0; i < len; i++)
        if (text[i] == ',')
            text[i] = '.';
    while (len > 1 && text[len - 1] == '0' && text[len - 2] != '.')
        len--;
    buf_put(&j->buf, text, len);
}

void json_out_small(struct json_out *j, const char *key, double v)
{
    char text[40];
    if (!isfinite(v)) {
        json_out_null(j, key);
        return;
    }
    int n = snprintf(text, sizeof text, "%.4g", v);
    json_out_raw(j, key, text, (size_t)n);
}

void json_out_bool(struct json_out *j, const char *key, bool v)
{
    begin(j, key);
    buf_str(&j->buf, v ? "true" : "false");
}

void json_out_text(struct json_out *j, const char *key, const char *text)
{
    begin(j, key);
    buf_json_str(&j->buf, text);
}

void json_out_joined(struct json_out *j, const char *key, const char *const *texts, size_t n)
{
    struct buf whole;
    buf_init(&whole, BUFFER_MAX);
    for (size_t i = 0; i < n; i++)
        buf_str(&whole, texts[i]);
    json_out_text(j, key, buf_cstr(&whole));
    json_out_fail(j, buf_error(&whole));
    buf_fini(&whole);
}

void json_out_known(struct json_out *j, const char *key, bool known, int64_t v)
{
    json_out_int(j, key, known ? v : CELL_NULL);
}

void json_out_pieces(struct json_out *j, const char *key, const char *text, char separator)
{
    json_out_array(j, key);
    while (*text) {
        const char *end = strchrnul(text, separator);
        begin(j, NULL);
        buf_json(&j->buf, text, (size_t)(end - text));
        text = *end ? end + 1 : end;
    }
    json_out_close_array(j);
}

void json_out_text_or_null(struct json_out *j, const char *key, const char *text)
{
    if (*text)
        json_out_text(j, key, text);
    else
        json_out_null(j, key);
}
