/* duck.h - opens DuckDB's library when it is first needed.
 *
 * A machine without the library can build and test everything else; an error says where the library
 * was looked for. [any] */
#ifndef GPUFL_STORE_DUCKDB_DUCK_H
#define GPUFL_STORE_DUCKDB_DUCK_H

#include "base/err.h"
#include "store/duckdb/duck_abi.h"

struct duck {
#define DUCK_MEMBER(name, required, result, arguments) result(*name) arguments;
    DUCK_FUNCTIONS(DUCK_MEMBER)
#undef DUCK_MEMBER
};

/* Returns the library's functions; NULL with a sentence if it is missing or too old. The library is
 * looked for in DUCKDB_ROOT (a folder, or its lib), in ../lib of the program, then by name. */
const struct duck *duck_open(struct err *e);

/* Returns the path of the library; "" before duck_open. */
const char *duck_path(void);

#endif
