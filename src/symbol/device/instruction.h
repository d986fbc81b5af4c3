/* instruction.h - describes an instruction of device code, as the vendors' readers report it, and
 * the request to such a reader. */
#ifndef GPUFL_SYMBOL_DEVICE_INSTRUCTION_H
#define GPUFL_SYMBOL_DEVICE_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

enum { DISASSEMBLE_LEVELS = 16 }; /* levels of inlining that are reported */

struct disassembled_place {
    const char *file; /* "" if the table names none */
    int64_t line;     /* 0: unknown */
};

struct disassembled {
    const char *function; /* mangled */
    uint64_t offset;      /* in the function */
    const char *text;     /* "IMAD R5, R5, UR4, R0 ;" */
    size_t place_count;
    struct disassembled_place places[DISASSEMBLE_LEVELS]; /* innermost first */
};

typedef void disassembled_fn(void *arg, const struct disassembled *d);

/* Says which functions of which file of code are read, and the function that gets their
 * instructions. */
struct disassemble_request {
    const char *file;          /* path */
    const uint32_t *functions; /* the numbers of their symbols */
    size_t count;
    disassembled_fn *fn;
    void *arg;
    const char *advice; /* what to do if the program refuses the file; see code_reader.h */
};

#endif
