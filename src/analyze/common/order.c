/* order.c - see order.h. */
#include "analyze/common/order.h"

#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- all of them ----------------------------------------------------------------------------- */

enum {
    DIGIT_BITS = 11,
    DIGITS = 6, /* of 64 bits */
    DIGIT_VALUES = 1 << DIGIT_BITS,
    FEW = 512, /* below this, counting digits takes longer than comparing */
};

struct item {
    uint64_t key; /* keys as whole numbers are in the order of the values */
    uint32_t at;
};

static uint64_t key_of(double value)
{
    uint64_t bits;
    value = isnan(value) ? (double)NAN : value + 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static unsigned digit_of(uint64_t key, unsigned digit)
{
    return (unsigned)(key >> (digit * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->at > y->at) - (x->at < y->at);
}

/* Sorts by one digit; equal digits keep their order. begins: how many items have each digit. */
static void sort_digit(const struct item *from, struct item *to, size_t n, unsigned digit,
                       uint32_t *begins)
{
    uint32_t at = 0;
    for (size_t v = 0; v < DIGIT_VALUES; v++) {
        uint32_t count = begins[v];
        begins[v] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        to[begins[digit_of(from[i].key, digit)]++] = from[i];
}

/* Sorts by digit after digit, the lowest first. A digit that all items share is skipped. Returns
 * where the items are: items or room. */
static struct item *sort_digits(struct item *items, struct item *room, size_t n,
                                uint32_t (*counts)[DIGIT_VALUES])
{
    memset(counts, 0, DIGITS * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < DIGITS; d++)
            counts[d][digit_of(items[i].key, d)]++;
    for (unsigned d = 0; d < DIGITS; d++) {
        if (counts[d][digit_of(items[0].key, d)] == n)
            continue;
        sort_digit(items, room, n, d, counts[d]);
        struct item *sorted = room;
        room = items;
        items = sorted;
    }
    return items;
}

/* Sorts the items, whose keys are set, in the first half of their array. */
static int order_items(struct item *items, size_t n, uint32_t *order)
{
    struct item *sorted = items;
    if (n < FEW && n) {
        qsort(items, n, sizeof *items, by_key);
    } else if (n) {
        uint32_t(*counts)[DIGIT_VALUES] = mem_array(DIGITS, sizeof *counts);
        if (!counts)
            return GPUFL_E_NOMEM;
        sorted = sort_digits(items, items + n, n, counts);
        mem_free(counts);
    }
    for (size_t i = 0; i < n; i++)
        order[i] = sorted[i].at;
    return 0;
}

int order_values(const double *values, size_t n, uint32_t *order)
{
    struct item *items = mem_array(2 * n + 1, sizeof *items);
    if (!items)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){key_of(values[i]), (uint32_t)i};
    int rc = order_items(items, n, order);
    mem_free(items);
    return rc;
}

int order_ints(const int64_t *values, size_t n, uint32_t *order)
{
    struct item *items = mem_array(2 * n + 1, sizeof *items);
    if (!items)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){(uint64_t)values[i] ^ UINT64_C(1) << 63, (uint32_t)i};
    int rc = order_items(items, n, order);
    mem_free(items);
    return rc;
}

/* ---- one of them ----------------------------------------------------------------------------- */

enum {
    ROUNDS = 64,   /* after so many unlucky pivots the rest is sorted */
    SORTED_AT = 16 /* as few values are sorted */
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double middle_of(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Move the values that are smaller than the pivot, or not greater, before the others. Return how
 * many they are. No step depends on a comparison, since a wrong guess takes ten times as long. */
static size_t part_smaller(double *v, size_t n, double pivot)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        v[i] = v[count];
        v[count] = x;
        count += x < pivot;
    }
    return count;
}

static size_t part_not_greater(double *v, size_t n, double pivot)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        v[i] = v[count];
        v[count] = x;
        count += x <= pivot;
    }
    return count;
}

double order_nth(double *values, size_t n, size_t k)
{
    double *v = values; /* the part that has the value */
    for (int round = 0; n > SORTED_AT && round < ROUNDS; round++) {
        double pivot = middle_of(v[0], v[n / 2], v[n - 1]);
        size_t smaller = part_smaller(v, n, pivot);
        if (k < smaller) {
            n = smaller;
            continue;
        }
        v += smaller;
        n -= smaller;
        k -= smaller;
        size_t equal = part_not_greater(v, n, pivot);
        if (k < equal)
            return v[k];
        v += equal;
        n -= equal;
        k -= equal;
    }
    qsort(v, n, sizeof *v, by_value);
    return v[k];
}
