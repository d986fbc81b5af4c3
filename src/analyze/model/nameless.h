/* nameless.h - lists the modules of a session whose frames have no names, and why.
 *
 * Only reasons that a person can remove count: the file is gone, was replaced, is not readable, or
 * its split debug information is missing. A file without any symbols does not count. [any] */
#ifndef GPUFL_ANALYZE_MODEL_NAMELESS_H
#define GPUFL_ANALYZE_MODEL_NAMELESS_H

#include "analyze/model/stacks.h"

enum { NAMELESS_MOST = 16 }; /* modules that are listed */

struct nameless {
    uint32_t module; /* index in stacks.modules */
    enum stacks_status status;
    uint64_t frames; /* different ones, not calls */
};

/* Fills list, the module with most frames first. Returns the number of entries; *more gets how many
 * had no room. */
size_t nameless_find(const struct model *m, struct nameless list[NAMELESS_MOST], size_t *more);

/* Appends "w: the file is gone, and the session kept no copy of it: 3 places in it have no
 * names". */
void nameless_put(const struct model *m, const struct nameless *n, struct buf *out);

#endif
