/* ring.h - is a single-producer single-consumer ring of fixed-size slots.
 *
 * The producer is a thread of the program, so it takes no lock, allocates nothing and makes no
 * system call after ring_init. A full ring refuses a slot; the caller counts the loss.
 * The slots are pages of their own: freeing a ring returns them to the system at once, and making a
 * ring touches none of them.
 * head is written by the producer (release) and read by the consumer
 * (acquire); tail the other way round. */
#ifndef GPUFL_BASE_RING_H
#define GPUFL_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ring {
    _Alignas(64) _Atomic uint64_t head; /* slots ever pushed */
    uint64_t tail_seen;                 /* producer's copy of tail: spares the cache miss */
    _Alignas(64) _Atomic uint64_t tail; /* slots ever popped */
    _Alignas(64) char *slots;           /* owned: capacity x slot_size */
    uint32_t capacity;                  /* slots, a power of two */
    uint32_t slot_size;                 /* bytes */
};

/* capacity is rounded up to a power of two. 0 or GPUFL_E_NOMEM. */
int ring_init(struct ring *r, uint32_t capacity, uint32_t slot_size);
void ring_fini(struct ring *r);

/* Returns how many slots the producer can push without being refused. [hot, producer] */
static inline uint32_t ring_room(struct ring *r, uint32_t want)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t room = r->capacity - (uint32_t)(head - r->tail_seen);
    if (room >= want)
        return room;
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    return r->capacity - (uint32_t)(head - r->tail_seen);
}

/* Copies one slot in; false when full. [hot, producer] */
static inline bool ring_push(struct ring *r, const void *slot)
{
    if (ring_room(r, 1) < 1)
        return false;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    memcpy(r->slots + (size_t)(head & (r->capacity - 1)) * r->slot_size, slot, r->slot_size);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return true;
}

/* Returns the oldest slot, or NULL; valid until ring_pop. [consumer] */
static inline const void *ring_peek(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (atomic_load_explicit(&r->head, memory_order_acquire) == tail)
        return NULL;
    return r->slots + (size_t)(tail & (r->capacity - 1)) * r->slot_size;
}

/* Returns the number of slots ever pushed. The slots from the tail up to this one do not change
 * while the consumer reads them. The consumer may read many of them with ring_at and free all with
 * one ring_pop_to, so that the producer's core sees one write and not one for every slot.
 * [consumer] */
static inline uint64_t ring_head(const struct ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire);
}

static inline uint64_t ring_tail(const struct ring *r)
{
    return atomic_load_explicit(&r->tail, memory_order_relaxed);
}

static inline const void *ring_at(const struct ring *r, uint64_t i)
{
    return r->slots + (size_t)(i & (r->capacity - 1)) * r->slot_size;
}

static inline void ring_pop_to(struct ring *r, uint64_t tail)
{
    atomic_store_explicit(&r->tail, tail, memory_order_release);
}

static inline void ring_pop(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

#endif
