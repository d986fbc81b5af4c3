/* functions.h - a table of the kernels and device functions to which a library's samples or counts
 * refer, each with its cubin's checksum, the number of its symbol and its name. Owner's lock.
 *
 * Names are copied, because not every library says how long they stay valid. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_FUNCTIONS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_FUNCTIONS_H

#include "backend/backend.h"

#include <stddef.h>

enum { FUNCTIONS_MAX = 1 << 18 };

struct function {
    uint64_t crc;
    uint32_t index;   /* the library's number of its symbol; 0: the library gives none */
    uint32_t defined; /* id of the sink; 0: not yet */
    char *name;       /* owned */
};

struct functions {
    struct function *items; /* owned */
    size_t count, cap;
    uint32_t *slots; /* owned: index + 1 by hash */
    size_t slot_count;
};

void functions_init(struct functions *f);
void functions_fini(struct functions *f);

/* Returns the number of a function; a new one is added. UINT32_MAX: no room. name: NULL counts as
 * "". */
uint32_t functions_put(struct functions *f, uint64_t crc, uint32_t index, const char *name);

/* Returns the sink's id of a function of a context of this device (the driver's ordinal). codeless
 * counts the functions whose code was not seen. [collector] */
uint32_t functions_define(struct function *f, uint32_t device, struct sink *s, uint64_t *codeless);

#endif
