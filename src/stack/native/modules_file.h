/* modules_file.h - describes a mapped file of code: its build id, path and tables. */
#ifndef GPUFL_STACK_NATIVE_MODULES_FILE_H
#define GPUFL_STACK_NATIVE_MODULES_FILE_H

#include "stack/native/modules.h"

enum { MODULE_PAGE = 4096 };

/* Fills all members except number and role from the mapping and from the file. *m is zero. False:
 * the mapping is not an ELF file with its header in memory, or the calling thread reads by copies
 * (safe.h) and the file has no table of unwind entries. [hot, first sight] */
bool module_file_describe(struct module *m, uintptr_t begin, uintptr_t end, const char *name);

/* Describes a line of /proc/self/maps. */
struct module_mapping {
    uintptr_t end; /* of that line's pages, not of the whole file */
    unsigned int major, minor;
    unsigned long inode;
    char path[sizeof((struct stack_module *)0)->path];
};

/* Reads the line of the mapping that begins at that address; false: there is none. [any] */
bool module_file_mapping(uintptr_t begin, struct module_mapping *out);

/* Returns true if only the file, or the system's list of mappings, says which file is mapped there,
 * because the loader's name is no absolute path, or no build id is in memory. */
bool module_file_needs_file(uintptr_t begin, const char *name);

/* Returns a hash of the loader's name, never 0. [hot] */
uint64_t module_file_name_hash(const char *name);

#endif
