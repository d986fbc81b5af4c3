/* delivery.c - see delivery.h. */
#include "backend/amd/trace/delivery.h"

#include "backend/amd/trace/counting.h"
#include "backend/amd/trace/records.h"
#include "backend/common/buffers.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { RECORD_MOST = 512, SECOND = 1000000000 };

#define COUNTED (UINT32_C(1) << 31)
#define SAMPLED (UINT32_C(1) << 30)

/* This is at the head of a buffer of the pool. */
struct batch {
    int64_t shift; /* ns: CLOCK_MONOTONIC - CLOCK_BOOTTIME when the library delivered the records */
};

/* This is at the head of each record in the buffer. */
struct packed {
    uint32_t bytes; /* of the record, rounded up to 8 */
    uint32_t kind;  /* the library's number, with COUNTED of counters; SAMPLED */
};

static struct {
    bool kinds[ROCP_BUFFER_KIND_COUNT];
    struct buffers_list pools;
    _Atomic(struct buffers *) pool; /* release, acquire */
    _Atomic(struct sink *) sink;    /* NULL: no session records. Release, acquire */
    _Atomic uint64_t dropped;       /* that the library has reported, a running total */
    _Atomic bool memory;            /* the session records allocations. Relaxed */
    struct queue_node *taken;       /* [collector] */
    struct rocm_records records;    /* [collector] */
    struct sink *owner_sink;        /* the session's [owner, collector] */
} me;

void delivery_kind(enum rocp_kind kind, bool recorded)
{
    me.kinds[kind] = recorded;
}

bool delivery_has(enum rocp_kind kind)
{
    return me.kinds[kind];
}

/* ---- the library's thread ------------------------------------------------------------ */

static int64_t boot_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* Returns the difference of both clocks: the time for which the machine was suspended. */
static int64_t shift_now(void)
{
    int64_t before = boot_ns(), now = clock_mono(), after = boot_ns();
    return now - (before + (after - before) / 2);
}

