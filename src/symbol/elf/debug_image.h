/* debug_image.h - the debug sections of a file in memory, at their offsets in the file.
 *
 * libdw gets memory, not a file: a mapping as large as the file, with its headers, its debug
 * sections and zeros elsewhere. So no section can disappear while libdw reads it, pages that are
 * not touched cost nothing, and if libdw reads a few bytes beyond a damaged section, as it does for
 * texts without an end, there is memory. Compressed sections (zlib, zstd) are unpacked to after the
 * file's end; those that this machine cannot unpack are left to libdw. Called by the owner's thread
 * only. */
#ifndef GPUFL_SYMBOL_ELF_DEBUG_IMAGE_H
#define GPUFL_SYMBOL_ELF_DEBUG_IMAGE_H

#include "symbol/elf/file.h"

struct debug_image {
    char *base; /* owned: mapped; NULL: none */
    size_t size, mapped;
};

/* Returns 0; GPUFL_E_NOENT: the file has no debug sections; _FULL: more than max bytes; _CORRUPT;
 * _NOMEM. */
int debug_image_open(struct debug_image *d, const struct elf_file *f, uint64_t max);
void debug_image_close(struct debug_image *d);

#endif
