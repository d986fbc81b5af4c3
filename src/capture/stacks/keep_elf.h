/* keep_elf.h - the parts of a program's file that name its functions and lines, as a file of its
 * own.
 *
 * From a file: headers, notes, symbol tables and debug sections, as `objcopy --only-keep-debug`
 * leaves them: the code is left out. From memory, where the file cannot be opened any more: the
 * exported functions, which are all that a loaded program has in memory of its names.
 * Everything that a file or a mapping says about itself is checked. Any thread. */
#ifndef GPUFL_CAPTURE_STACKS_KEEP_ELF_H
#define GPUFL_CAPTURE_STACKS_KEEP_ELF_H

#include "stack/stack.h"

#include <stdbool.h>
#include <stddef.h>

struct keep_image {
    char *bytes; /* owned: mem_free */
    size_t size;
    bool whole;    /* everything that names functions or lines is in it */
    bool exported; /* it has the exported functions only: there was no file to read */
};

/* Makes an image of at most `most` bytes from a file: where all does not fit, debug sections are
 * left out first, then the symbols that are not exported. 0; GPUFL_E_NOENT: the file has no
 * sections, or nothing that names anything; _FULL; _CORRUPT; _NOMEM. */
int keep_elf_file(int fd, size_t most, struct keep_image *out);

/* Makes an image from the mapping of a module that is loaded now. */
int keep_elf_memory(const struct stack_module *m, size_t most, struct keep_image *out);

#endif