/* Reports what the library dropped since its last report. */
static void count_dropped(struct sink *s, uint64_t total)
{
    uint64_t before = atomic_load_explicit(&me.dropped, memory_order_relaxed);
    while (total > before)
        if (atomic_compare_exchange_weak_explicit(&me.dropped, &before, total, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            if (s)
                s->ops->lost(s, LOSS_DRIVER, total - before);
            return;
        }
}

static void give(struct delivery_packing *p)
{
    if (p->memory)
        (void)buffers_give(p->pool, p->memory, p->used, false);
    p->memory = NULL;
}

static bool room_for(struct delivery_packing *p, size_t bytes)
{
    if (p->memory && p->used + bytes > p->pool->size)
        give(p);
    if (p->memory)
        return true;
    p->memory = buffers_take(p->pool);
    p->used = sizeof(struct batch);
    if (p->memory)
        memcpy(p->memory, &(struct batch){p->shift}, sizeof(struct batch));
    return p->memory && p->used + bytes <= p->pool->size;
}

static bool begin(struct delivery_packing *p)
{
    *p = (struct delivery_packing){
        .pool = atomic_load_explicit(&me.pool, memory_order_acquire),
        .sink = atomic_load_explicit(&me.sink, memory_order_acquire),
        .shift = shift_now(),
    };
    return p->sink && p->pool;
}

static void put(struct delivery_packing *p, uint32_t kind, const void *record, size_t bytes)
{
    struct packed head = {.bytes = (uint32_t)(bytes + 7) & ~7u, .kind = kind};
    if (!room_for(p, sizeof head + head.bytes)) {
        p->refused++;
        return;
    }
    memcpy(p->memory + p->used, &head, sizeof head);
    memcpy(p->memory + p->used + sizeof head, record, bytes);
    p->used += sizeof head + head.bytes;
}

/* Ends a callback's delivery. loss: the reason that is counted for records without room. */
static void end(struct delivery_packing *p, enum loss loss)
{
    give(p);
    if (p->refused)
        p->sink->ops->lost(p->sink, loss, p->refused);
    if (p->refused || buffers_pressing(p->pool))
        p->sink->ops->wake(p->sink);
}

bool delivery_samples_begin(struct delivery_packing *p)
{
    return begin(p);
}

void delivery_sample(struct delivery_packing *p, const struct sample_taken *s)
{
    put(p, SAMPLED, s, sizeof *s);
}

void delivery_samples_end(struct delivery_packing *p)
{
    end(p, LOSS_SAMPLES);
}

static void pack(struct delivery_packing *p, const struct rocp_header *h)
{
    const struct rocp_record *r = h->payload;
    bool counted = h->category == ROCP_COUNTERS;
    size_t bytes = !r ? 0 : counted ? counting_bytes(h) : h->category == ROCP_TRACING ? r->size : 0;
    if (bytes < sizeof *r || bytes > RECORD_MOST) {
        p->sink->ops->lost(p->sink, LOSS_UNKNOWN_RECORD, 1);
        return;
    }
    put(p, h->kind | (counted ? COUNTED : 0), r, bytes);
}

/* Returns the library's number of a kind that the session does not record, or ROCP_NO_KIND.
 * Services are configured before the first session, for all sessions, so that unwanted records
 * come, too. */
static int unwanted_kind(const struct rocp *sdk)
{
    return atomic_load_explicit(&me.memory, memory_order_relaxed)
               ? ROCP_NO_KIND
               : sdk->kinds[ROCP_MEMORY_ALLOCATION];
}

void delivery_take(uint64_t context, uint64_t buffer, struct rocp_header **headers, size_t count,
                   void *data, uint64_t dropped)
{
    (void)context, (void)buffer;
    struct delivery_packing p;
    bool wanted = begin(&p);
    int unwanted = unwanted_kind(data);
    count_dropped(p.sink, dropped);
    if (!wanted)
        return;
    for (size_t i = 0; i < count; i++)
        if (headers[i]->category != ROCP_TRACING || (int)headers[i]->kind != unwanted)
            pack(&p, headers[i]);
    end(&p, LOSS_POOL);
}

/* ---- the collector ------------------------------------------------------------------- */

void delivery_gather(void)
{
    struct buffers *pool = atomic_load_explicit(&me.pool, memory_order_relaxed);
    struct queue_node **end = &me.taken;
    while (*end)
        end = &(*end)->next;
    *end = pool ? buffers_filled(pool) : NULL;
}

static uint32_t device_of(int agent)
{
    return rocm_records_device(&me.records, agent);
}

void delivery_describe_counted(bool all)
{
    counting_describe(device_of, all);
}

void delivery_write_samples(void)
{
    sampling_write(device_of);
}

static void decode_one(const uint8_t *memory, size_t valid)
{
    struct batch b;
    struct packed head;
    memcpy(&b, memory, sizeof b);
    for (size_t at = sizeof b; at + sizeof head <= valid; at += sizeof head + head.bytes) {
        const uint8_t *record = memory + at + sizeof head;
        memcpy(&head, memory + at, sizeof head);
        if (head.kind == SAMPLED)
            sampling_read(record);
        else if (head.kind & COUNTED)
            counting_read(head.kind & ~COUNTED, record, b.shift, device_of);
        else
            rocm_records_read(&me.records, head.kind, record, b.shift);
    }
}

void delivery_decode(void)
{
    struct buffers *pool = atomic_load_explicit(&me.pool, memory_order_relaxed);
    struct queue_node *next;
    for (struct queue_node *n = me.taken; n; n = next) {
        struct buffer *b = (struct buffer *)n;
        next = n->next;
        if (!b->old)
            decode_one(buffers_memory(pool, b), b->valid);
        buffers_release(pool, b);
    }
    me.taken = NULL;
}

bool delivery_came(void)
{
    return me.taken != NULL;
}

/* ---- the session --------------------------------------------------------------------- */

int delivery_open(struct sink *s, const struct trace_config *c)
{
    struct buffers *pool = buffers_open(&me.pools, c->buffer_bytes, c->pool_bytes);
    if (!pool)
        return GPUFL_E_NOMEM;
    me.owner_sink = s;
    rocm_records_open(&me.records, s, c->windows);
    atomic_store_explicit(&me.memory, c->memory, memory_order_relaxed);
    atomic_store_explicit(&me.pool, pool, memory_order_release);
    atomic_store_explicit(&me.sink, s, memory_order_release);
    return 0;
}

void delivery_shut(void)
{
    atomic_store_explicit(&me.sink, NULL, memory_order_release);
}

void delivery_close(void)
{
    struct buffers *pool = atomic_load_explicit(&me.pool, memory_order_relaxed);
    delivery_shut();
    if (pool)
        buffers_trim(pool);
}

void delivery_forget(void)
{
    atomic_store(&me.sink, NULL);
    atomic_store(&me.pool, NULL);
}

uint64_t delivery_dispatches(void)
{
    return rocm_records_dispatches(&me.records);
}
