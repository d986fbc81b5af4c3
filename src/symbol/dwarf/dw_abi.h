/* dw_abi.h - has our own declarations of the part of elfutils' binary interface that is used.
 *
 * The library is opened at run time, and the build does not need its headers
 * (docs/adr/0004-libdw.md). If they are installed, tests/unit/symbol/test_abi_dw.c compares
 * everything here with them. Values of DWARF are from its standard. */
#ifndef GPUFL_SYMBOL_DWARF_DW_ABI_H
#define GPUFL_SYMBOL_DWARF_DW_ABI_H

#include <stddef.h>
#include <stdint.h>

struct dw_elf;   /* Elf */
struct dw_dwarf; /* Dwarf */
struct dw_unit;  /* Dwarf_CU */
struct dw_line;  /* Dwarf_Line */
struct dw_files; /* Dwarf_Files */
struct dw_lines; /* Dwarf_Lines */

/* This is an entry of .debug_info (Dwarf_Die). */
struct dw_die {
    void *addr; /* its first byte: entries of a unit are in the order of their addresses */
    struct dw_unit *unit;
    void *abbrev;
    long padding;
};

/* This is an attribute of an entry (Dwarf_Attribute). */
struct dw_attr {
    unsigned code, form;
    unsigned char *value;
    struct dw_unit *unit;
};

enum { DW_ELF_VERSION = 1 }; /* EV_CURRENT */
enum { DW_READ = 0 };        /* DWARF_C_READ */

enum { DW_UNIT_SKELETON = 4 };

enum dw_tag {
    DW_TAG_CLASS = 0x02,
    DW_TAG_LEXICAL_BLOCK = 0x0b,
    DW_TAG_COMPILE_UNIT = 0x11,
    DW_TAG_STRUCTURE = 0x13,
    DW_TAG_UNION = 0x17,
    DW_TAG_INLINED = 0x1d,
    DW_TAG_MODULE = 0x1e,
    DW_TAG_SUBPROGRAM = 0x2e,
    DW_TAG_NAMESPACE = 0x39,
    DW_TAG_SKELETON_UNIT = 0x4a,
};

enum dw_at {
    DW_AT_NAME = 0x03,
    DW_AT_LANGUAGE = 0x13,
    DW_AT_COMP_DIR = 0x1b,
    DW_AT_ABSTRACT_ORIGIN = 0x31,
    DW_AT_SPECIFICATION = 0x47,
    DW_AT_CALL_FILE = 0x58,
    DW_AT_CALL_LINE = 0x59,
    DW_AT_LINKAGE_NAME = 0x6e,
    DW_AT_MIPS_LINKAGE_NAME = 0x2007,
};

/* Lists languages whose functions have no scopes around them. */
enum dw_lang {
    DW_LANG_ISO_C89 = 0x01,
    DW_LANG_PLAIN_C = 0x02,
    DW_LANG_ISO_C99 = 0x0c,
    DW_LANG_ISO_C11 = 0x1d,
    DW_LANG_ISO_C17 = 0x2c,
};

/* Lists the functions of the library as F(name, result, arguments); all of them are required. */
#define DW_FUNCTIONS(F)                                                                            \
    F(elf_version, unsigned, (unsigned))                                                           \
    F(elf_memory, struct dw_elf *, (char *, size_t))                                               \
    F(elf_end, int, (struct dw_elf *))                                                             \
    F(dwarf_begin_elf, struct dw_dwarf *, (struct dw_elf *, int, void *))                          \
    F(dwarf_end, int, (struct dw_dwarf *))                                                         \
    F(dwarf_get_units, int,                                                                        \
      (struct dw_dwarf *, struct dw_unit *, struct dw_unit **, uint16_t *, uint8_t *,              \
       struct dw_die *, struct dw_die *))                                                          \
    F(dwarf_cu_info, int,                                                                          \
      (struct dw_unit *, uint16_t *, uint8_t *, struct dw_die *, struct dw_die *, uint64_t *,      \
       uint8_t *, uint8_t *))                                                                      \
    F(dwarf_child, int, (struct dw_die *, struct dw_die *))                                        \
    F(dwarf_siblingof, int, (struct dw_die *, struct dw_die *))                                    \
    F(dwarf_haschildren, int, (struct dw_die *))                                                   \
    F(dwarf_tag, int, (struct dw_die *))                                                           \
    F(dwarf_diecu, struct dw_die *, (struct dw_die *, struct dw_die *, uint8_t *, uint8_t *))      \
    F(dwarf_attr, struct dw_attr *, (struct dw_die *, unsigned, struct dw_attr *))                 \
    F(dwarf_formstring, const char *, (struct dw_attr *))                                          \
    F(dwarf_formudata, int, (struct dw_attr *, uint64_t *))                                        \
    F(dwarf_formref_die, struct dw_die *, (struct dw_attr *, struct dw_die *))                     \
    F(dwarf_ranges, ptrdiff_t, (struct dw_die *, ptrdiff_t, uint64_t *, uint64_t *, uint64_t *))   \
    F(dwarf_getsrc_die, struct dw_line *, (struct dw_die *, uint64_t))                             \
    F(dwarf_lineno, int, (struct dw_line *, int *))                                                \
    F(dwarf_linesrc, const char *, (struct dw_line *, uint64_t *, uint64_t *))                     \
    F(dwarf_getsrcfiles, int, (struct dw_die *, struct dw_files **, size_t *))                     \
    F(dwarf_filesrc, const char *, (struct dw_files *, size_t, uint64_t *, uint64_t *))

#endif
