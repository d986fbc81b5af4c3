/* zmem.h - lets zlib allocate through alloc.h, so that its failures can be tested too. */
#ifndef GPUFL_BASE_ZMEM_H
#define GPUFL_BASE_ZMEM_H

#include "base/alloc.h"

static inline void *zmem_alloc(void *opaque, unsigned items, unsigned size)
{
    (void)opaque;
    return mem_array(items, size);
}

static inline void zmem_free(void *opaque, void *p)
{
    (void)opaque;
    mem_free(p);
}

#endif
