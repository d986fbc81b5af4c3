/* modules_file.h - what a mapped file of code is: its build id, path and tables. */
#ifndef GPUFL_STACK_MODULES_FILE_H
#define GPUFL_STACK_MODULES_FILE_H

#include "stack/modules.h"

enum { MODULE_PAGE = 4096 };

/* Fills all but number and role from the mapping and from the file. false: what is mapped
 * is no ELF file with its header in memory. [hot, first sight] */
bool module_file_describe(struct module *m, uintptr_t begin, uintptr_t end, const char *name);

/* Of the loader's name for it, never 0. [hot] */
uint64_t module_file_name_hash(const char *name);

#endif
