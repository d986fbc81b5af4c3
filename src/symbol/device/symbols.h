/* symbols.h - numbers of the functions of device code in its symbol table, by name.
 *
 * nvdisasm takes numbers, and not every library that names a function gives its number. What the
 * file says of itself is checked (file.h). Owner's thread. */
#ifndef GPUFL_SYMBOL_DEVICE_SYMBOLS_H
#define GPUFL_SYMBOL_DEVICE_SYMBOLS_H

#include "base/err.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct code_symbols {
    char *table; /* owned: Elf64_Sym, not aligned */
    char *names; /* owned */
    size_t count, names_len;
};

/* Reads the symbol table, that of exported symbols where there is no other; a file without one has
 * no functions. 0; GPUFL_E_NOENT, _PERM, _IO or
 * _CORRUPT with a sentence: s is empty then. */
int code_symbols_open(struct code_symbols *s, const char *path, struct err *e);
void code_symbols_close(struct code_symbols *s);

/* The number of the first function of that (mangled) name; 0: none. */
uint32_t code_symbols_find(const struct code_symbols *s, const char *name);

/* Copies a symbol. Its name, valid until close; NULL: there is none of that number, or it has no
 * name. */
const char *code_symbols_at(const struct code_symbols *s, uint32_t number, Elf64_Sym *out);

#endif
