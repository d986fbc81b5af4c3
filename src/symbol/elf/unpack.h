/* unpack.h - unpacks compressed sections: zlib, zstd and xz.
 *
 * zlib is linked. The other two libraries are opened at the first such section: libzstd for debug
 * sections of newer toolchains, which the libdw of Debian 12 does not read, liblzma for the small
 * symbol tables that Fedora and related distributions leave in stripped files. On a machine without
 * them the section counts as missing. [any] */
#ifndef GPUFL_SYMBOL_ELF_UNPACK_H
#define GPUFL_SYMBOL_ELF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists the values of ch_type in an ELF section's compression header. */
enum unpack_kind { UNPACK_ZLIB = 1, UNPACK_ZSTD = 2 };

/* Returns true if this machine can unpack that kind. */
bool unpack_can(uint32_t kind);

/* Unpacks n bytes from `from` to exactly `size` bytes at `to`; false: they are damaged, or give
 * more or fewer. */
bool unpack_section(uint32_t kind, char *to, size_t size, const char *from, size_t n);

/* Unpacks an xz file in memory into new memory of at most max bytes; the caller frees. NULL:
 * damaged, too large, no memory, or no liblzma. */
char *unpack_xz(const char *from, size_t n, size_t max, size_t *len);

#endif
