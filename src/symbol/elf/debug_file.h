/* debug_file.h - finds the separate file with a program's symbols and DWARF.
 *
 * The places are those of distributions and objcopy: by build id below /usr/lib/debug/.build-id; by
 * the name in .gnu_debuglink in the program's folder, in .debug there, and below /usr/lib/debug. A
 * file is used only if its build id is that of the program or, if there is none, its checksum is
 * that of the link. The network is not used: debuginfod is not asked, whatever DEBUGINFOD_URLS
 * says, and its cache, which is another folder, is not searched. Fedora and related distributions
 * leave a small symbol table in the stripped program itself. Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_ELF_DEBUG_FILE_H
#define GPUFL_SYMBOL_ELF_DEBUG_FILE_H

#include "symbol/elf/file.h"

#define DEBUG_ROOT "/usr/lib/debug"
/* Names the variable of the environment that names another folder in place of DEBUG_ROOT. */
#define DEBUG_ROOT_VARIABLE "GPUFL_DEBUG_FILES"

/* Opens the debug file of that build id. root: DEBUG_ROOT. False: there is none. */
bool debug_file_by_id(struct elf_file *out, const char *root, const char *build_id);

/* Opens the debug file of a program whose path is known. */
bool debug_file_open(struct elf_file *out, const char *root, const struct elf_file *program,
                     const char *path);

/* Opens the symbol table inside a stripped program (.gnu_debugdata, xz), unpacked into memory.
 * False: the program has none, or this machine has no liblzma. */
bool debug_file_small(struct elf_file *out, const struct elf_file *program);

#endif
