/* hash.h - computes hashes for tables in memory. They may change, so they are never written to a
 * file. [any]
 *
 * Bytes are hashed by intern_hash (base/intern.h). */
#ifndef GPUFL_BASE_HASH_H
#define GPUFL_BASE_HASH_H

#include "base/intern.h"

#include <stdint.h>
#include <string.h>

/* Hashes two small numbers. The upper half of the product depends on both numbers, the lower half
 * on b alone, so the upper half is returned. */
static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a * 0xd1b54a32d192ed03ull ^ b) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 32);
}

/* Hashes a name together with the name that contains it, such as a session and its workspace. */
static inline uint64_t hash_names(const char *outer, const char *inner)
{
    return intern_hash(outer, strlen(outer)) * 31 + intern_hash(inner, strlen(inner));
}

#endif
