/* both.h - runs a measurement of the small tables over each engine: SQLite in a folder below the
 * current one, then, if it is installed, a PostgreSQL of its own. */
#ifndef GPUFL_BENCH_META_BOTH_H
#define GPUFL_BENCH_META_BOTH_H

#include "meta/meta.h"

/* The folder's name begins with `name`; the folder is removed at the end. If PostgreSQL cannot be
 * started, it is left out. Returns the exit code: 0, or 2 if the folder cannot be made. */
int both_engines(const char *name, void (*run)(const struct meta_config *config));

#endif
