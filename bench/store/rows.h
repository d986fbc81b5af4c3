/* rows.h - makes kernels like those of a training loop for the benchmark, the same ones in each
 * run. */
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

/* The next batch, with n kernels; n is at most ROWS_BATCH. */
const struct wire_batch *rows_next(struct rows_made *r, size_t n);

/* All configurations as a batch, and the text of a name's id (1 to ROWS_NAMES). */
const struct wire_batch *rows_configs(void);
const char *rows_name(uint32_t id);

#endif
