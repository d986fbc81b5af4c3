/* modules.h - which file of code an address is in.
 *
 * A module has two numbers. Its slot is small and is what rows and walks carry; the slot of a
 * module that is not mapped any more goes to another one, in three steps, so that a walk that
 * still has it is not misled (modules_unlist). Its number, pub.number, means this module for the
 * process's life: stacks are compared by it.
 *
 * A module is identified by where it is mapped and by what the mapping holds: the build id and
 * the unwind table's head are compared whenever a walk meets it, so that a library closed and
 * another one opened at its addresses is another module. */
#ifndef GPUFL_STACK_NATIVE_MODULES_H
#define GPUFL_STACK_NATIVE_MODULES_H

#include "stack/common/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODULES_MAX = 4096,   /* slots: modules at a time; a slot fits 12 bits */
    MODULES_EVER = 16384, /* modules of a process, those that are gone included */
};

enum module_role {
    MODULE_USER = 0,
    MODULE_DRIVER, /* the vendor's runtime, this library, the dynamic linker */
    MODULE_SYSTEM, /* the C library: it starts threads and is nobody's own code */
};

struct cfi_index;

struct module {
    struct stack_module pub;
    enum module_role role;
    uint32_t slot;
    uintptr_t eh_hdr;        /* address of .eh_frame_hdr; 0: none */
    uintptr_t eh_end;        /* end of the mapped segment that it, or .eh_frame, is in */
    struct cfi_index *index; /* owned; without eh_hdr where .eh_frame could be found; NULL: none */
    uintptr_t print_at[2];   /* where two words are that identify this file ... */
    uint64_t print[2];       /* ... in its mapping, and what they held */
    uint64_t name_hash;      /* without a build id, hash of the loader's name; 0: not needed */
};

/* The slot of the module at this address; 0: in no file, or no room. [hot, registers at first
 * sight] */
uint32_t modules_find(uintptr_t pc);

/* True where the module is still mapped at that address. [hot] */
bool modules_is(uint32_t slot, uintptr_t pc);

/* NULL for slot 0 and for slots that are not in use. [hot] */
const struct module *modules_get(uint32_t slot);

/* True where a module was refused for lack of room since slots were freed last. [hot] */
bool modules_are_full(void);

/* Frees slots of modules that are gone, in three steps, where few are left. After the first step
 * no search finds them any more. Once every walk that was under way then has ended, rows that
 * name them are forgotten (rows_clear). Once every walk that was under way at that time has
 * ended, too, the second call frees them. unlist returns how many there are, 0 where there is
 * room enough. [collector] */
uint32_t modules_unlist(void);
void modules_free_unlisted(void);

/* Chooses how addresses are looked up. own_snapshot: as on a libc without _dl_find_object. */
void modules_open(bool own_snapshot);

/* Describes what is loaded now as far as that needs files: a program may give up /proc, its root or
 * its rights before its first stack is captured. */
void modules_describe_loaded(void);

/* Reads again what is loaded, where libc cannot be asked without a lock. [collector] */
void modules_refresh(void);

/* For a forked child: a snapshot that another thread was writing is written anew. */
void modules_forget(void);

/* The part that a file plays in a stack, by its name. */
enum module_role modules_role(const char *path);

#endif
