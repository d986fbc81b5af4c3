/* dw.h - elfutils' libdw, opened when it is first needed.
 *
 * A machine without it still gets the functions' names from symbol tables, and a
 * sentence that says what to install. [any] */
#ifndef GPUFL_SYMBOL_DWARF_DW_H
#define GPUFL_SYMBOL_DWARF_DW_H

#include "base/err.h"
#include "symbol/dwarf/dw_abi.h"

struct dw {
#define DW_MEMBER(name, result, arguments) result(*name) arguments;
    DW_FUNCTIONS(DW_MEMBER)
#undef DW_MEMBER
};

/* The library's functions; NULL with a sentence where it is missing or too old. */
const struct dw *dw_open(struct err *e);

#endif
