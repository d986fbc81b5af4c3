/* words.h - has each GPU vendor's words for the same things, for the tables of the text report:
 * finds the words of a device (backend/vendor_words.h).
 *
 * The texts of insights have words of their own where a sentence differs by more than these.
 * Constants. */
#ifndef GPUFL_ANALYZE_COMMON_WORDS_H
#define GPUFL_ANALYZE_COMMON_WORDS_H

#include "backend/vendor_words.h"

/* Returns what to do about a finding of this rule, in the vendor's words; NULL: the rule's own text
 * is for all vendors. */
const char *words_next(const struct words *w, const char *rule);

/* Returns the words for GPUs of an architecture ("sm_90", "gfx942"). If the architecture is
 * unknown, the words of the first vendor of backends.def that has words, which is NVIDIA. */
const struct words *words_of(const char *arch);

/* Returns the words for a GPU by its vendor (vendor.h, name), else by its architecture; NULL:
 * neither is known ("", or a simulated GPU without one). */
const struct words *words_of_device(const char *vendor, const char *arch);

/* Returns the words for a text about GPUs of both a and b: if they differ, the
 * words for GPUs of several vendors. a may be NULL: then b. */
const struct words *words_join(const struct words *a, const struct words *b);

#endif
