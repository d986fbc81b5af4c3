/* raw_clickhouse.h - the same kernel rows into a table of ClickHouse's by plain inserts, without
 * pyramid, sums and commits: the limit to compare the store with. Prints one line. */
#ifndef GPUFL_BENCH_STORE_RAW_CLICKHOUSE_H
#define GPUFL_BENCH_STORE_RAW_CLICKHOUSE_H

#include <stdint.h>

void raw_clickhouse(const char *url, int64_t kernels);

#endif
