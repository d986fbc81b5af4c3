/* modules.h - which file of code an address is in.
 *
 * A module is known by where it is mapped and by what stands there: the build id
 * and the unwind table's head are compared whenever a walk meets it, so that a
 * library closed and another one opened at its addresses is another module. */
#ifndef GPUFL_STACK_MODULES_H
#define GPUFL_STACK_MODULES_H

#include "stack/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODULES_MAX = 2048 }; /* different ones of a process; a number fits 11 bits */

enum module_role {
    MODULE_USER = 0,
    MODULE_DRIVER, /* the vendor's runtime, or this library, or the dynamic linker */
    MODULE_SYSTEM, /* the C library: where threads begin, nobody's own line */
};

struct module {
    struct stack_module pub;
    enum module_role role;
    uintptr_t eh_hdr;      /* address of .eh_frame_hdr; 0: none */
    uintptr_t eh_end;      /* end of the mapped segment it is in */
    uintptr_t print_at[2]; /* what tells this file from another one: two words of its ... */
    uint64_t print[2];     /* ... mapping, and what they held */
    uint64_t name_hash;    /* without a build id also the loader's name; 0: not needed */
};

/* Number of the module at this address; 0: in no file. [hot, registers at first sight] */
uint32_t modules_find(uintptr_t pc);

/* Is this still the module at that address? [hot] */
bool modules_is(uint32_t number, uintptr_t pc);

/* NULL for 0 and unknown numbers. [hot] */
const struct module *modules_get(uint32_t number);

/* Chooses how addresses are looked up. own_snapshot: as on a libc without _dl_find_object. */
void modules_open(bool own_snapshot);

/* Where libc cannot be asked without a lock: looks again what is loaded. [collector] */
void modules_refresh(void);

/* In a forked child: a snapshot being written by another thread is written anew. */
void modules_forget(void);

/* Part a file's name plays in a stack. */
enum module_role modules_role(const char *path);

#endif
