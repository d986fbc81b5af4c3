/* json.c - a pull reader without memory of its own.
 *
 * Structure and numbers are checked strictly. Strings may hold raw control characters and
 * bytes that are not UTF-8, because foreign tools write those. The
 * reader keeps no stack: an object or array is walked by the code that asked for
 * it, and the byte before `at` shows whether a comma is due. depth only bounds
 * json_skip and nested walks.
 *
 * The first error sticks: every later call returns JSON_ERROR. */
#include "base/json.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

void json_init(struct json *j, const char *text, size_t len)
{
    *j = (struct json){.at = text, .end = text + len};
}

static struct json_value json_fail(struct json *j, const char *error)
{
    if (!j->error) {
        j->error = error;
        j->error_at = j->at;
    }
    return (struct json_value){.type = JSON_ERROR};
}

static void json_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Returns the value of the four hex digits at s, or -1. */
static int hex4(const char *s, const char *end)
{
    if (end - s < 4)
        return -1;
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(s[i]);
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* Reads a string from after its opening quote: checks the escapes and leaves `at` after the
 * closing quote. */
static struct json_value json_string(struct json *j)
{
    const char *start = j->at;
    while (j->at < j->end && *j->at != '"') {
        if (*j->at++ != '\\')
            continue;
        if (j->at == j->end)
            break;
        char c = *j->at;
        if (c == 'u' && hex4(j->at + 1, j->end) < 0)
            return json_fail(j, "\\u needs four hex digits");
        if (!memchr("\"\\/bfnrtu", c, 9))
            return json_fail(j, "unknown escape in a string");
        j->at += c == 'u' ? 5 : 1;
    }
    if (j->at == j->end)
        return json_fail(j, "a string does not end");
    struct json_value v = {.type = JSON_STRING, .raw = start, .raw_len = (size_t)(j->at - start)};
    j->at++;
    return v;
}

/* Passes over digits; false if there is none. */
static bool json_digits(struct json *j)
{
    const char *start = j->at;
    while (j->at < j->end && is_digit(*j->at))
        j->at++;
    return j->at > start;
}

/* Converts a text that is known to be digits with an optional sign; false beyond int64. */
static bool parse_int(const char *s, size_t len, int64_t *out)
{
    bool negative = *s == '-';
    int64_t v = 0;
    for (size_t i = negative; i < len; i++) {
        int digit = s[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, negative ? -digit : digit, &v))
            return false;
    }
    *out = v;
    return true;
}

/* strtod needs a NUL after the number, hence the copy, and the C locale's decimal point,
 * whatever locale the program has set. glibc's C locale is static, so it is not freed. */
static bool parse_double(const char *s, size_t len, double *out)
{
    char text[512];
    if (len >= sizeof text)
        return false;
    memcpy(text, s, len);
    text[len] = '\0';
    *out = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    return true;
}

static struct json_value json_number(struct json *j)
{
    struct json_value v = {.type = JSON_INT, .raw = j->at};
    if (*j->at == '-')
        j->at++;
    bool zero = j->at < j->end && *j->at == '0';
    const char *digits = j->at;
    if (!json_digits(j))
        return json_fail(j, "a number needs a digit");
    if (zero && j->at - digits > 1)
        return json_fail(j, "a number starts with 0");
    if (j->at < j->end && *j->at == '.') {
        v.type = JSON_DOUBLE;
        j->at++;
        if (!json_digits(j))
            return json_fail(j, "a digit is missing after the point");
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        v.type = JSON_DOUBLE;
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if (!json_digits(j))
            return json_fail(j, "a digit is missing in the exponent");
    }
    v.raw_len = (size_t)(j->at - v.raw);
    if (v.type == JSON_INT && parse_int(v.raw, v.raw_len, &v.integer)) {
        v.number = (double)v.integer;
        return v;
    }
    v.type = JSON_DOUBLE;
    return parse_double(v.raw, v.raw_len, &v.number) ? v : json_fail(j, "a number is too long");
}

static struct json_value json_word(struct json *j)
{
    static const struct {
        const char *text;
        enum json_type type;
        bool boolean;
    } words[] = {
        {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}, {"null", JSON_NULL, false}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i].text);
        if ((size_t)(j->end - j->at) < len || memcmp(j->at, words[i].text, len) != 0)
            continue;
        struct json_value v = {.type = words[i].type,
                               .boolean = words[i].boolean,
                               .integer = words[i].boolean,
                               .raw = j->at,
                               .raw_len = len};
        j->at += len;
        return v;
    }
    return json_fail(j, "a value is expected");
}

struct json_value json_read(struct json *j)
{
    if (j->error)
        return (struct json_value){.type = JSON_ERROR};
    json_space(j);
    if (j->at == j->end)
        return j->depth ? json_fail(j, "the text breaks off")
                        : (struct json_value){.type = JSON_END};
    char c = *j->at;
    if (c == '{' || c == '[') {
        if (j->depth >= MAX_DEPTH)
            return json_fail(j, "nested too deeply");
        struct json_value v = {
            .type = c == '{' ? JSON_OBJECT : JSON_ARRAY, .raw = j->at, .raw_len = 1};
        j->depth++;
        j->at++;
        return v;
    }
    if (c == '"') {
        j->at++;
        return json_string(j);
    }
    return c == '-' || is_digit(c) ? json_number(j) : json_word(j);
}

