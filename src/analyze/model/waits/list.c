/* list.c - a natural merge sort for nearly sorted waits, and pages of bits with running counts. */
#include "analyze/model/waits/list.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <string.h>

void wait_list_fini(struct wait_list *l)
{
    mem_free(l->items);
    memset(l, 0, sizeof *l);
}

static int compare(const struct wait_item *a, const struct wait_item *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    int o = ORDER(a->thread, b->thread);
    o = o ? o : ORDER(a->correlation, b->correlation);
    o = o ? o : ORDER(a->stack, b->stack);
    o = o ? o : ORDER(a->call, b->call);
    o = o ? o : ORDER(a->launches, b->launches);
    o = o ? o : ORDER(a->bytes, b->bytes);
    return o ? o : ORDER(a->async, b->async);
}

int wait_list_add(struct wait_list *l, const struct wait_item *w)
{
    int rc = mem_grow(&l->items, &l->cap, l->count + 1, sizeof *l->items, WAIT_KEPT);
    if (rc)
        return rc;
    if (l->sorted == l->count && (!l->count || compare(&l->items[l->count - 1], w) <= 0))
        l->sorted++;
    l->items[l->count++] = *w;
    return 0;
}

/* Returns the end of the ascending run that starts at i. */
static size_t run_end(const struct wait_list *l, size_t i)
{
    while (++i < l->count && compare(&l->items[i - 1], &l->items[i]) <= 0)
        ;
    return i;
}

static void merge_runs(const struct wait_item *from, size_t a, size_t b, size_t end,
                       struct wait_item *to)
{
    size_t left = a, right = b, at = a;
    while (left < b || right < end) {
        bool first = right == end || (left < b && compare(&from[left], &from[right]) <= 0);
        to[at++] = from[first ? left++ : right++];
    }
}

/* One pass merges neighbouring runs in pairs; nearly sorted lists need few passes. */
int wait_list_sort(struct wait_list *l)
{
    if (l->sorted == l->count)
        return 0;
    struct wait_item *spare = mem_array(l->cap, sizeof *spare);
    if (!spare)
        return GPUFL_E_NOMEM;
    for (size_t runs = 2; runs > 1;) {
        runs = 0;
        for (size_t a = 0, b, end; a < l->count; a = end) {
            b = run_end(l, a);
            end = b < l->count ? run_end(l, b) : b;
            merge_runs(l->items, a, b, end, spare);
            runs++;
        }
        struct wait_item *items = l->items;
        l->items = spare;
        spare = items;
    }
    mem_free(spare);
    l->sorted = l->count;
    return 0;
}

/* ---- ids --------------------------------------------------------------------------------- */

enum { PAGES = 1 << 16 };

void corr_set_fini(struct corr_set *s)
{
    for (size_t i = s->low; i < s->end; i++)
        mem_free(s->pages[i]);
    mem_free(s->pages);
    memset(s, 0, sizeof *s);
}

int corr_set_add_slow(struct corr_set *s, uint32_t id)
{
    if (!s->pages && !(s->pages = mem_array(PAGES, sizeof *s->pages)))
        return GPUFL_E_NOMEM;
    struct corr_page **p = &s->pages[id >> 16];
    if (!*p && s->count == WAIT_CORR_PAGES) {
        s->refused = true;
        return 0;
    }
    if (!*p) {
        const size_t page = id >> 16;
        *p = mem_zalloc(sizeof **p);
        if (!*p)
            return GPUFL_E_NOMEM;
        s->low = !s->count || page < s->low ? page : s->low;
        s->end = page >= s->end ? page + 1 : s->end;
        s->count++;
    }
    (*p)->bits[id >> 6 & 1023] |= 1ull << (id & 63);
    return 0;
}

void corr_set_seal(struct corr_set *s)
{
    s->total = 0;
    for (size_t i = s->low; i < s->end; i++) {
        struct corr_page *p = s->pages[i];
        uint32_t here = 0;
        if (!p)
            continue;
        p->before_page = s->total;
        for (size_t w = 0; w < 1024; w++) {
            if (w % 8 == 0)
                p->before[w / 8] = here;
            here += (uint32_t)__builtin_popcountll(p->bits[w]);
        }
        s->total += here;
    }
}

/* Returns the number of ids below id. */
static uint64_t rank(const struct corr_set *s, uint32_t id)
{
    size_t page = id >> 16;
    if (!s->pages)
        return 0;
    if (!s->pages[page]) {
        page = page < s->end ? page : s->end;
        while (page > s->low && !s->pages[page])
            page--;
        if (page < s->low || !s->pages[page])
            return 0;
        id = (uint32_t)(page << 16 | 0xffff);
        return rank(s, id) + (s->pages[page]->bits[1023] >> 63);
    }
    const struct corr_page *p = s->pages[page];
    size_t word = id >> 6 & 1023;
    uint64_t n = p->before_page + p->before[word / 8];
    for (size_t w = word / 8 * 8; w < word; w++)
        n += (uint64_t)__builtin_popcountll(p->bits[w]);
    return n + (uint64_t)__builtin_popcountll(p->bits[word] & ((1ull << (id & 63)) - 1));
}

uint64_t corr_set_between(const struct corr_set *s, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    uint64_t to_a = a == UINT32_MAX ? s->total : rank(s, a + 1), to_b = rank(s, b);
    return b > a ? to_b - to_a : s->total - to_a + to_b;
}
