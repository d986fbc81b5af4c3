/* rows.h - reads, for tests, host_sample, wait and window rows of the one session below a
 * directory. */
#ifndef GPUFL_TESTS_IDLE_ROWS_H
#define GPUFL_TESTS_IDLE_ROWS_H

#include "wire/record.h"

#include <stddef.h>
#include <stdint.h>

struct rows {
    struct host_sample_row *samples; /* owned; in the order of the log */
    size_t count, cap;
    struct wait_row *waits; /* owned */
    size_t wait_count, wait_cap;
    struct window_row windows[64];
    size_t window_count;
    uint64_t damaged; /* lines, unknown records and columns included */
};

/* Reads the rows; the test fails if there is not exactly one session. */
void rows_open(struct rows *r, const char *logs);
void rows_close(struct rows *r);

#endif
