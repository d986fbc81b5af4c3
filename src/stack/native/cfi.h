/* cfi.h - reads from .eh_frame, for one instruction, where the caller's frame and the caller's
 * registers are.
 *
 * A value is symbolic: it depends only on the instruction, not on the present registers, so that a
 * row can be kept and used again. */
#ifndef GPUFL_STACK_NATIVE_CFI_H
#define GPUFL_STACK_NATIVE_CFI_H

#include "stack/native/cpu.h"
#include "stack/native/modules.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CFI_CFA = CPU_REGS, /* a register number that means the frame's CFA */
    CFI_NO_REG = 255,   /* a constant */
};

/* Describes the value reg + offset; with load, the word stored there, plus after. */
struct cfi_value {
    uint8_t reg;    /* DWARF number, CFI_CFA or CFI_NO_REG */
    bool load;      /* the 8 bytes at reg + offset */
    int64_t offset; /* bytes */
    int64_t after;  /* with load: added to what was read */
};

enum cfi_rule {
    CFI_SAME = 0,  /* the callee has not changed the register */
    CFI_UNDEFINED, /* the register is lost; return address: the frame is the outermost one */
    CFI_AT,        /* the register is stored at the value */
    CFI_IS,        /* the register is the value */
};

struct cfi_place {
    enum cfi_rule rule;
    struct cfi_value value; /* of AT and IS */
};

struct cfi_row {
    struct cfi_value cfa;
    struct cfi_place reg[CPU_REGS];
    uint8_t ra;  /* column of the return address */
    bool signal; /* the frame was interrupted, not called */
};

/* Describes a range of bytes to read. A read beyond its end gives 0 and sets bad. */
struct cfi_bytes {
    const uint8_t *at, *end;
    uintptr_t moved; /* what must be added to `at` for the address in the module: 0 if not a copy */
    bool bad;
};

uint64_t cfi_take(struct cfi_bytes *b, unsigned bytes); /* 1, 2, 4 or 8, little-endian */
uint64_t cfi_uleb(struct cfi_bytes *b);
int64_t cfi_sleb(struct cfi_bytes *b);

/* Evaluates a DWARF expression at an instruction. cfa: its stack begins with the CFA. False: struct
 * cfi_value cannot express the result. */
bool cfi_expression(struct cfi_bytes b, uintptr_t pc, bool cfa, struct cfi_value *out);

/* Finds the row of an instruction. False: no table covers the instruction, or the entry is damaged
 * or not supported. [hot, first sight] */
bool cfi_find(const struct module *m, uintptr_t pc, struct cfi_row *out);

/* Describes an entry of .eh_frame. */
struct cfi_entry {
    uintptr_t next;       /* address of the next entry; 0: this is the terminator */
    uintptr_t begin, end; /* instructions it covers; 0, 0: a CIE, or not supported */
};

/* Reads the entry at an address; false: it cannot be read. [hot, first sight] */
bool cfi_entry_at(const struct module *m, uintptr_t at, struct cfi_entry *out);

/* Finds the address range of the function with pc, by the table; false: the table has none. */
bool cfi_range(const struct module *m, uintptr_t pc, uintptr_t *begin, uintptr_t *end);

#endif
