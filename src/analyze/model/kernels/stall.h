/* stall.h - has the table of stall reasons (stall.def). Everything here is constant; any thread may
 * read it. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_STALL_H
#define GPUFL_ANALYZE_MODEL_KERNELS_STALL_H

#include <stdbool.h>
#include <stddef.h>

/* Lists the classes of reasons. RUNNING is not a stall; warps of READY could go on; whether warps
 * of UNKNOWN waited is unknown. */
enum stall_class {
    STALL_MEMORY,
    STALL_SHARED,
    STALL_TEXTURE,
    STALL_SYNC,
    STALL_PIPE,
    STALL_EXECUTION,
    STALL_CONTROL,
    STALL_FETCH,
    STALL_OTHER,
    STALL_READY,
    STALL_RUNNING,
    STALL_UNKNOWN,
    STALL_CLASSES
};

struct stall {
    const char *name;
    enum stall_class class;
    const char *waits, *cause, *next;
};

static inline bool stall_waits(const struct stall *s)
{
    return s->class != STALL_RUNNING && s->class != STALL_UNKNOWN;
}

extern const struct stall stall_unknown; /* of samples without a reason */
extern const struct stall stalls[];
extern const size_t stall_count;

/* Returns the row of a reason's name. A name that is not in the table gets a general row by what it
 * contains: "mem" is memory, "pipe" a pipe, "exec" execution, anything else other. */
const struct stall *stall_find(const char *name);

#endif
