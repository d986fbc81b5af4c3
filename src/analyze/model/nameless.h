/* nameless.h - which of a session's files of code could not give names to their frames, and why.
 *
 * Only reasons that a person can do something about count: a file that is gone, replaced, not
 * readable, or whose split debug information is missing. A file without any symbols does not
 * count. [any] */
#ifndef GPUFL_ANALYZE_MODEL_NAMELESS_H
#define GPUFL_ANALYZE_MODEL_NAMELESS_H

#include "analyze/model/stacks.h"

enum { NAMELESS_MOST = 16 }; /* modules that are listed */

struct nameless {
    uint32_t module; /* index in stacks.modules */
    enum stacks_status status;
    uint64_t frames; /* different ones, not calls */
};

/* Fills list, the module with most frames first. Returns how many fit; *more: how many did not. */
size_t nameless_find(const struct model *m, struct nameless list[NAMELESS_MOST], size_t *more);

/* "w: the file is gone, and the session kept no copy of it: 3 places in it have no names". */
void nameless_put(const struct model *m, const struct nameless *n, struct buf *out);

#endif
