/* symbols.h - reads numbers of the functions of device code in its symbol table, by name.
 *
 * nvdisasm takes numbers, but not every library that names a function gives its number. All values
 * of the file are checked (file.h). Called by the owner's thread only. */
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

/* Reads the symbol table, or that of exported symbols if there is no other; a file without any has
 * no functions. 0; GPUFL_E_NOENT, _PERM, _IO or _CORRUPT with a sentence, and then s is empty. */
int code_symbols_open(struct code_symbols *s, const char *path, struct err *e);
void code_symbols_close(struct code_symbols *s);

/* Returns the number of the first function of that (mangled) name; 0: none. */
uint32_t code_symbols_find(const struct code_symbols *s, const char *name);

/* Copies a symbol. Returns its name, valid until close; NULL: there is no symbol with that number,
 * or it has no name. */
const char *code_symbols_at(const struct code_symbols *s, uint32_t number, Elf64_Sym *out);

#endif
