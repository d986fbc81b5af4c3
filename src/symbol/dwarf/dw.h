/* dw.h - opens elfutils' libdw when it is first needed.
 *
 * On a machine without libdw the functions' names still come from symbol tables, and
 * a sentence says what to install. [any] */
#ifndef GPUFL_SYMBOL_DWARF_DW_H
#define GPUFL_SYMBOL_DWARF_DW_H

#include "base/err.h"
#include "symbol/dwarf/dw_abi.h"

struct dw {
#define DW_MEMBER(name, result, arguments) result(*name) arguments;
    DW_FUNCTIONS(DW_MEMBER)
#undef DW_MEMBER
};

/* Returns the library's functions; NULL with a sentence if the library is missing or too old. */
const struct dw *dw_open(struct err *e);

#endif
