/* buffers.c - see buffers.h.
 *
 * The free list is a stack of indices. Its top also contains a count of changes, so that a top that
 * was taken and put back meanwhile is not mistaken for an unchanged one. */
#include "backend/common/buffers.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { COUNT_MIN = 4, COUNT_MAX = 65536, SIZE_MIN = 64 << 10, PAGE = 4096 };

static uint64_t top_next(uint64_t top, uint32_t index1)
{
    return ((top >> 32) + 1) << 32 | index1;
}

static void free_push(struct buffers *b, uint32_t index)
{
    uint64_t top = atomic_load_explicit(&b->free, memory_order_relaxed);
    do
        atomic_store_explicit(&b->items[index].next, (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&b->free, &top, top_next(top, index + 1),
                                                  memory_order_release, memory_order_relaxed));
}

uint8_t *buffers_take(struct buffers *b)
{
    uint64_t top = atomic_load_explicit(&b->free, memory_order_acquire);
    uint32_t next;
    do {
        if ((uint32_t)top == 0)
            return NULL;
        next = atomic_load_explicit(&b->items[(uint32_t)top - 1].next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&b->free, &top, top_next(top, next),
                                                    memory_order_acquire, memory_order_acquire));
    uint32_t index = (uint32_t)top - 1;
    atomic_store_explicit(&b->items[index].round,
                          atomic_load_explicit(&b->round, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&b->items[index].out, true, memory_order_relaxed);
    return b->memory + (size_t)index * b->size;
}

/* Takes back a buffer that the library has; NULL: it is not of this pool, or the library does not
 * have it. */
static struct buffer *come_back(struct buffers *b, const uint8_t *memory)
{
    if (memory < b->memory || memory >= b->memory + (size_t)b->count * b->size)
        return NULL;
    struct buffer *item = &b->items[(size_t)(memory - b->memory) / b->size];
    return atomic_exchange_explicit(&item->out, false, memory_order_relaxed) ? item : NULL;
}

bool buffers_give(struct buffers *b, uint8_t *memory, size_t valid, bool floor)
{
    struct buffer *item = come_back(b, memory);
    if (!item)
        return false;
    item->valid = valid <= b->size ? valid : b->size;
    item->floor = floor;
    item->old = atomic_load_explicit(&item->round, memory_order_relaxed) !=
                atomic_load_explicit(&b->round, memory_order_relaxed);
    atomic_fetch_add_explicit(&b->waiting, 1, memory_order_relaxed);
    queue_push(&b->filled, &item->node);
    return true;
}

bool buffers_home(const struct buffers_list *all, const uint8_t *memory)
{
    struct buffers *b = atomic_load_explicit(&all->newest, memory_order_acquire);
    for (; b; b = b->older) {
        struct buffer *item = come_back(b, memory);
        if (item) {
            buffers_release(b, item);
            return true;
        }
    }
    return false;
}

bool buffers_pressing(struct buffers *b)
{
    return atomic_load_explicit(&b->waiting, memory_order_relaxed) * 4 >= b->count;
}

struct queue_node *buffers_filled(struct buffers *b)
{
    struct queue_node *list = queue_take(&b->filled);
    uint32_t n = 0;
    for (struct queue_node *i = list; i; i = i->next)
        n++;
    atomic_fetch_sub_explicit(&b->waiting, n, memory_order_relaxed);
    return list;
}

uint8_t *buffers_memory(const struct buffers *b, const struct buffer *item)
{
    return b->memory + (size_t)(item - b->items) * b->size;
}

void buffers_release(struct buffers *b, struct buffer *item)
{
    free_push(b, (uint32_t)(item - b->items));
}

/* ---- the pool -------------------------------------------------------------------------- */

bool buffers_out(const struct buffers *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (atomic_load_explicit(&b->items[i].out, memory_order_relaxed))
            return true;
    return false;
}

static void release_filled(struct buffers *b)
{
    struct queue_node *next;
    for (struct queue_node *n = buffers_filled(b); n; n = next) {
        next = n->next;
        buffers_release(b, (struct buffer *)n);
    }
}

static uint32_t count_out(const struct buffers *b)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < b->count; i++)
        out += atomic_load_explicit(&b->items[i].out, memory_order_relaxed);
    return out;
}

static struct buffers *make_pool(size_t size, uint32_t count)
{
    size_t head = sizeof(struct buffers) + count * sizeof(struct buffer);
    head = (head + PAGE - 1) / PAGE * PAGE;
    void *p = mmap(NULL, head + count * size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    struct buffers *b = p;
    b->memory = (uint8_t *)p + head;
    b->size = size;
    b->count = count;
    for (uint32_t i = count; i > 0; i--)
        free_push(b, i - 1);
    return b;
}

struct buffers *buffers_open(struct buffers_list *all, int64_t buffer_bytes, int64_t pool_bytes)
{
    size_t size = buffer_bytes < SIZE_MIN ? SIZE_MIN : (size_t)buffer_bytes & ~(size_t)(PAGE - 1);
    int64_t want = pool_bytes / (int64_t)size;
    uint32_t count = want < COUNT_MIN ? COUNT_MIN : want > COUNT_MAX ? COUNT_MAX : (uint32_t)want;
    struct buffers *newest = atomic_load_explicit(&all->newest, memory_order_relaxed);
    for (struct buffers *b = newest; b; b = b->older) {
        if (b->size != size || b->count != count || count_out(b) > count / 2)
            continue;
        atomic_fetch_add_explicit(&b->round, 1, memory_order_relaxed);
        release_filled(b); /* buffers that came too late for the session before */
        return b;
    }
    struct buffers *b = make_pool(size, count);
    if (!b)
        return NULL;
    b->older = newest;
    atomic_store_explicit(&all->newest, b, memory_order_release);
    return b;
}

void buffers_trim(struct buffers *b)
{
    struct queue_node *list = NULL, *next;
    uint8_t *memory;
    release_filled(b);
    while ((memory = buffers_take(b))) {
        struct buffer *item = &b->items[(size_t)(memory - b->memory) / b->size];
        madvise(memory, b->size, MADV_DONTNEED);
        item->node.next = list;
        list = &item->node;
    }
    for (struct queue_node *n = list; n; n = next) {
        next = n->next;
        struct buffer *item = (struct buffer *)n;
        atomic_store_explicit(&item->out, false, memory_order_relaxed);
        buffers_release(b, item);
    }
}
