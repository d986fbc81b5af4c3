/* ptx.h - reads the PTX in a cubin, function by function.
 *
 * A GPU loads machine code. If line information was requested (-lineinfo, -G), the assembler leaves
 * a copy of the PTX in the cubin: lines without indentation, each followed by a NUL. This holds for
 * every cubin that was made from PTX, ahead of time or by the driver. The bytes are not trusted.
 * Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_CUBIN_PTX_H
#define GPUFL_SYMBOL_CUBIN_PTX_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the whole PTX, with LFs and a NUL at the end; the caller frees it. NULL: the file has
 * none, or cannot be read. */
char *ptx_read(const char *cubin, size_t *len);

/* Finds the definition of the function with that mangled name in `text`, from its first line to
 * its closing brace. False: the text does not have it. */
bool ptx_find(const char *text, const char *name, size_t *at, size_t *len);

#endif
