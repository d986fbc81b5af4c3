/* code_reader.h - reads the files in which a session keeps device code, by vendor.
 *
 * The ending of a file's name shows its vendor (vendor.h). Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_CODE_READER_H
#define GPUFL_SYMBOL_CODE_READER_H

#include "base/err.h"
#include "symbol/device/instruction.h"

struct vendor;

/* Returns the vendor whose files of code have the ending of this name; NULL: none. stem: bytes
 * before the ending; may be NULL. */
const struct vendor *code_reader_vendor(const char *name, size_t *stem);

/* Writes the path of the vendor's disassembler. GPUFL_E_NOENT with a sentence. */
int code_reader_find(const struct vendor *v, char *path, size_t size, struct err *e);

/* Says what a user can do if the disassembler does not understand a file. */
const char *code_reader_advice(const struct vendor *v);

/* Runs the disassembler and calls q->fn for each instruction, in order. deadline: clock_mono, ns.
 * 0; GPUFL_E_TIMEOUT, _CORRUPT (it refuses the file), _IO or _NOMEM with a sentence. Instructions
 * that were reported before a failure are right. */
int code_reader_disassemble(const struct vendor *v, const char *program,
                            const struct disassemble_request *q, int64_t deadline, struct err *e);

/* Starts the disassembler for a later code_reader_disassemble with the same program, file and
 * functions, so that several files are read at once; code_reader_forget ends what was not read. */
void code_reader_ahead(const struct vendor *v, const char *program,
                       const struct disassemble_request *q);
void code_reader_forget(void);

/* Calls q->fn for instructions by the file's own table of lines, without text. Deadline and results
 * are those of code_reader_disassemble. */
int code_reader_lines(const struct vendor *v, const struct disassemble_request *q, int64_t deadline,
                      struct err *e);

#endif
