/* rows.h - is a table of unwind rows by instruction, each in one word: one step of a walk.
 *
 * In nearly every row the CFA is the stack or frame pointer plus a number, and
 * the return address and the caller's frame pointer lie at a distance from the CFA.
 * Such a row fits 64 bits. Other rows are marked, and unwind.c asks cfi.c at every visit. */
#ifndef GPUFL_STACK_NATIVE_ROWS_H
#define GPUFL_STACK_NATIVE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

enum rows_how {
    ROWS_NONE = 0,  /* no table covers the instruction: generated or hand-written code */
    ROWS_STEP,      /* the fields below are the whole row */
    ROWS_OUTERMOST, /* the return address is undefined: a thread begins here */
    ROWS_COMPLEX,   /* the row does not fit: use cfi_find */
};

enum rows_fp {
    ROWS_FP_SAME = 0, /* not touched */
    ROWS_FP_CFA,      /* stored at CFA + fp_offset */
    ROWS_FP_BASE,     /* stored at the CFA's base register + fp_offset */
};

/* Holds a row in one word. Distances are in units of 8 bytes. */
union row {
    uint64_t word; /* 0: an empty slot; see rows_at */
    struct {
        uint64_t module : 12;     /* slot: modules_get; 0: none */
        uint64_t how : 2;         /* enum rows_how */
        uint64_t interpreter : 1; /* python_is_interpreter */
        uint64_t is_row : 1;      /* always 1 */
        uint64_t base_fp : 1;     /* CFA from the frame pointer, else from the stack pointer */
        uint64_t load : 1;        /* the CFA is stored at base + cfa */
        int64_t cfa : 15;         /* base + this */
        int64_t after : 4;        /* with load: + this */
        uint64_t fp : 2;          /* enum rows_fp */
        int64_t fp_offset : 13;
        int64_t ra_offset : 12; /* return address at CFA + this */
    };
};

/* Returns the row of an instruction. A new row is made at first sight. [hot] */
union row rows_at(uintptr_t pc);

/* Makes the row again, for an address where another module is mapped now. [hot, first sight] */
union row rows_make(uintptr_t pc);

/* Forgets all rows, because modules or the meaning of the interpreter bit have changed. [any] */
void rows_clear(void);

/* Returns how often all rows were forgotten: rows of different ages cannot be compared. [hot] */
uint32_t rows_age(void);

#endif
