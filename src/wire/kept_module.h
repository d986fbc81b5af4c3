/* kept_module.h - makes the name of a file that holds what a session keeps of one module.
 *
 * If a program's file may be gone when the session is read, an ELF file with its symbols is kept in
 * the session's folder (capture/stacks/keep.h). The name is made of the module's id, so that a
 * reader finds the file from the module's row alone. Called by any thread. */
#ifndef GPUFL_WIRE_KEPT_MODULE_H
#define GPUFL_WIRE_KEPT_MODULE_H

#include <inttypes.h>
#include <stdio.h>

enum { KEPT_MODULE_ROOM = 40 };

static inline void kept_module_name(char name[KEPT_MODULE_ROOM], int64_t id)
{
    snprintf(name, KEPT_MODULE_ROOM, "module-%" PRId64 ".elf", id);
}

#endif
