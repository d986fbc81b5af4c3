/* symbols.h - numbers of a cubin's functions in its symbol table, by name.
 *
 * nvdisasm takes numbers, and not every library that names a function gives its number. What the
 * file says of itself is checked (file.h). Owner's thread. */
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

/* Reads the symbol table; a file without one has no functions. 0; GPUFL_E_NOENT, _PERM, _IO or
 * _CORRUPT with a sentence: s is empty then. */
int cubin_symbols_open(struct cubin_symbols *s, const char *path, struct err *e);
void cubin_symbols_close(struct cubin_symbols *s);

/* The number of the first function of that (mangled) name; 0: none. */
uint32_t cubin_symbols_find(const struct cubin_symbols *s, const char *name);

#endif
