/* decimal.c - see decimal.h. */
#include "wire/decimal.h"

#include <math.h>

enum { DIGITS_MOST = 16, EXPONENT_MOST = 99 };

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Reads digits into d; each digit of a fraction lowers the exponent. False if there is no digit. */
static bool read_digits(struct scan *s, bool fraction, struct decimal *d, int *digits)
{
    bool any = false;
    for (; is_digit(s); s->at++, any = true) {
        if (*digits == DIGITS_MOST) {
            d->exponent += !fraction;
            continue;
        }
        d->mantissa = d->mantissa * 10 + (*s->at - '0');
        d->exponent -= fraction;
        *digits += d->mantissa != 0;
    }
    return any;
}

static bool read_exponent(struct scan *s, struct decimal *d)
{
    bool negative = s->at < s->end && *s->at == '-';
    int64_t e = 0;
    if (s->at < s->end && (*s->at == '-' || *s->at == '+'))
        s->at++;
    if (!is_digit(s))
        return false;
    for (; is_digit(s); s->at++)
        if (e <= EXPONENT_MOST * 10)
            e = e * 10 + (*s->at - '0');
    d->exponent += negative ? -e : e;
    return true;
}

bool decimal_read(struct scan *s, struct decimal *out)
{
    struct decimal d = {0, 0};
    int digits = 0;
    bool negative = scan_peek(s) == '-';
    s->at += negative;
    if (!read_digits(s, false, &d, &digits))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!read_digits(s, true, &d, &digits))
            return false;
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (!read_exponent(s, &d))
            return false;
    }
    for (; d.mantissa && d.mantissa % 10 == 0; d.mantissa /= 10)
        d.exponent++;
    if (!d.mantissa)
        d.exponent = 0;
    if (d.exponent > EXPONENT_MOST || d.exponent < -EXPONENT_MOST)
        return false;
    d.mantissa = negative ? -d.mantissa : d.mantissa;
    *out = d;
    return true;
}

void decimal_put(struct buf *b, struct decimal d)
{
    int64_t unit = 1;
    if (d.exponent == 0 || d.mantissa == 0) {
        buf_i64(b, d.mantissa);
    } else if (d.exponent > 0 || d.exponent < -DIGITS_MOST) {
        buf_i64(b, d.mantissa);
        buf_char(b, 'e');
        buf_i64(b, d.exponent);
    } else {
        for (int64_t i = d.exponent; i < 0; i++)
            unit *= 10;
        uint64_t v = d.mantissa < 0 ? 0 - (uint64_t)d.mantissa : (uint64_t)d.mantissa;
        buf_printf(b, "%s%llu.%0*llu", d.mantissa < 0 ? "-" : "",
                   (unsigned long long)(v / (uint64_t)unit), (int)-d.exponent,
                   (unsigned long long)(v % (uint64_t)unit));
    }
}

double decimal_double(struct decimal d)
{
    double v = (double)d.mantissa, unit = 1;
    for (int64_t i = 0; i < d.exponent && i <= 2 * EXPONENT_MOST; i++)
        v *= 10;
    for (int64_t i = 0; i > d.exponent && i >= -2 * EXPONENT_MOST; i--)
        unit *= 10;
    return v / unit;
}

/* Returns value x 10^n. Powers of ten are exact up to 10^22. */
static double shifted(double value, int n)
{
    double unit = 1;
    for (int i = 0; i < n || i < -n; i++)
        unit *= 10;
    return n < 0 ? value / unit : value * unit;
}

bool decimal_of(double value, int digits, struct decimal *out)
{
    double size = fabs(value);
    int exponent = 0;
    *out = (struct decimal){0, 0};
    if (!isfinite(value))
        return false;
    if (size < 1e-80)
        return true; /* equal to 0 */
    if (size > 1e99)
        return false;
    exponent = (int)floor(log10(size)) - digits + 1;
    out->mantissa = llround(shifted(value, -exponent));
    for (; out->mantissa && out->mantissa % 10 == 0; out->mantissa /= 10)
        exponent++;
    out->exponent = out->mantissa ? exponent : 0;
    return out->exponent >= -EXPONENT_MOST;
}
