/* memory.c - memory of the fake driver, and copies and fills of it.
 *
 * Addresses count up and are never used again; each allocation has a size and a kind of
 * memory. Host memory that is not from here is pageable. The data of a copy is not moved:
 * only its time passes. As with the real driver, only asynchronous copies return before they
 * are done; one from pageable memory returns when it has been staged, one to pageable memory
 * at its end. */
#include "driver.h"

#include "backend/nvidia/abi/cupti.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    PIECES = 4096,
    PINNED_NS_PER_KIB = 30,
    PAGEABLE_NS_PER_KIB = 90,
    COPY_NS = 1000,
    ALLOC_NS = 20000,
    PAGEABLE = 1, /* kinds of memory, as in records */
    PINNED = 2,
    DEVICE = 3,
    TO_DEVICE = 1, /* kinds of copies, as in records */
    TO_HOST = 2,
};

struct piece {
    uintptr_t address;
    size_t bytes; /* 0: free */
    int kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece pieces[PIECES];             /* guarded by lock */
static uintptr_t next_address = 0x700000000000; /* guarded by lock */

void memory_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void memory_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- allocations -------------------------------------------------------------------------- */

/* address 0: the next free one of the device. Returns the address; 0: no room. */
static uintptr_t piece_add(uintptr_t address, size_t bytes, int kind)
{
    struct piece *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PIECES && !found; i++)
        if (!pieces[i].bytes)
            found = &pieces[i];
    if (found && !address) {
        address = next_address;
        next_address += (bytes + 511) & ~(size_t)511;
    }
    if (found)
        *found = (struct piece){address, bytes, kind};
    pthread_mutex_unlock(&lock);
    return found ? address : 0;
}

/* Frees an allocation. Returns its bytes; 0: there is none. */
static size_t piece_drop(uintptr_t address)
{
    size_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PIECES && !bytes; i++)
        if (pieces[i].bytes && pieces[i].address == address) {
            bytes = pieces[i].bytes;
            pieces[i].bytes = 0;
        }
    pthread_mutex_unlock(&lock);
    return bytes;
}

bool memory_pinned(const void *host)
{
    bool found = false;
    uintptr_t at = (uintptr_t)host;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PIECES && !found; i++)
        found = pieces[i].bytes && pieces[i].kind == PINNED && at >= pieces[i].address &&
                at - pieces[i].address < pieces[i].bytes;
    pthread_mutex_unlock(&lock);
    return found;
}

static void report_memory(const struct call *c, int operation, int memory, uintptr_t address,
                          size_t bytes)
{
    struct fake_op op = {.work = FAKE_MEMORY,
                         .correlation = c->correlation,
                         .stream = CUPTI_NONE,
                         .start = driver_now(),
                         .address = address,
                         .bytes = bytes,
                         .memory = memory,
                         .kind = operation};
    op.end = op.start;
    report_op(&op);
}

/* Makes an event of managed memory: enum cupti_managed_kind and the record's value. The real driver
 * has no such function. */
EXPORT void fake_managed(int kind, uint64_t value)
{
    struct fake_op op = {.work = FAKE_MANAGED,
                         .start = driver_now(),
                         .address = 0x7f0000000000,
                         .bytes = value,
                         .kind = kind};
    op.end = op.start + COPY_NS;
    wait_until(op.end);
    report_op(&op);
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    const struct {
        uint64_t *address;
        size_t bytes;
    } p = {address, bytes};
    struct call c;
    call_enter(&c, 243, "cuMemAlloc_v2", &p, NULL);
    if (!bytes)
        return call_exit(&c, DRIVER_E_VALUE);
    wait_until(driver_now() + ALLOC_NS);
    *address = piece_add(0, bytes, DEVICE);
    if (!*address)
        return call_exit(&c, 2);
    report_memory(&c, 1, DEVICE, *address, bytes);
    return call_exit(&c, CUDA_OK);
}

/* Waits for the whole device first: work that is queued may use the memory. */
EXPORT int cuMemFree_v2(uint64_t address)
{
    struct call c;
    call_enter(&c, 245, "cuMemFree_v2", &address, NULL);
    wait_until(stream_end(CUPTI_NONE));
    size_t bytes = piece_drop(address);
    if (bytes)
        report_memory(&c, 2, DEVICE, address, bytes);
    return call_exit(&c, bytes || !address ? CUDA_OK : DRIVER_E_VALUE);
}

