/* rows.h - for the benchmark: kernels as a training loop launches them, made as fast
 * as they are needed. Reproducible. */
#ifndef GPUFL_BENCH_STORE_ROWS_H
#define GPUFL_BENCH_STORE_ROWS_H

#include "wire/decode.h"

enum { ROWS_BATCH = 4096, ROWS_CONFIGS = 120, ROWS_NAMES = 60, ROWS_STREAMS = 4 };

struct rows_made {
    uint64_t random;
    int64_t clock[ROWS_STREAMS], correlation, scope, step;
    int64_t cells[COL_kernel_COUNT][ROWS_BATCH];
    struct wire_batch batch;
};

void rows_start(struct rows_made *r);

/* The next batch, of n kernels at most ROWS_BATCH. */
const struct wire_batch *rows_next(struct rows_made *r, size_t n);

/* All configurations as a batch; name of name id (1 to ROWS_NAMES). */
const struct wire_batch *rows_configs(void);
const char *rows_name(uint32_t id);

#endif
