/* plt.h - redirects calls between libraries to functions of ours.
 *
 * A library calls a function of another library through a cell of its own, which the loader
 * fills. plt_hook writes the address of a replacement into such cells (x86-64: R_X86_64_JUMP_SLOT
 * and R_X86_64_GLOB_DAT; arm64: R_AARCH64_JUMP_SLOT and _GLOB_DAT), in the libraries loaded at that
 * moment. Nothing else changes: no code is written, and the replacement calls the real function.
 *
 * Limits: a pointer that a library has copied out of such a cell, or got from dlsym, is not
 * changed, and neither are calls inside one library.
 * Threads: any; two calls of plt_hook at once write the same values. */
#ifndef GPUFL_BASE_PLT_H
#define GPUFL_BASE_PLT_H

#include <stdbool.h>
#include <stddef.h>

struct plt_hook {
    const char *name;    /* of the function, as its library exports it */
    const char *library; /* only in libraries that need this one (a soname); NULL: in all */
    void *function;      /* what is called instead; lives as long as the process */
};

/* Says whether the library at this path ("" is the program itself) is to be changed. Called with
 * the loader's list locked: the function must not load libraries or look symbols up. */
typedef bool plt_accept_fn(const char *path);

/* Redirects the calls of every accepted library to the hooks. Returns how many cells were
 * changed; cells that hold the replacement already do not count. */
size_t plt_hook(const struct plt_hook *hooks, size_t count, plt_accept_fn *accept);

/* Returns the number of libraries that this process has loaded so far, unloaded ones included.
 * While the number stays, no library was loaded. 0: the loader does not say. */
unsigned long long plt_loaded(void);

/* Finds the name under which other libraries need the loaded library at this path (its DT_SONAME).
 * False: no library was loaded from there, or it has no such name. */
bool plt_soname(const char *path, char *out, size_t size);

/* Returns true if the program's executable (not its libraries) needs a library whose name begins
 * with prefix ("libcupti.so"); the name goes to out. */
bool plt_program_needs(const char *prefix, char *out, size_t size);

#endif