EXPORT int cuMemAllocHost_v2(void **host, size_t bytes)
{
    const struct {
        void **host;
        size_t bytes;
    } p = {host, bytes};
    struct call c;
    call_enter(&c, 294, "cuMemAllocHost_v2", &p, NULL);
    *host = calloc(1, bytes);
    if (!*host || !piece_add((uintptr_t)*host, bytes, PINNED)) {
        free(*host);
        return call_exit(&c, 2);
    }
    report_memory(&c, 1, PINNED, (uintptr_t)*host, bytes);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuMemFreeHost(void *host)
{
    struct call c;
    call_enter(&c, 38, "cuMemFreeHost", &host, NULL);
    wait_until(stream_end(CUPTI_NONE));
    size_t bytes = piece_drop((uintptr_t)host);
    if (!bytes)
        return call_exit(&c, DRIVER_E_VALUE);
    report_memory(&c, 2, PINNED, (uintptr_t)host, bytes);
    free(host);
    return call_exit(&c, CUDA_OK);
}

/* ---- copies ------------------------------------------------------------------------------- */

/* Arguments as the driver's callbacks show them; the synchronous forms have no stream. */
struct copy_params {
    uint64_t to, from;
    size_t bytes;
    cuda_stream stream;
};

static int copy(uint32_t cbid, const char *function, int kind, const struct copy_params *p,
                bool async)
{
    const void *host = (const void *)(uintptr_t)(kind == TO_DEVICE ? p->from : p->to);
    bool pinned = memory_pinned(host);
    struct call c;
    call_enter(&c, cbid, function, p, NULL);
    struct fake_op op = {.work = FAKE_COPY,
                         .correlation = c.correlation,
                         .stream = stream_number(p->stream),
                         .bytes = p->bytes,
                         .memory = pinned ? PINNED : PAGEABLE,
                         .async = async,
                         .kind = kind};
    int64_t ns =
        COPY_NS + (int64_t)(p->bytes / 1024) * (pinned ? PINNED_NS_PER_KIB : PAGEABLE_NS_PER_KIB);
    if (!async) /* after the work of all streams */
        stream_hold(op.stream, stream_end(CUPTI_NONE));
    int64_t staged = driver_now() + ns;
    queue_op(&op, ns);
    if (!async || (!pinned && kind == TO_HOST))
        wait_until(op.end);
    else if (!pinned)
        wait_until(staged);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    const struct copy_params p = {to, (uintptr_t)from, bytes, NULL};
    return copy(276, "cuMemcpyHtoD_v2", TO_DEVICE, &p, false);
}

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    const struct copy_params p = {(uintptr_t)to, from, bytes, NULL};
    return copy(278, "cuMemcpyDtoH_v2", TO_HOST, &p, false);
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_stream stream)
{
    const struct copy_params p = {to, (uintptr_t)from, bytes, stream};
    return copy(277, "cuMemcpyHtoDAsync_v2", TO_DEVICE, &p, true);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_stream stream)
{
    const struct copy_params p = {(uintptr_t)to, from, bytes, stream};
    return copy(279, "cuMemcpyDtoHAsync_v2", TO_HOST, &p, true);
}

EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                             size_t bytes, cuda_stream stream)
{
    const struct {
        uint64_t to;
        void *to_context;
        uint64_t from;
        void *from_context;
        size_t bytes;
        cuda_stream stream;
    } p = {to, to_context, from, from_context, bytes, stream};
    struct call c;
    call_enter(&c, 319, "cuMemcpyPeerAsync", &p, NULL);
    struct fake_op op = {.work = FAKE_PEER,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .bytes = bytes,
                         .memory = 3,
                         .async = true,
                         .kind = 10};
    queue_op(&op, COPY_NS);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, cuda_stream stream)
{
    const struct {
        uint64_t to;
        unsigned char value;
        size_t bytes;
        cuda_stream stream;
    } p = {to, value, bytes, stream};
    struct call c;
    call_enter(&c, 216, "cuMemsetD8Async", &p, NULL);
    struct fake_op op = {.work = FAKE_FILL,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .bytes = bytes};
    queue_op(&op, COPY_NS);
    return call_exit(&c, CUDA_OK);
}
