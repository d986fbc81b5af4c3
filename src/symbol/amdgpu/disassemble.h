/* disassemble.h - the instructions of functions in a code object of AMD's, with their source lines.
 *
 * llvm-objdump is run and its output read; lines are DWARF's, which libdw reads. Padding after a
 * function's end is left out. A damaged file may say of itself that its functions are longer than
 * it is: no more is looked at than its bytes can hold. Owner's thread. */
#ifndef GPUFL_SYMBOL_AMDGPU_DISASSEMBLE_H
#define GPUFL_SYMBOL_AMDGPU_DISASSEMBLE_H

#include "base/err.h"
#include "symbol/device/instruction.h"

/* This is code_reader.disassemble (symbol/code_reader.h) for AMD. */
int amdgpu_disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                       struct err *e);

/* This is code_reader.lines for AMD. It reports each instruction at which another place begins.
 * Those between are not known without llvm-objdump: their lengths differ. */
int amdgpu_lines(const struct disassemble_request *q, int64_t deadline, struct err *e);

#endif
