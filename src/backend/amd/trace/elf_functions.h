/* elf_functions.h - finds the functions of a code object, by address.
 *
 * A sample names an instruction by its offset in the code object; a session names it by a function
 * and the offset in that. Kernels alone do not suffice, because functions that were not inlined lie
 * between them. Pure, except for memory. */
#ifndef GPUFL_BACKEND_AMD_TRACE_ELF_FUNCTIONS_H
#define GPUFL_BACKEND_AMD_TRACE_ELF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
    uint64_t address, size; /* as in the ELF file; bytes */
    char *name;             /* owned by the table */
};

struct elf_functions {
    struct elf_function *items; /* owned; by address */
    size_t count;
};

/* Reads the functions of a 64-bit ELF file, which may be damaged. 0; GPUFL_E_CORRUPT: it has none;
 * GPUFL_E_NOMEM. */
int elf_functions_read(const void *elf, size_t size, struct elf_functions *out);
void elf_functions_free(struct elf_functions *s);

/* Returns the function at an address; NULL: none. */
const struct elf_function *elf_functions_at(const struct elf_functions *s, uint64_t address);

#endif
