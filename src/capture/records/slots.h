/* slots.h - how the program's threads put slots into their rings. Only the owner of a ring calls
 * these functions. [hot] */
#ifndef GPUFL_CAPTURE_RECORDS_SLOTS_H
#define GPUFL_CAPTURE_RECORDS_SLOTS_H

#include "base/ring.h"
#include "capture/threads/collector_wake.h"
#include "capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SLOTS_AHEAD = 16,               /* slots whose cache line is fetched early */
    SLOTS_WAKE_AT = RING_SLOTS / 4, /* slots in a ring at which the collector is woken */
    SLOTS_WAKE_EVERY = 256,         /* slots pushed between two wake-ups by a thread */
};

/* Fetches the cache line early, and for writing: after the collector has read the line, another
 * core holds it. */
static inline void slots_fetch(void *p)
{
#if defined __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(char *)p)); /* the builtin fetches for reading */
#else
    __builtin_prefetch(p, 1);
#endif
}

/* Pushes a slot; the caller has made sure of room. The fields are stored one by one straight into
 * the ring: a slot composed on the stack would be read back in wider pieces than it was written in,
 * and such a read stalls. tick and tag also set the other members of their unions. */
static inline void slot_push(struct thread_state *t, enum slot_kind kind, uint32_t id,
                             uint64_t instance, uint64_t tick, uint64_t tag)
{
    uint64_t head = atomic_load_explicit(&t->ring.head, memory_order_relaxed);
    struct slot *slots = (struct slot *)t->ring.slots;
    slots[head & (RING_SLOTS - 1)] =
        (struct slot){.kind = (uint16_t)kind,
                      .session = (uint16_t)atomic_load_explicit(&t->session, memory_order_relaxed),
                      .id = id,
                      .instance = instance,
                      .tick = tick,
                      .tag = tag};
    slots_fetch(&slots[(head + SLOTS_AHEAD) & (RING_SLOTS - 1)]);
    atomic_store_explicit(&t->ring.head, head + 1, memory_order_release);
}

/* Wakes the collector if the ring fills up. Slots pushed after this call are noticed at the next
 * call or at the flush: a test for every slot would cost more than the slot. */
static inline void slots_wake(struct thread_state *t)
{
    uint64_t head = atomic_load_explicit(&t->ring.head, memory_order_relaxed);
    if (head - t->woke < SLOTS_WAKE_EVERY)
        return;
    t->woke = head;
    collector_wake();
}

/* Returns true if there is room for n slots in addition to the ends of the open scopes. Wakes the
 * collector in time. */
static inline bool slots_room(struct thread_state *t, uint32_t n)
{
    uint32_t need = n + atomic_load_explicit(&t->depth, memory_order_relaxed);
    uint32_t room = ring_room(&t->ring, RING_SLOTS - SLOTS_WAKE_AT);
    if (__builtin_expect(room < RING_SLOTS - SLOTS_WAKE_AT, 0))
        slots_wake(t);
    return room >= need;
}

#endif
