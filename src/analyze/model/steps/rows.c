/* rows.c - see rows.h. */
#include "analyze/model/steps/rows.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES_BACK = 64, PIECES = 64 /* PIECES: of 4.3 s each, for a long activity */ };

void step_rows_fini(struct step_rows *s)
{
    mem_free(s->items);
    mem_free(s->runs);
    *s = (struct step_rows){0};
}

static int put(struct step_rows *s, struct step_row row)
{
    int rc = mem_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items, STEP_ROWS);
    if (rc)
        return rc;
    size_t begun = s->run_count ? s->runs[s->run_count - 1] : 0, at = s->count,
           least = at - begun > PLACES_BACK ? at - PLACES_BACK : begun;
    while (at > least && s->items[at - 1].start > row.start)
        at--;
    if (at == least && at > begun && s->items[at - 1].start > row.start) {
        rc = s->run_count < STEP_RUNS ? 0 : step_rows_settle(s);
        rc = rc ? rc
                : mem_grow(&s->runs, &s->run_cap, s->run_count + 1, sizeof *s->runs, STEP_RUNS + 1);
        if (rc)
            return rc;
        s->runs[s->run_count++] = (uint32_t)s->count;
        at = s->count;
    }
    if (at < s->count)
        memmove(&s->items[at + 1], &s->items[at], (s->count - at) * sizeof row);
    s->items[at] = row;
    s->count++;
    return 0;
}

int step_rows_add(struct step_rows *s, int64_t start, int64_t end, uint32_t device, uint32_t name)
{
    int rc = 0;
    for (int piece = 0; !rc && (!piece || start < end); piece++) {
        if (s->count == STEP_ROWS || piece == PIECES) {
            s->beyond++;
            return 0;
        }
        int64_t ns = end - start > UINT32_MAX ? UINT32_MAX : end - start;
        bool whole = !piece || name == STEP_COPY || name >= STEP_PAGEABLE;
        uint32_t called = whole ? name : STEP_GOES_ON;
        rc = put(s, (struct step_row){start, (uint32_t)ns, device << 24 | called});
        start += ns;
    }
    return rc;
}

/* Returns the index of the first of the rows before `to` that begins later than `start`. */
static size_t first_later(const struct step_rows *s, size_t to, int64_t start)
{
    return ORDER_PLACE(to, i, s->items[i].start <= start);
}

/* Merges the run [begin, end) with those rows before it that begin later than its first row. */
static int merge(struct step_rows *s, size_t begin, size_t end, struct step_rows *spare)
{
    size_t at = first_later(s, begin, s->items[begin].start), n = begin - at, i = 0, k = begin;
    int rc = mem_grow(&spare->items, &spare->cap, n, sizeof *spare->items, STEP_ROWS);
    if (rc || !n)
        return rc;
    memcpy(spare->items, s->items + at, n * sizeof *s->items);
    while (i < n)
        s->items[at++] = k == end || spare->items[i].start <= s->items[k].start ? spare->items[i++]
                                                                                : s->items[k++];
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct step_row *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Runs mostly overlap a little, so that merging each with the rows before it is cheap. For a log
 * without order, sorting is cheaper. */
int step_rows_settle(struct step_rows *s)
{
    enum { MOVES_MOST = 8 /* of each row */ };
    struct step_rows spare = {0};
    size_t moved = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < s->run_count; i++) {
        size_t begin = s->runs[i], end = i + 1 < s->run_count ? s->runs[i + 1] : s->count;
        moved += begin - first_later(s, begin, s->items[begin].start);
        if (moved / MOVES_MOST > s->count) {
            qsort(s->items, s->count, sizeof *s->items, compare);
            break;
        }
        rc = merge(s, begin, end, &spare);
    }
    if (!rc)
        s->run_count = 0;
    mem_free(spare.items);
    return rc;
}
