/* disassemble.h - reads the instructions of functions in one of AMD's code objects, with source
 * lines.
 *
 * llvm-objdump is run and its output read; lines come from DWARF, which libdw reads. Padding after
 * a function's end is left out. A damaged file may claim functions that are longer than the file,
 * so no more instructions are read than its bytes can hold. Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_AMDGPU_DISASSEMBLE_H
#define GPUFL_SYMBOL_AMDGPU_DISASSEMBLE_H

#include "base/err.h"
#include "symbol/device/instruction.h"

/* Implements code_reader_disassemble (symbol/code_reader.h) for AMD. */
int amdgpu_disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                       struct err *e);

/* Implements code_reader_lines for AMD. Reports each instruction at which another place begins. The
 * instructions between these are not known without llvm-objdump, because their lengths differ. */
int amdgpu_lines(const struct disassemble_request *q, int64_t deadline, struct err *e);

#endif
