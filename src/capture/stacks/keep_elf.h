/* keep_elf.h - copies the parts of a program's file that name its functions and lines, as a file of
 * its own.
 *
 * From a file: headers, notes, symbol tables and debug sections, without the code, like `objcopy
 * --only-keep-debug`. From memory, if the file cannot be opened any more: the exported functions,
 * which are the only names that a loaded program has in memory. Everything that a file or a mapping
 * says about itself is checked. Called by any thread. */
#ifndef GPUFL_CAPTURE_STACKS_KEEP_ELF_H
#define GPUFL_CAPTURE_STACKS_KEEP_ELF_H

#include "stack/stack.h"

#include <stdbool.h>
#include <stddef.h>

struct keep_image {
    char *bytes; /* owned: mem_free */
    size_t size;
    bool whole;    /* the image has everything that names functions or lines */
    bool exported; /* it has only the exported functions, because there was no file to read */
};

/* Makes an image of at most `most` bytes from a file. If not everything fits, debug sections are
 * left out first, then the symbols that are not exported. 0; GPUFL_E_NOENT: the file has no
 * sections, or nothing that names anything; _FULL; _CORRUPT; _NOMEM. */
int keep_elf_file(int fd, size_t most, struct keep_image *out);

/* Makes an image from the mapping of a module that is loaded now. */
int keep_elf_memory(const struct stack_module *m, size_t most, struct keep_image *out);

#endif
