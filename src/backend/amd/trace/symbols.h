/* symbols.h - finds kernels by the number that records of dispatches have.
 *
 * The library reports each kernel as its code object is loaded, on the thread that loads it; a
 * dispatch's record comes later. Kernels are kept for the life of the process, because records may
 * come after the code object is unloaded. A mutex guards the table, because loading code is
 * rare. */
#ifndef GPUFL_BACKEND_AMD_TRACE_SYMBOLS_H
#define GPUFL_BACKEND_AMD_TRACE_SYMBOLS_H

#include "backend/amd/trace/abi.h"

#include <stdbool.h>

struct symbol {
    uint64_t kernel;
    uint64_t code_object;
    const char *name; /* mangled, without ".kd"; never freed */
    uint32_t group_bytes, private_bytes;
    uint32_t sgprs, arch_vgprs, accum_vgprs;
    bool unknown; /* the library has not reported it: the numbers mean nothing */
};

/* Adds a kernel. False: out of memory, or beyond the most that are kept. [any] */
bool symbols_add(const struct rocp_symbol *s);

/* Returns true for a kernel of the runtime, which fills or copies and is not the program's own.
 * Pure. */
bool symbols_of_runtime(const char *name);

/* Copies what is known of a kernel. False: nothing is. [any] */
bool symbols_find(uint64_t kernel, struct symbol *out);

#endif
