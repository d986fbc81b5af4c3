/* fields.c - see fields.h. */
#include "wire/fields.h"

/* Reads a number such as 12.345 in millionths; digits beyond these are cut. */
static bool read_millionths(struct span value, int64_t *out)
{
    int64_t v = 0;
    int decimals = -1;
    bool negative = value.len && value.at[0] == '-';
    for (size_t i = negative; i < value.len; i++) {
        char c = value.at[i];
        if (c == '.' && decimals < 0) {
            decimals = 0;
        } else if (c < '0' || c > '9' || v > INT64_MAX / 100000000) {
            return false;
        } else if (decimals < 6) {
            v = v * 10 + (c - '0');
            decimals += decimals >= 0;
        }
    }
    for (int i = decimals < 0 ? 0 : decimals; i < 6; i++)
        v *= 10;
    *out = negative ? -v : v;
    return value.len > negative;
}

static void take_field(const struct field *f, struct span value, void *out)
{
    void *at = (char *)out + f->offset;
    bool quoted = value.len >= 2 && value.at[0] == '"';
    struct span inside = quoted ? (struct span){value.at + 1, value.len - 2} : value;
    struct scan number = scan_of(inside);
    int64_t v;
    switch (f->kind) {
    case FIELD_INT:
        if (scan_bits(&number, &v) && scan_done(&number))
            *(int64_t *)at = v;
        break;
    case FIELD_MILLIONTHS:
        if (read_millionths(value, &v))
            *(int64_t *)at = v;
        break;
    case FIELD_BOOL:
        if (span_is(value, "true") || span_is(value, "false"))
            *(int64_t *)at = value.len == 4;
        break;
    case FIELD_TEXT:
        if (quoted)
            *(struct span *)at = inside;
        break;
    case FIELD_VALUE:
        *(struct span *)at = value;
    }
}

void fields_read(struct scan s, const struct field *table, unsigned count, void *out)
{
    bool first = true, more;
    unsigned next = 0;
    struct span key, value;
    while (scan_member(&s, &first, &key, &more) && more && scan_value(&s, &value)) {
        unsigned i = next;
        if (i >= count || !span_is(key, table[i].name))
            for (i = 0; i < count && !span_is(key, table[i].name);)
                i++;
        if (i == count)
            continue;
        take_field(&table[i], value, out);
        next = i + 1; /* writers keep one order */
    }
}

bool fields_next(struct scan *array, bool *first, struct scan *element)
{
    bool more;
    struct span value;
    if (!scan_element(array, first, &more) || !more || !scan_value(array, &value))
        return false;
    *element = scan_of(value);
    return true;
}
