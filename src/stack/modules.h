/* modules.h - which file of code an address is in.
 *
 * A module has two numbers. Its slot is small and is what rows and walks carry; the slot of a module
 * that is not mapped any more is given to another one, in three steps, so that nobody who still has
 * it is misled (modules_unlist). Its own number, pub.number, means this module for the process's life:
 * stacks are told apart by it.
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

enum {
    MODULES_MAX = 4096,   /* slots: modules at a time; a slot fits 12 bits */
    MODULES_EVER = 16384, /* modules of a process, those that are gone included */
};

enum module_role {
    MODULE_USER = 0,
    MODULE_DRIVER, /* the vendor's runtime, or this library, or the dynamic linker */
    MODULE_SYSTEM, /* the C library: where threads begin, nobody's own line */
};

struct cfi_index;

struct module {
    struct stack_module pub;
    enum module_role role;
    uint32_t slot;
    uintptr_t eh_hdr;        /* address of .eh_frame_hdr; 0: none */
    uintptr_t eh_end;        /* end of the mapped segment that it, or .eh_frame, is in */
    struct cfi_index *index; /* owned; without eh_hdr where .eh_frame could be found; NULL: none */
    uintptr_t print_at[2];   /* what tells this file from another one: two words of its ... */
    uint64_t print[2];       /* ... mapping, and what they held */
    uint64_t name_hash;      /* without a build id also the loader's name; 0: not needed */
};

/* Slot of the module at this address; 0: in no file, or no room. [hot, registers at first sight] */
uint32_t modules_find(uintptr_t pc);

/* Is this still the module at that address? [hot] */
bool modules_is(uint32_t slot, uintptr_t pc);

/* NULL for 0 and slots that are not in use. [hot] */
const struct module *modules_get(uint32_t slot);

/* A module has been refused for want of room since slots were freed last. [hot] */
bool modules_are_full(void);

/* Slots of modules that are gone, made free in three steps, where few are left. After the first step
 * nobody finds them any more; once every walk that was under way then has ended, rows that name them
 * are to be forgotten (rows_clear); once every walk that was under way then has ended, the second call frees them.
 * unlist: how many there are, 0 where there is room enough. [collector] */
uint32_t modules_unlist(void);
void modules_free_unlisted(void);

/* Chooses how addresses are looked up. own_snapshot: as on a libc without _dl_find_object. */
void modules_open(bool own_snapshot);

/* Where libc cannot be asked without a lock: looks again what is loaded. [collector] */
void modules_refresh(void);

/* In a forked child: a snapshot being written by another thread is written anew. */
void modules_forget(void);

/* Part a file's name plays in a stack. */
enum module_role modules_role(const char *path);

#endif
