/* ptx.h - the PTX that a cubin carries, function by function.
 *
 * A GPU loads machine code. The assembler leaves a copy of the PTX in the cubin where line
 * information was requested (-lineinfo, -G): lines without indentation, a NUL after each. So has
 * every cubin that was made from PTX, ahead of time or by the driver. The bytes are not trusted.
 * Owner's thread. */
#ifndef GPUFL_SYMBOL_CUBIN_PTX_H
#define GPUFL_SYMBOL_CUBIN_PTX_H

#include <stdbool.h>
#include <stddef.h>

/* The whole PTX, with LFs and a NUL at the end; the caller frees. NULL: the file carries none, or
 * cannot be read. */
char *ptx_read(const char *cubin, size_t *len);

/* Finds the definition of the function of that (mangled) name in `text`, from its first line to
 * its closing brace. False: it is not there. */
bool ptx_find(const char *text, const char *name, size_t *at, size_t *len);

#endif
