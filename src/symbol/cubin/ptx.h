/* ptx.h - the PTX that a cubin carries, function by function.
 *
 * What is loaded into a GPU is machine code; of its PTX the assembler leaves a copy in the cubin
 * where line information was asked for (-lineinfo, -G): lines without indentation, each with a NUL
 * behind. Whatever became a cubin this way has it, compiled ahead or by the driver. The bytes are
 * not trusted. Owner's thread. */
#ifndef GPUFL_SYMBOL_CUBIN_PTX_H
#define GPUFL_SYMBOL_CUBIN_PTX_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, with LFs and a NUL behind; the caller frees. NULL: the file carries none, or cannot be
 * read. */
char *ptx_read(const char *cubin, size_t *len);

/* Where the definition of the function of that (mangled) name stands in `text`: from its first line
 * to its closing brace. false: it is not there. */
bool ptx_find(const char *text, const char *name, size_t *at, size_t *len);

#endif
