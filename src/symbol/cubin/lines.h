/* lines.h - the source lines of functions in a cubin, by its own line table.
 *
 * The table is DWARF's (.debug_line, versions 2 to 4) with one instruction of NVIDIA's for inlined
 * code; relocations tie its addresses to functions. nvcc writes the table with -lineinfo, Triton
 * and numba always do. nvdisasm reports the same lines together with the instructions' text
 * (disassemble.h), but the table can be read without any program of the toolkit. All values of the
 * file are checked (file.h). Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_CUBIN_LINES_H
#define GPUFL_SYMBOL_CUBIN_LINES_H

#include "base/err.h"
#include "symbol/device/instruction.h"

/* Calls fn for each instruction of the functions whose symbols have these numbers, with its
 * places and without text. A function that the table does not know has none. 0; GPUFL_E_NOENT,
 * _PERM, _IO, _CORRUPT (no cubin, or the table is damaged: what was reported before holds) or
 * _NOMEM with a sentence. */
int cubin_lines(const char *cubin, const uint32_t *functions, size_t count, disassembled_fn *fn,
                void *arg, struct err *e);

#endif
