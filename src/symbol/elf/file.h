/* file.h - reads the parts of a 64-bit ELF file that symbols need, with pread(2).
 *
 * Every offset and size in the file is checked against its size, so that a damaged file is an
 * error. The file is not mapped, because a mapping raises SIGBUS if the file shrinks. Sections are
 * found by name and read into memory of their own; compressed ones are left to libdw. Called by the
 * owner's thread only. */
#ifndef GPUFL_SYMBOL_ELF_FILE_H
#define GPUFL_SYMBOL_ELF_FILE_H

#include "base/err.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_ID_ROOM = 2 * 64 + 1 }; /* a build id as text: at most 64 bytes are read */

struct elf_file {
    int fd;                 /* owned; -1: closed */
    int64_t size, mtime;    /* of the file: bytes, ns since the Unix epoch */
    uint64_t device, inode; /* which file it is */
    Elf64_Ehdr head;
    Elf64_Shdr *sections;       /* owned */
    size_t section_count;       /* 0: the file has none, or their table is damaged */
    char *names;                /* owned: names of sections, NUL at the end */
    size_t names_len;           /* bytes, that NUL included */
    char build_id[ELF_ID_ROOM]; /* hexadecimal; "": it has none */
};

/* Opens a file. 0; GPUFL_E_NOENT, _PERM, _IO, _CORRUPT (no program, library or cubin of this
 * machine's byte order and word size, or damaged) or _NOMEM with a sentence. f is closed after a
 * failure. */
int elf_file_open(struct elf_file *f, const char *path, struct err *e);
/* Does what elf_file_open does, for a file that is open; f owns fd from here on. name: for the
 * sentence. */
int elf_file_take(struct elf_file *f, int fd, const char *name, struct err *e);
void elf_file_close(struct elf_file *f);

/* Returns the first section of that name, or NULL. */
const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name);

/* Returns a section's bytes, with a NUL after them; the caller frees. NULL: the file has none, they
 * are compressed, more than max, unreadable, or memory ran out. */
char *elf_file_read(const struct elf_file *f, const Elf64_Shdr *s, size_t max, size_t *len);

const char *elf_file_name(const struct elf_file *f, const Elf64_Shdr *s); /* "" if damaged */

bool elf_file_inside(const struct elf_file *f, uint64_t offset, uint64_t len);

/* Copies n bytes at offset; false: the file has fewer. */
bool elf_file_copy(const struct elf_file *f, uint64_t offset, void *to, size_t n);

/* Returns true for a section of debug information that has bytes in this file. */
bool elf_file_is_debug(const struct elf_file *f, const Elf64_Shdr *s);

/* Returns the number of bytes that the .debug_* sections take in memory when decompressed. */
uint64_t elf_file_debug_bytes(const struct elf_file *f);

/* Gets the name of the separate debug file (.gnu_debuglink); false: the file names none. */
bool elf_file_debuglink(const struct elf_file *f, char *name, size_t size, uint32_t *crc);

#endif
