/* disassemble.h - the instructions of functions in a cubin, with their source lines.
 *
 * NVIDIA's nvdisasm is run and its output read: nobody else knows the encoding of a cubin's
 * instructions. It reads the line table, too. It is a program of the CUDA toolkit: it may be
 * missing or fail, and a cubin may hold anything. So it is killed when the deadline has passed,
 * and lines that are not understood are skipped. Never runs in a traced program. Owner's thread. */
#ifndef GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H
#define GPUFL_SYMBOL_CUBIN_DISASSEMBLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { DISASSEMBLE_LEVELS = 16 }; /* levels of inlining that are reported */

struct disassembled_place {
    const char *file; /* "" where the table names none */
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

/* Which functions of which cubin, and who is given their instructions. */
struct disassemble_request {
    const char *cubin;         /* path */
    const uint32_t *functions; /* the numbers of their symbols */
    size_t count;
    void (*fn)(void *arg, const struct disassembled *d);
    void *arg;
};

/* Runs nvdisasm and calls fn for each instruction, in order; an instruction of a function that lies
 * in a kernel's section and has a name of its own is reported for both. deadline: clock_mono, ns.
 * 0; GPUFL_E_TIMEOUT, _CORRUPT (nvdisasm refuses the file), _IO or _NOMEM with a sentence. What fn
 * was given before a failure holds. */
int disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                struct err *e);

/* ---- its text, for tests -------------------------------------------------------------------- */

struct disassembly; /* what has been read so far */

struct disassembly *disassembly_open(void (*fn)(void *arg, const struct disassembled *d),
                                     void *arg);          /* NULL: out of memory */
void disassembly_line(struct disassembly *r, char *line); /* without its LF; changed */
void disassembly_close(struct disassembly *r);

#endif
