/* lines.h - turns addresses into functions, files and lines by DWARF, inlined calls included.
 *
 * libdw reads the format. Sorted tables here say which unit and function contain an address,
 * because libdw's own search walks a unit's entries from the start for every address, and finds
 * no unit if the compiler wrote no .debug_aranges. A unit's tables are made when the first
 * address in it is looked up.
 *
 * With damaged DWARF some addresses get no answer, but the work is bounded: entries are visited
 * only in the order of the file, and all visits count against one budget. Called by the owner's
 * thread only. */
#ifndef GPUFL_SYMBOL_DWARF_LINES_H
#define GPUFL_SYMBOL_DWARF_LINES_H

#include "base/err.h"
#include "base/intern.h"
#include "symbol/dwarf/address_map.h"
#include "symbol/dwarf/dw.h"
#include "symbol/elf/debug_image.h"
#include "symbol/elf/file.h"

#include <stdbool.h>

enum {
    DWARF_LEVELS = 128, /* levels of inlining; deeper nesting has no answer */
    DWARF_NAMES = 1024, /* names that are remembered; a power of two */
};

struct dwarf_level {
    const char *function; /* mangled if there is a linkage name; NULL: unknown */
    const char *dir;      /* the folder that a relative file is relative to; NULL: unknown */
    const char *file;     /* NULL: unknown */
    int64_t line;         /* 0: unknown */
    bool split;           /* the function is not known because split debug information is missing */
};

struct dwarf_unit {
    struct dw_die die;            /* the unit in the file itself, which has its lines */
    struct dw_die tree;           /* the unit with the entries; with split DWARF in another file */
    struct address_map functions; /* from addresses of code to addresses of entries */
    bool read, deep;              /* read: its functions are read; deep: nested ones, too */
    bool lacks;                   /* the file with its entries (.dwo) could not be opened */
};

struct dwarf_lines {
    const struct dw *dw;
    struct debug_image image; /* what libdw reads */
    struct dw_elf *elf;       /* owned */
    struct dw_dwarf *dwarf;   /* owned */
    struct dwarf_unit *units; /* owned */
    size_t unit_count, unit_cap;
    struct address_map extents; /* addresses of code to units */
    struct intern *names;       /* owned: names that are composed here */
    struct {
        const void *die;
        const char *name;
    } lately[DWARF_NAMES]; /* by a hash of the entry */
    int64_t steps;         /* entries that may still be visited */
};

/* Returns 0; GPUFL_E_NOENT: the file has no DWARF; _FULL: too much; _CORRUPT; _NOMEM. d is empty
 * after a failure. */
int dwarf_lines_open(struct dwarf_lines *d, const struct dw *dw, const struct elf_file *f);
void dwarf_lines_close(struct dwarf_lines *d);

/* Finds the levels of an address, innermost first; 0: nothing is known. Texts are valid until
  * close. named: the name in the symbol table of the function at the address, used for a function
  * without a linkage name. For a line without entries it is used only if no code can have been
  * inlined there, because the line belongs to the innermost function and the symbol to the
  * outermost one. */
size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t address, const char *named,
                        struct dwarf_level levels[DWARF_LEVELS]);

#endif
