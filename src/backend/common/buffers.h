/* buffers.h - has memory for activity records: a bounded pool from which CUPTI gets buffers, and a
 * queue by which filled buffers reach the collector.
 *
 * Buffers are taken and given on the program's threads and CUPTI's own, without lock,
 * allocation or system call. A pool is one mapping that is never unmapped,
 * because CUPTI may write into a buffer after the session's end. The buffer that was
 * freed last is taken first, so that few pages are touched.
 *
 * Sessions that follow each other share pools, so that a buffer that CUPTI still holds does not
 * cost the next session a new mapping. Such a buffer is marked when it comes back, because it may
 * have records of the session before. */
#ifndef GPUFL_BACKEND_COMMON_BUFFERS_H
#define GPUFL_BACKEND_COMMON_BUFFERS_H

#include "base/queue.h"

#include <stdbool.h>
#include <stdint.h>

struct buffer {
    struct queue_node node; /* in the queue of filled ones; first member */
    _Atomic uint32_t next;  /* in the free list: index + 1, 0: last */
    _Atomic bool out;       /* CUPTI holds the buffer */
    _Atomic uint32_t round; /* the pool's round in which CUPTI got it; relaxed */
    bool old;               /* CUPTI got it in a session before this one */
    bool floor;             /* filled while only counting: see trace_ops.floor */
    size_t valid;           /* bytes filled */
};

struct buffers {
    uint8_t *memory;          /* count x size bytes, in the same mapping */
    uint32_t count;           /* buffers */
    size_t size;              /* bytes of one */
    struct buffers *older;    /* the pool that was made before this one; NULL: none */
    _Atomic uint32_t round;   /* counts the sessions that used the pool; relaxed */
    _Atomic uint64_t free;    /* top of the free list: changes << 32 | index + 1 */
    _Atomic uint32_t waiting; /* in the queue */
    struct queue filled;      /* of struct buffer */
    struct buffer items[];    /* one a buffer */
};

/* Lists the pools that were made so far, newest first; zeros: none. Pools stay in the list for
 * good. */
struct buffers_list {
    _Atomic(struct buffers *) newest; /* release in buffers_open, acquire in buffers_home */
};

/* Returns a pool for a session: one of the list with these sizes and at least half of its buffers
 * free, else a new one, which is added to the list. NULL: out of memory. [owner] */
struct buffers *buffers_open(struct buffers_list *all, int64_t buffer_bytes, int64_t pool_bytes);

/* Gives the memory of free buffers back to the system, but keeps the pool. [owner] */
void buffers_trim(struct buffers *b);

/* Returns a free buffer, or NULL. [hot] */
uint8_t *buffers_take(struct buffers *b);

/* Queues a filled buffer. False: the buffer is not of this pool. [hot] */
bool buffers_give(struct buffers *b, uint8_t *memory, size_t valid, bool floor);

/* Frees a buffer that CUPTI gives back after a session with another pool has begun; it is not read.
 * False: the buffer is of no pool of the list. [hot] */
bool buffers_home(const struct buffers_list *all, const uint8_t *memory);

/* Returns true if so many filled buffers wait that the collector should come early. [hot] */
bool buffers_pressing(struct buffers *b);

/* Returns true while CUPTI holds a buffer, which has unfinished records. [any] */
bool buffers_out(const struct buffers *b);

/* Returns all filled buffers, oldest first, linked by node. [collector] */
struct queue_node *buffers_filled(struct buffers *b);
uint8_t *buffers_memory(const struct buffers *b, const struct buffer *item);
void buffers_release(struct buffers *b, struct buffer *item);

#endif
