/* arena.c - is a bump allocator with one word of state.
 *
 * The word is the current chunk and the bytes taken of it. A thread takes bytes by advancing the
 * word; it owns those between the old and the new value. A chunk is published before the word names
 * it (release, partner: acquire in arena_take). */
#include "stack/arena.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>

static _Atomic(char *) chunks[ARENA_CHUNKS];
static _Atomic uint64_t state; /* index of a chunk << 32 | bytes taken of it */

/* Makes the chunk, unless another thread has made it. False: no memory. */
static bool arena_chunk(uint32_t index)
{
    if (index >= ARENA_CHUNKS)
        return false;
    if (atomic_load_explicit(&chunks[index], memory_order_acquire))
        return true;
    char *none = NULL, *made = mem_alloc(ARENA_CHUNK);
    if (!made)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&chunks[index], &none, made, memory_order_release,
                                                 memory_order_acquire))
        mem_free(made); /* another thread was first */
    return true;
}

void *arena_take(size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > ARENA_CHUNK)
        return NULL;
    uint64_t now = atomic_load_explicit(&state, memory_order_acquire);
    for (;;) {
        uint32_t index = (uint32_t)(now >> 32), used = (uint32_t)now;
        uint64_t next = now + bytes;
        if (used + bytes > ARENA_CHUNK) {
            index++;
            used = 0;
            next = (uint64_t)index << 32 | bytes;
        }
        if (!arena_chunk(index))
            return NULL;
        if (atomic_compare_exchange_weak_explicit(&state, &now, next, memory_order_acq_rel,
                                                  memory_order_acquire))
            return atomic_load_explicit(&chunks[index], memory_order_acquire) + used;
    }
}

int arena_open(void)
{
    return arena_chunk(0) ? 0 : GPUFL_E_NOMEM;
}

uint64_t arena_bytes(void)
{
    uint64_t now = atomic_load_explicit(&state, memory_order_relaxed);
    return (now >> 32) * ARENA_CHUNK + (uint32_t)now;
}
