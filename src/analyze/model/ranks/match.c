/* match.c - see match.h.
 *
 * All ranks leave a collective nearly at once, whenever they came. So kernels of one name that end
 * within RANK_NEAR and overlap are one collective, in which each rank occurs once. Collectives of
 * another communicator end at other times. */
#include "analyze/model/ranks/match.h"

#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

/* ---- spans ------------------------------------------------------------------------------- */

/* Returns the first span that ends after t. */
static size_t span_after(const struct rank *r, int64_t t)
{
    return ORDER_PLACE(r->span_count, i, r->spans[i].end <= t);
}

int64_t rank_busy(const struct rank *r, int64_t start, int64_t end)
{
    int64_t ns = 0;
    for (size_t i = span_after(r, start); i < r->span_count && r->spans[i].start < end; i++) {
        int64_t a = r->spans[i].start > start ? r->spans[i].start : start,
                b = r->spans[i].end < end ? r->spans[i].end : end;
        ns += b - a;
    }
    return ns;
}

bool rank_is_busy(const struct rank *r, int64_t time)
{
    size_t i = span_after(r, time);
    return i < r->span_count && r->spans[i].start <= time;
}

/* ---- matching ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct rank_member *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Returns the first rank of the same run and host. */
static uint32_t group_of(const struct model *m, size_t rank)
{
    const struct rank *r = m->ranks.items;
    uint32_t i = 0;
    while (r[i].run != r[rank].run || r[i].host != r[rank].host)
        i++;
    return i;
}

static struct rank_member *list(const struct model *m, size_t *count)
{
    size_t all = 0;
    for (size_t i = 0; i < m->ranks.count; i++)
        all += m->ranks.items[i].cut ? 0 : m->ranks.items[i].op_count;
    struct rank_member *to = mem_array(all + 1, sizeof *to);
    *count = 0;
    for (size_t i = 0; to && i < m->ranks.count; i++) {
        const struct rank *r = &m->ranks.items[i];
        uint32_t group = group_of(m, i);
        for (size_t k = 0; !r->cut && k < r->op_count; k++)
            to[(*count)++] = (struct rank_member){.start = r->ops[k].start,
                                                  .end = r->ops[k].end,
                                                  .rank = (uint32_t)i,
                                                  .op = (uint32_t)k,
                                                  .name = r->ops[k].name,
                                                  .group = group};
    }
    return to;
}

/* Gives `number` to `at` and the members of its collective, of which `at` ends first. A member
 * without partners keeps 0. seen: by rank, the last number that was tried. */
static void gather(struct rank_member *m, size_t count, size_t at, uint32_t number, uint32_t *seen)
{
    size_t others = 0;
    seen[m[at].rank] = number;
    for (size_t i = at + 1; i < count && m[i].group == m[at].group; i++) {
        if (m[i].end - m[at].end > RANK_NEAR)
            break;
        if (m[i].one || m[i].name != m[at].name || seen[m[i].rank] == number ||
            m[i].start >= m[at].end)
            continue;
        seen[m[i].rank] = m[i].one = number;
        others++;
    }
    m[at].one = others ? number : 0;
}

int rank_match(const struct model *m, struct rank_member **members, size_t *count)
{
    uint32_t *seen = mem_array(m->ranks.count + 1, sizeof *seen), number = 1;
    *members = list(m, count);
    int rc = *members && seen ? 0 : GPUFL_E_NOMEM;
    if (!rc && *count)
        qsort(*members, *count, sizeof **members, compare);
    for (size_t i = 0; !rc && i < *count; i++)
        if (!(*members)[i].one)
            gather(*members, *count, i, number++, seen);
    mem_free(seen);
    return rc;
}
