/* symbolizer.h - finds the functions, files and lines of an address in a file of code.
 *
 * Only the file that the program had is used: its build id is compared or, if it had none, its size
 * and time. A result has what the file gives: lines and inlined calls by DWARF (libdw), else the
 * function by a symbol table, else nothing. If the file is gone, a copy that the session kept is
 * used. Debug files in the program's folder and below debug_root are used; the network is not. The
 * files used last stay open between calls. Called by the owner's thread only; several symbolizers
 * are independent. */
#ifndef GPUFL_SYMBOL_SYMBOLIZER_H
#define GPUFL_SYMBOL_SYMBOLIZER_H

#include "base/err.h"
#include "symbol/dwarf/lines.h"

#include <stdbool.h>

/* Lists the values of symbol.status in schema/records.def. */
enum symbol_status {
    SYMBOL_LINE,       /* line known */
    SYMBOL_FUNCTION,   /* function only */
    SYMBOL_MISSING,    /* the file is gone */
    SYMBOL_REPLACED,   /* the file is another one now, or it cannot be known that it is not */
    SYMBOL_NOTHING,    /* no function at the address */
    SYMBOL_GENERATED,  /* generated code */
    SYMBOL_UNREADABLE, /* no permission, or damaged */
    SYMBOL_SPLIT, /* line known; the split debug information that names its function is missing */
};

/* Lists the values of module.kind. */
enum symbol_kind { SYMBOL_ELF = 1, SYMBOL_VDSO = 2, SYMBOL_CODE = 3 };

/* Describes a file of code that the program had mapped. */
struct symbol_module {
    const char *path;
    const char *build_id; /* hexadecimal; "": it had none */
    int64_t kind;         /* enum symbol_kind */
    int64_t size, mtime;  /* bytes, ns since the Unix epoch; INT64_MIN: unknown */
    const char *kept;     /* the session's copy of the file's names; NULL: there is none */
};

/* Describes one level of an address; the innermost function first. */
struct symbol_level {
    enum symbol_status status; /* LINE, FUNCTION, SPLIT; the only level: any */
    const char *function;      /* mangled if its language mangles names; NULL: unknown */
    const char *file;          /* NULL: unknown */
    int64_t line;              /* 0: unknown */
};

struct symbolizer;

/* Opens a symbolizer. debug_root: the folder with separate debug files. 0 or GPUFL_E_NOMEM. */
int symbolizer_open(struct symbolizer **out, const char *debug_root);
void symbolizer_close(struct symbolizer *s);

/* Returns why this machine cannot find lines of C and C++ code at all; NULL: it can. */
const char *symbolizer_lacks(const struct symbolizer *s);

/* Finds the levels of an address (in the file's own numbering, inside the call), at least one.
 * Texts are valid until the next call. 0 or GPUFL_E_NOMEM. */
int symbolizer_find(struct symbolizer *s, const struct symbol_module *m, uint64_t address,
                    const struct symbol_level **levels, size_t *count);

#endif