/* Passes the comma that is due before an element. 1: an element follows; 0: the closing bracket
 * was passed; -1: malformed. The last byte before the element that is not space shows whether
 * the element is the first one: only then is that byte an opening bracket. */
static int json_advance(struct json *j, char open, char close)
{
    if (j->error)
        return -1;
    if (j->depth == 0) {
        json_fail(j, "no object or array is open");
        return -1;
    }
    const char *before = j->at - 1;
    while (*before == ' ' || *before == '\n' || *before == '\t' || *before == '\r')
        before--;
    bool first = *before == open;
    json_space(j);
    if (j->at == j->end) {
        json_fail(j, "the text breaks off");
        return -1;
    }
    if (*j->at == close) {
        j->at++;
        j->depth--;
        return 0;
    }
    if (first)
        return 1;
    if (*j->at != ',') {
        json_fail(j, "a comma is expected");
        return -1;
    }
    j->at++;
    return 1;
}

static struct json_value json_stop(int advanced)
{
    return (struct json_value){.type = advanced == 0 ? JSON_END : JSON_ERROR};
}

struct json_value json_next(struct json *j)
{
    int advanced = json_advance(j, '[', ']');
    return advanced == 1 ? json_read(j) : json_stop(advanced);
}

struct json_value json_key(struct json *j, char *key, size_t size)
{
    int advanced = json_advance(j, '{', '}');
    if (advanced != 1)
        return json_stop(advanced);
    json_space(j);
    if (j->at == j->end || *j->at != '"')
        return json_fail(j, "a key in quotes is expected");
    j->at++;
    struct json_value name = json_string(j);
    if (name.type == JSON_ERROR)
        return name;
    json_text(name, key, size);
    json_space(j);
    if (j->at == j->end || *j->at != ':')
        return json_fail(j, "a colon is expected");
    j->at++;
    return json_read(j);
}

bool json_members(struct json *j, json_take *take, void *to)
{
    char key[128];
    for (;;) {
        struct json_value v = json_key(j, key, sizeof key);
        if (v.type == JSON_END || v.type == JSON_ERROR || !take(j, key, v, to))
            return v.type == JSON_END;
    }
}

bool json_document(const char *text, size_t len, json_take *take, void *to)
{
    struct json j;
    json_init(&j, text, len);
    return len && json_read(&j).type == JSON_OBJECT && json_members(&j, take, to);
}

bool json_skip(struct json *j, struct json_value v)
{
    if (v.type != JSON_OBJECT && v.type != JSON_ARRAY)
        return v.type != JSON_ERROR;
    for (;;) {
        char key[1];
        struct json_value inner =
            v.type == JSON_OBJECT ? json_key(j, key, sizeof key) : json_next(j);
        if (inner.type == JSON_END)
            return true;
        if (!json_skip(j, inner))
            return false;
    }
}

static size_t utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (char)(lead[len] | c);
    return len;
}

/* Decodes \uXXXX at s (after the u), with the second half of a surrogate pair. A reader that passes
 * over a string does not check the digits, so here fewer than four digits take only the u. */
static uint32_t unescape_unicode(const char **s, const char *end)
{
    enum { REPLACEMENT = 0xfffd };
    int digits = hex4(*s, end);
    if (digits < 0)
        return REPLACEMENT;
    uint32_t c = (uint32_t)digits;
    *s += 4;
    if (c < 0xd800 || c > 0xdfff)
        return c;
    if (c < 0xdc00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u') {
        int low = hex4(*s + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            *s += 6;
            return 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        }
    }
    return REPLACEMENT;
}

/* Writes the next character of a raw string to out, 4 bytes at most. A lead byte takes
 * its continuation bytes along, so that a cut never separates them. */
static size_t next_character(const char **s, const char *end, char out[4])
{
    unsigned char c = (unsigned char)*(*s)++;
    if (c != '\\') {
        size_t n = 0, want = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        out[n++] = (char)c;
        while (n < want && *s < end && ((unsigned char)**s & 0xc0) == 0x80)
            out[n++] = *(*s)++;
        return n;
    }
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (*s == end) { /* a backslash that escapes nothing */
        out[0] = '\\';
        return 1;
    }
    char escape = *(*s)++;
    if (escape == 'u')
        return utf8_encode(unescape_unicode(s, end), out);
    const char *found = strchr(from, escape);
    out[0] = found ? to[found - from] : escape;
    return 1;
}

size_t json_text(struct json_value v, char *out, size_t size)
{
    size_t total = 0, kept = 0;
    bool cut = size == 0;
    if (v.type == JSON_STRING) {
        const char *s = v.raw, *end = v.raw + v.raw_len;
        while (s < end) {
            char c[4];
            size_t n = next_character(&s, end, c);
            cut |= total + n >= size;
            if (!cut) {
                memcpy(out + kept, c, n);
                kept += n;
            }
            total += n;
        }
    }
    if (size)
        out[kept] = '\0';
    return total;
}

void json_text_no_nul(char *text, size_t len)
{
    for (char *nul; (nul = memchr(text, '\0', len)); text = nul + 1) {
        *nul = '?';
        len -= (size_t)(nul + 1 - text);
    }
}
