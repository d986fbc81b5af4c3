/* symbols.h - numbers of a cubin's functions in its symbol table, by name: nvdisasm asks for
 * numbers, and not every library that names a function tells its own. What the file says of
 * itself is checked (file.h). Owner's thread. */
#ifndef GPUFL_SYMBOL_CUBIN_SYMBOLS_H
#define GPUFL_SYMBOL_CUBIN_SYMBOLS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct cubin_symbols {
    char *table; /* owned: Elf64_Sym, not aligned */
    char *names; /* owned */
    size_t count, names_len;
};

/* A file without a symbol table has no functions. 0; GPUFL_E_NOENT, _PERM, _IO or _CORRUPT with a
 * sentence: s is empty then. */
int cubin_symbols_open(struct cubin_symbols *s, const char *path, struct err *e);
void cubin_symbols_close(struct cubin_symbols *s);

/* Of the first function of that name, mangled; 0: none. */
uint32_t cubin_symbols_find(const struct cubin_symbols *s, const char *name);

#endif
