/* dl.h - opens vendor libraries at run time.
 *
 * Each library has an X-macro table of its functions. A struct of function pointers and a table of
 * struct dl_symbol are made from it; dl_fill fills the struct and names the functions that are
 * missing. Handles are never closed, because the program may hold pointers into the libraries.
 * Called by any thread. */
#ifndef GPUFL_BASE_DL_H
#define GPUFL_BASE_DL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct dl_symbol {
    const char *name;
    size_t offset; /* where the function pointer is in the caller's struct */
    bool required;
};

/* Finds a library that this process has already loaded, whose file name starts with prefix
 * ("libcupti.so"); its path goes to path, unless that is NULL. NULL: none. */
void *dl_find_loaded(const char *prefix, char *path, size_t size);

/* Opens the first of the candidates (sonames or paths, NULL-terminated) that
 * loads; path gets what was loaded. On failure *e lists what was tried. */
void *dl_open_first(const char *const *candidates, char *path, size_t size, struct err *e);

/* Writes the path "<folder of the program>/<to>/<file>": where an installed or built program of
 * ours has its libraries, whatever the run path of dlopen's caller is. "" if the path is unknown or
 * too long. */
void dl_from_program(const char *to, const char *file, char *out, size_t size);

/* Fills table (a struct of function pointers) from handle. GPUFL_E_UNAVAILABLE
 * with the names of missing required functions in *e; optional ones stay NULL. */
int dl_fill(void *handle, const struct dl_symbol *symbols, size_t count, void *table,
            struct err *e);

#endif
