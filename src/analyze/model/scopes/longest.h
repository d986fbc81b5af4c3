/* longest.h - finds the scopes with most wall time.
 *
 * For tables that have room for some of the scopes. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_LONGEST_H
#define GPUFL_ANALYZE_MODEL_SCOPES_LONGEST_H

#include <stddef.h>
#include <stdint.h>

struct model;

/* Lists the nodes of the scopes that ended at least once, the one with most wall time first; of
 * equal times the one that comes first in the tree. *count receives their number. The caller frees
 * the list (mem_free); NULL: out of memory. After sum_scopes_finish. */
uint32_t *scope_longest(const struct model *m, size_t *count);

#endif
