/* place.h - has the parts of a captured stack: places, and the files of code and code objects in
 * which they are.
 *
 * The readers of native and of Python frames fill these structs; stack.h returns them. */
#ifndef GPUFL_STACK_COMMON_PLACE_H
#define GPUFL_STACK_COMMON_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STACK_DEPTH = 512,      /* frames of a captured stack; a deeper one ends with a mark */
    STACK_DISTINCT = 65536, /* different stacks of a process */
};

/* Describes a file of code as it was mapped when a stack first went through it. Never freed. */
struct stack_module {
    uint32_t number;     /* from 1, in this process */
    bool unwinds;        /* the file has unwind tables for its functions */
    int kind;            /* as module.kind: 1 ELF file, 2 vDSO, 3 generated code */
    uint64_t base;       /* load bias */
    uint64_t begin, end; /* of the mapping */
    char path[512];
    char build_id[129];  /* hexadecimal, of at most 64 bytes, as symbol/ reads it; "": none */
    int64_t size, mtime; /* of the file, bytes and ns since the epoch; CELL_NULL's value: unknown */
};

/* Describes a code object of Python, copied at first sight and identified by its content. Never
 * freed. */
struct stack_code {
    uint32_t number; /* from 1, in this process */
    int first_line;
    const char *name; /* qualified, if this version of Python has qualified names */
    const char *file;
};

enum stack_kind { STACK_NATIVE = 1, STACK_PYTHON = 2, STACK_MARK = 3 };

struct stack_place {
    enum stack_kind kind;
    const struct stack_module *module; /* NATIVE: NULL: the address is in no known file */
    uint64_t offset;                   /* NATIVE: call address - module->base, or the address */
    const struct stack_code *code;     /* PYTHON */
    int line;                          /* PYTHON: 0 unknown */
    const char *mark;                  /* MARK: static text, "<truncated>" */
};

/* Describes a stack that was captured for the first time. Constant, never freed. */
struct stack {
    uint32_t id;
    unsigned depth;                   /* number of places */
    const struct stack_place *places; /* innermost first */
};

#endif
