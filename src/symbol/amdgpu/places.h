/* places.h - finds the source lines of addresses in a code object, by its DWARF.
 *
 * Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_AMDGPU_PLACES_H
#define GPUFL_SYMBOL_AMDGPU_PLACES_H

#include "symbol/device/instruction.h"
#include "symbol/dwarf/lines.h"

enum { PLACES_FILE_ROOM = 4096 };

struct places {
    struct dwarf_lines lines;
    bool known; /* the file has DWARF, and this machine can read it */
    char files[DISASSEMBLE_LEVELS][PLACES_FILE_ROOM];
};

/* Opens a file's DWARF. Never fails: without DWARF, or without libdw, no address has a place. */
void places_open(struct places *p, const struct elf_file *f);
void places_close(struct places *p);

/* Fills the places of an instruction at an address, which are valid until the next call. */
void places_find(struct places *p, uint64_t address, struct disassembled *d);

#endif
