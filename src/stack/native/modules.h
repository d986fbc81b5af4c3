/* modules.h - finds the file of code that contains an address.
 *
 * A module has two numbers. Its slot is small, and rows and walks store it. The slot of a module
 * that is not mapped any more is reused in three steps, so that a walk that still has the slot is
 * not misled (modules_unlist). Its number, pub.number, means this module for the process's life,
 * and stacks are compared by it.
 *
 * A module is identified by its address and by the content of the mapping: the build id and
 * the head of the unwind table are compared whenever a walk goes through the module, so that a
 * library that was opened at the addresses of a closed one is another module. */
#ifndef GPUFL_STACK_NATIVE_MODULES_H
#define GPUFL_STACK_NATIVE_MODULES_H

#include "stack/common/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODULES_MAX = 4096,   /* slots: modules at a time; a slot fits 12 bits */
    MODULES_EVER = 16384, /* modules of a process, including unloaded ones */
};

enum module_role {
    MODULE_USER = 0,
    MODULE_DRIVER, /* the vendor's runtime, this library, the dynamic linker */
    MODULE_SYSTEM, /* the C library, which starts threads and is not the user's code */
};

struct cfi_index;

struct module {
    struct stack_module pub;
    enum module_role role;
    uint32_t slot;
    uintptr_t data, data_end; /* the writable segments, also if libc ends the module before them */
    uintptr_t eh_hdr;         /* address of .eh_frame_hdr; 0: none */
    uintptr_t eh_end;         /* end of the mapped segment with it, or with .eh_frame */
    struct cfi_index *index;  /* owned; without eh_hdr, if .eh_frame could be found; NULL: none */
    uintptr_t print_at[2]; /* addresses in the mapping of two words that identify this file ... */
    uint64_t print[2];     /* ... and their values */
    uint64_t name_hash;    /* without a build id, hash of the loader's name; 0: not needed */
};

/* Returns the slot of the module at this address; a new module gets a slot. 0: the address is in no
 * file, or there is no room. [hot, registers at first sight] */
uint32_t modules_find(uintptr_t pc);

/* Returns true if the module is still mapped at that address. [hot] */
bool modules_is(uint32_t slot, uintptr_t pc);

/* Does what modules_is does, for a thread with a copier (safe.h). modules_find needs no other
 * function. */
bool modules_is_copied(uint32_t slot, uintptr_t pc);

/* Returns NULL for slot 0 and for slots that are not in use. [hot] */
const struct module *modules_get(uint32_t slot);

/* Returns true if a module was refused for lack of room since slots were last freed. [hot] */
bool modules_are_full(void);

/* These functions free the slots of unloaded modules in three steps, if few slots are left.
 * modules_unlist makes searches not find them any more, and returns their number, or 0 if there is
 * enough room. Once every walk that was under way then has ended, the caller makes rows that name
 * them be forgotten (rows_clear). Once every walk that was under way at that time has ended, too,
 * the next function frees them. [collector] */
uint32_t modules_unlist(void);
void modules_free_unlisted(void);

/* Chooses how addresses are looked up. own_snapshot: by a list of our own, as with a libc without
 * _dl_find_object. */
void modules_open(bool own_snapshot);

/* Describes those loaded modules for which files are needed, because a program may give up /proc,
 * its root or its rights before its first stack is captured. */
void modules_describe_loaded(void);

/* Reads the list of loaded modules again, if libc cannot be asked without a lock. [collector] */
void modules_refresh(void);

/* Lets a forked child write a snapshot again that another thread was writing. */
void modules_forget(void);

/* Returns the part that a file plays in a stack, by its name. */
enum module_role modules_role(const char *path);

#endif
