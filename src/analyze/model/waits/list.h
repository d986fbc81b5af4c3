/* list.h - keeps the single waits of a session in order of time, and which launches ran kernels.
 *
 * What a wait cost depends on what came before and after it, so the first WAIT_KEPT waits are kept;
 * callers count the rest. Correlation ids of kernels are kept as bits, so that the different ids
 * between two calls can be counted. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_WAITS_LIST_H
#define GPUFL_ANALYZE_MODEL_WAITS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WAIT_KEPT = 1 << 22,      /* waits: 168 MB at most */
    WAIT_CORR_PAGES = 1 << 12 /* pages of 65536 ids: 36 MB at most */
};

struct wait_item {
    int64_t start, end;   /* ns */
    uint32_t correlation; /* 0: unknown */
    uint32_t stack;       /* id of the log; 0: none */
    uint32_t thread;      /* 0: unknown */
    uint32_t launches;    /* of the thread before the wait, modulo 2^32 */
    uint32_t bytes;       /* size of a copy, at most UINT32_MAX; 0: unknown */
    uint8_t call;         /* wait.call */
    bool async;           /* the asynchronous form of the call */
    bool counted;         /* `launches` is known */
};

struct wait_list {
    struct wait_item *items; /* owned */
    size_t count, cap;
    size_t sorted; /* number of items that are in order */
};

void wait_list_fini(struct wait_list *l);
/* Adds a wait. 0, GPUFL_E_NOMEM, or GPUFL_E_FULL if the list has WAIT_KEPT items. */
int wait_list_add(struct wait_list *l, const struct wait_item *w);
/* Sorts by start, then by the other members, so that the result does not depend on the order of
 * arrival. */
int wait_list_sort(struct wait_list *l);

/* This is a set of 32-bit ids. */
struct corr_set {
    struct corr_page **pages; /* owned; 65536 of them, NULL if empty */
    size_t count;             /* pages that exist */
    size_t low, end;          /* all pages have indexes from low to end - 1 */
    uint64_t total;           /* ids, once sealed */
    bool refused;             /* some ids had no room, so that counts would be too small */
};

void corr_set_fini(struct corr_set *s);
int corr_set_add_slow(struct corr_set *s, uint32_t id);
void corr_set_seal(struct corr_set *s); /* before corr_set_between */
/* Returns how many ids are after a and before b. Ids rise and wrap around at 2^32. */
uint64_t corr_set_between(const struct corr_set *s, uint32_t a, uint32_t b);

struct corr_page {
    uint64_t bits[1024];
    uint32_t before[128]; /* sealed: ids in the page before each 8 words */
    uint64_t before_page; /* sealed: ids in all pages before */
};

static inline int corr_set_add(struct corr_set *s, uint32_t id)
{
    struct corr_page *p = s->pages ? s->pages[id >> 16] : NULL;
    if (!p)
        return corr_set_add_slow(s, id);
    p->bits[id >> 6 & 1023] |= 1ull << (id & 63);
    return 0;
}

#endif
