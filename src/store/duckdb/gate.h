/* gate.h - so many callers at once, the others in the order in which they came.
 *
 * A statement of DuckDB takes locks of the whole instance a dozen times: of its allocator, and of
 * its threads. With more statements at work than processors, a caller that loses its processor
 * while it holds one of them keeps all others waiting. Short questions therefore take turns. */
#ifndef GPUFL_STORE_DUCKDB_GATE_H
#define GPUFL_STORE_DUCKDB_GATE_H

#include <pthread.h>
#include <stdint.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned most;       /* constant */
    unsigned inside;     /* guarded by lock, as all below */
    uint64_t came, next; /* callers so far; the number that may enter next */
};

void gate_init(struct gate *g, unsigned most);
void gate_fini(struct gate *g);

/* Waits for its turn; whoever is inside waits for nobody who is outside. [any] */
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);

#endif
