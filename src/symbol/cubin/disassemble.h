/* disassemble.h - the instructions of functions in a cubin, with their source lines.
 *
 * NVIDIA's own nvdisasm is run and its text read: what a cubin's instructions are is known
 * to nobody else. It reads the line table, too. It is a program of the CUDA toolkit and need
 * not be there; it may fail, and what is in a cubin may be anything: it is ended when the
 * deadline has passed, and lines that are not understood are passed over. Never in a traced
 * program. Owner's thread. */
#ifndef GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H
#define GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { DISASSEMBLE_LEVELS = 16 }; /* of inlining that are told */

struct disassembled_place {
    const char *file; /* "" where the table tells none */
    int64_t line;     /* 0: unknown */
};

struct disassembled {
    const char *function; /* mangled */
    uint64_t offset;      /* in the function */
    const char *text;     /* "IMAD R5, R5, UR4, R0 ;" */
    size_t place_count;
    struct disassembled_place places[DISASSEMBLE_LEVELS]; /* innermost first */
};

/* Path of the program: GPUFL_NVDISASM, then PATH, CUDA_HOME and CUDA_PATH, /usr/local/cuda*.
 * GPUFL_E_NOENT with a sentence. */
int disassemble_find(char *path, size_t size, struct err *e);

/* Runs it on a cubin for the functions whose symbols have these numbers and tells each instruction,
 * in order; one that lies in the section of a kernel and is named apart is told for both. deadline:
 * clock_mono, ns. 0; GPUFL_E_TIMEOUT, _CORRUPT (it refuses the file), _IO or _NOMEM with a sentence;
 * what was told before a failure holds. */
int disassemble(const char *program, const char *cubin, const uint32_t *functions, size_t count,
                int64_t deadline, void (*fn)(void *arg, const struct disassembled *d), void *arg,
                struct err *e);

/* ---- its text, for tests -------------------------------------------------------------------- */

struct disassembly; /* what was read so far */

struct disassembly *disassembly_open(void (*fn)(void *arg, const struct disassembled *d),
                                     void *arg);          /* NULL: out of memory */
void disassembly_line(struct disassembly *r, char *line); /* without its LF; changed */
void disassembly_close(struct disassembly *r);

#endif
