/* duck.c - opens libduckdb, once in a process. */
#include "store/duckdb/duck.h"

#include "base/file/file.h"
#include "base/process/dl.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This is the path from the folder of programs to that of libraries after installation; set by
 * CMake. */
#ifndef GPUFL_LIB_FROM_BIN
#define GPUFL_LIB_FROM_BIN "../lib"
#endif

enum { CANDIDATES = 6 };

static struct {
    struct duck calls;
    bool there;
    char path[PATH_MAX];
    struct err why; /* why the library is not open */
} library;          /* constant after the first duck_open */

static const struct dl_symbol symbols[] = {
#define DUCK_SYMBOL(name, required, result, arguments)                                             \
    {"duckdb_" #name, offsetof(struct duck, name), required},
    DUCK_FUNCTIONS(DUCK_SYMBOL)
#undef DUCK_SYMBOL
};

static void load(void)
{
    static const char *const places[] = {GPUFL_LIB_FROM_BIN, "../lib"}; /* installed, and built */
    char in_root[2][PATH_MAX] = {"", ""}, from_program[2][PATH_MAX];
    const char *candidates[CANDIDATES], *root = getenv("DUCKDB_ROOT");
    size_t count = 0;
    struct err lacking = {0};
    if (root && *root) {
        if (!path_join(in_root[0], sizeof in_root[0], root, "libduckdb.so"))
            candidates[count++] = in_root[0];
        if (!path_join(in_root[1], sizeof in_root[1], root, "lib/libduckdb.so"))
            candidates[count++] = in_root[1];
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        dl_from_program(places[i], "libduckdb.so", from_program[i], sizeof from_program[i]);
        if (*from_program[i])
            candidates[count++] = from_program[i];
    }
    candidates[count++] = "libduckdb.so";
    candidates[count] = NULL;
    void *handle = dl_open_first(candidates, library.path, sizeof library.path, &lacking);
    library.there = handle && !dl_fill(handle, symbols, sizeof symbols / sizeof *symbols,
                                       &library.calls, &lacking);
    if (!library.there)
        err_set(&library.why, GPUFL_E_UNAVAILABLE,
                "DuckDB's library is needed to store sessions: %.250s; set DUCKDB_ROOT to the "
                "folder of libduckdb.so",
                lacking.text);
}

const struct duck *duck_open(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (library.there)
        return &library.calls;
    if (e)
        *e = library.why;
    return NULL;
}

const char *duck_path(void)
{
    return library.path;
}
