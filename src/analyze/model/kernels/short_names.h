/* short_names.h - makes the short names of a model's kernels, which are all different.
 *
 * symbol/names/shorten.h shortens all kernels of a model together, so that a kernel has one short
 * name wherever a report names it. Kernels with equal demangled names are shown as one and have one
 * short name. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_SHORT_NAMES_H
#define GPUFL_ANALYZE_MODEL_KERNELS_SHORT_NAMES_H

#include "base/buf.h"
#include "base/keyed.h"

struct model;

struct sum_short_names {
    struct keyed by_name; /* of struct short_name; item 0 is none */
    struct buf texts;     /* a NUL after each */
};

void sum_short_names_init(struct model *m);
void sum_short_names_fini(struct model *m);

/* Makes the names of a finished model; a second call makes them again. 0 or GPUFL_E_NOMEM. */
int sum_short_names_make(struct model *m);

/* Appends the short name of a kernel or a function of device code, by an id of model.names, mangled
 * or demangled; nothing for 0. A name that belongs to no kernel of the model is shortened alone. */
void sum_short_name_put(const struct model *m, uint32_t name, struct buf *out);

/* Returns true if the name is a kernel's or a function's and its short name contains the text. */
bool sum_short_name_holds(const struct model *m, uint32_t name, const char *text);

#endif
