/* modules_file.h - what a mapped file of code is: its build id, path and tables. */
#ifndef GPUFL_STACK_MODULES_FILE_H
#define GPUFL_STACK_MODULES_FILE_H

#include "stack/modules.h"

enum { MODULE_PAGE = 4096 };

/* Fills all but number and role from the mapping and from the file. false: what is mapped
 * is no ELF file with its header in memory. [hot, first sight] */
bool module_file_describe(struct module *m, uintptr_t begin, uintptr_t end, const char *name);

/* The line of /proc/self/maps that begins at an address. */
struct module_mapping {
    uintptr_t end; /* of that line's pages, not of the whole file */
    unsigned int major, minor;
    unsigned long inode;
    char path[sizeof((struct stack_module *)0)->path];
};

/* What is mapped from that address on; false: nothing begins there. [any] */
bool module_file_mapping(uintptr_t begin, struct module_mapping *out);

/* Of the loader's name for it, never 0. [hot] */
uint64_t module_file_name_hash(const char *name);

#endif
