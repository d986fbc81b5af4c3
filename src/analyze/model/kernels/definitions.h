/* definitions.h - finds where Triton's kernels are defined, in the kept texts of source files.
 *
 * Such a kernel has the name of its Python function, or the name that torch.compile has given it.
 * The file is one that a stack goes through: it defines a function of that name below @triton.jit,
 * or it is a file of torch.compile that hands the name to async_compile.triton. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_DEFINITIONS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_DEFINITIONS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct buf;

struct kernel_definition {
    uint32_t name; /* the key: of the kernel */
    uint32_t file; /* id of model.names */
    int64_t line;
    bool compiled; /* the line hands the name to torch.compile; its function may follow */
    bool several;  /* several places define the name: which one ran is not known */
};

struct sum_definitions {
    struct keyed by_name; /* of struct kernel_definition; item 0 is none */
};

void sum_definitions_init(struct model *m);
void sum_definitions_fini(struct model *m);

/* Reads the texts of a finished model; a second call reads them again. 0 or GPUFL_E_NOMEM. */
int sum_definitions_find(struct model *m);

/* Returns where the kernel is defined; NULL: that is not known. */
const struct kernel_definition *sum_definitions_of(const struct model *m, uint32_t name);

/* Appends "file.py:12"; nothing for NULL. A long name of a file is cut: "cjasd7ym….py:73". */
void sum_definitions_put(const struct model *m, const struct kernel_definition *d, struct buf *out);

#endif
