/* gate.h - lets a limited number of callers in; the others wait in the order in which they came.
 *
 * A statement of DuckDB takes locks of the whole instance a dozen times: of its allocator, and of
 * its threads. With more running statements than processors, a caller that loses its processor
 * while it holds such a lock makes all others wait. Therefore short questions take turns. */
#ifndef GPUFL_STORE_DUCKDB_GATE_H
#define GPUFL_STORE_DUCKDB_GATE_H

#include <pthread.h>
#include <stdint.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned most;       /* constant */
    unsigned inside;     /* guarded by lock, like the members below */
    uint64_t came, next; /* callers so far; the number that may enter next */
};

void gate_init(struct gate *g, unsigned most);
void gate_fini(struct gate *g);

/* Waits for the caller's turn. A caller inside must not wait for one outside. [any] */
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);

#endif
