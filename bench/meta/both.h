/* both.h - runs a measurement of the small tables over each engine: SQLite in a folder below the
 * current one, then a PostgreSQL of its own where that is installed. */
#ifndef GPUFL_BENCH_META_BOTH_H
#define GPUFL_BENCH_META_BOTH_H

#include "meta/meta.h"

/* name: of the folder, which is removed. An engine that cannot be started is left out. The exit
 * code: 0, or 2 where there is no folder. */
int both_engines(const char *name, void (*run)(const struct meta_config *config));

#endif
