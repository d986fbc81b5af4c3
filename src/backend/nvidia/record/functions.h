/* functions.h - kernels and device functions that a library names its findings by: a cubin's
 * checksum, the number of a symbol in it and its name, each once. Owner's lock.
 *
 * Names are copied: not every library says for how long they live. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_FUNCTIONS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_FUNCTIONS_H

#include "backend/backend.h"

#include <stddef.h>

enum { FUNCTIONS_MAX = 1 << 18 };

struct function {
    uint64_t crc;
    uint32_t index;   /* the library's number of its symbol; 0: it gives none */
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

/* Number of a function, which is added where it is new; UINT32_MAX: no room. name: NULL is "". */
uint32_t functions_put(struct functions *f, uint64_t crc, uint32_t index, const char *name);

/* Id of the sink, of a function of a context of this device (the driver's ordinal). codeless counts
 * the functions whose code nobody has seen. [collector] */
uint32_t functions_define(struct function *f, uint32_t device, struct sink *s, uint64_t *codeless);

#endif
