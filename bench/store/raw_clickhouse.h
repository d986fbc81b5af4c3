/* raw_clickhouse.h - stores the same kernel rows in a table of ClickHouse by plain inserts, without
 * pyramid, sums and commits: the limit to compare the store with. Prints one line. */
#ifndef GPUFL_BENCH_STORE_RAW_CLICKHOUSE_H
#define GPUFL_BENCH_STORE_RAW_CLICKHOUSE_H

#include <stdint.h>

void raw_clickhouse(const char *url, int64_t kernels);

#endif
