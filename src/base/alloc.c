/* alloc.c - allocates with malloc and a countdown.
 *
 * In the product nothing arms the countdown, so an allocation costs one relaxed
 * load and a predictable branch more than malloc. Once a test has armed the
 * countdown, every allocation is counted and one of them returns NULL. The counter is
 * shared by all threads: a test that wants the n-th allocation of one thread
 * runs only that thread. */
#include "base/alloc.h"

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic bool armed;      /* a test called mem_fail_at: stays set */
static _Atomic int64_t fail_at; /* number of the allocation to fail; -1: none */
static _Atomic int64_t count;   /* allocations since mem_fail_at */

void mem_fail_at(int64_t n)
{
    atomic_store_explicit(&count, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_at, n, memory_order_relaxed);
    atomic_store_explicit(&armed, true, memory_order_relaxed);
}

int64_t mem_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

/* Returns true when this allocation is the one to fail. */
static bool mem_refused(void)
{
    if (__builtin_expect(!atomic_load_explicit(&armed, memory_order_relaxed), 1))
        return false;
    int64_t mine = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return mine == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

void *mem_alloc(size_t size)
{
    return mem_refused() ? NULL : malloc(size);
}

void *mem_zalloc(size_t size)
{
    return mem_array(1, size);
}

void *mem_array(size_t n, size_t size)
{
    size_t product; /* calloc checks it too, but allocators under test tools abort there */
    if (__builtin_mul_overflow(n, size, &product))
        return NULL;
    return mem_refused() ? NULL : calloc(n, size);
}

void *mem_pages(size_t n, size_t size)
{
    size_t product;
    if (__builtin_mul_overflow(n, size, &product) || product == 0 || mem_refused())
        return NULL;
    void *p = mmap(NULL, product, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void mem_pages_free(void *p, size_t n, size_t size)
{
    if (p)
        (void)munmap(p, n * size);
}

void *mem_realloc(void *p, size_t size)
{
    return mem_refused() ? NULL : realloc(p, size);
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = mem_alloc(len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void mem_free(void *p)
{
    free(p);
}

int mem_grow(void *items, size_t *cap, size_t need, size_t size, size_t max)
{
    enum { FIRST = 16 };
    if (need <= *cap)
        return 0;
    if (size && max > SIZE_MAX / size)
        max = SIZE_MAX / size;
    if (need > max)
        return GPUFL_E_FULL;
    size_t want = *cap < FIRST ? FIRST : *cap;
    while (want < need)
        want = want > max / 2 ? max : want * 2;
    if (want > max)
        want = max;
    void *old;
    memcpy(&old, items, sizeof old); /* items points to a T * of a type unknown here */
    void *grown = mem_realloc(old, want * size);
    if (!grown)
        return GPUFL_E_NOMEM;
    memcpy(items, &grown, sizeof grown);
    *cap = want;
    return 0;
}
