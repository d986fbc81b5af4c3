/* disassemble.h - reads the instructions of functions in a cubin, with their source lines.
 *
 * NVIDIA's nvdisasm is run and its output read, because the encoding of a cubin's instructions is
 * not public. nvdisasm reads the line table, too. Output lines that are not understood are skipped.
 * Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H
#define GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H

#include "base/err.h"
#include "symbol/device/instruction.h"

/* Runs nvdisasm and calls fn for each instruction, in order; an instruction of a function that lies
 * in a kernel's section and has a name of its own is reported for both. deadline: clock_mono, ns.
 * 0; GPUFL_E_TIMEOUT, _CORRUPT (nvdisasm refuses the file), _IO or _NOMEM with a sentence.
 * Instructions that were reported before a failure are right. */
int cubin_disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                      struct err *e);
/* Starts nvdisasm for a later call with the same program, file and functions: see
 * disassembler_ahead. */
void cubin_disassemble_ahead(const char *program, const struct disassemble_request *q);

/* ---- nvdisasm's output, for tests ----------------------------------------------------------- */

struct disassembly; /* the state of the reader */

struct disassembly *disassembly_open(disassembled_fn *fn, void *arg); /* NULL: out of memory */
void disassembly_line(struct disassembly *r, char *line);             /* without its LF; changed */
void disassembly_close(struct disassembly *r);

#endif
