/* cfi_index.h - makes an index of unwind entries by address, for a file without .eh_frame_hdr.
 *
 * Programs that are linked with --no-eh-frame-hdr have unwind entries without the sorted table that
 * finds them. The place of .eh_frame is known only from the file's section headers; the entries
 * are read from memory once, at the first sight of the module, which takes about 0.1 us each, at
 * most CFI_INDEX_MOST. A file with more entries has no index, and stacks end there. */
#ifndef GPUFL_STACK_NATIVE_CFI_INDEX_H
#define GPUFL_STACK_NATIVE_CFI_INDEX_H

#include "stack/native/modules.h"

enum { CFI_INDEX_MOST = 65536 };

struct cfi_index_row {
    uint32_t begin, fde; /* both as distances from the module's begin */
};

struct cfi_index {
    uint32_t count;
    struct cfi_index_row rows[]; /* by begin */
};

/* Makes the index of the entries in [at, at + size) of the module's mapping; NULL: they are damaged
 * or too many, or there is no memory. The module's eh_end must be set. [hot, first sight] */
struct cfi_index *cfi_index_make(const struct module *m, uintptr_t at, size_t size);

/* Returns the address of the entry that may cover pc; 0: none. [hot] */
uintptr_t cfi_index_find(const struct module *m, uintptr_t pc);

#endif
