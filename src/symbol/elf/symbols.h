/* symbols.h - finds functions of an ELF file by address, from its symbol table.
 *
 * A function has the address and size in the table. An address between functions does not get the
 * name of the nearest symbol before it, because in a stripped file that is some other function.
 * Only functions of assembler files, which have no size, reach to the next symbol of their section.
 * Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_ELF_SYMBOLS_H
#define GPUFL_SYMBOL_ELF_SYMBOLS_H

#include "symbol/elf/file.h"

struct elf_symbol {
    uint64_t begin, end;
    uint32_t name; /* in names */
    uint8_t rank;  /* the symbol of smallest rank names the address */
};

struct elf_symbols {
    struct elf_symbol *items; /* owned; by address, without overlaps */
    size_t count;
    char *names; /* owned */
};

/* Reads .symtab, or .dynsym where dynamic; a file without that table gives count 0. 0 or
 * GPUFL_E_NOMEM. */
int elf_symbols_read(struct elf_symbols *s, const struct elf_file *f, bool dynamic);
void elf_symbols_fini(struct elf_symbols *s);

/* Returns the mangled name of the function that contains an address; NULL: none. */
const char *elf_symbols_find(const struct elf_symbols *s, uint64_t address);

#endif
