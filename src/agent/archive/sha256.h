/* sha256.h - SHA-256 sums of archived files.
 *
 * libsodium computes them; it is opened for the first sum, so commands that use no archive do not
 * load it. One thread at a time uses a sum. */
#ifndef GPUFL_AGENT_ARCHIVE_SHA256_H
#define GPUFL_AGENT_ARCHIVE_SHA256_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 2 * SHA256_BYTES + 1 };

/* This is room for libsodium's state, which has 104 bytes. */
struct sha256 {
    uint64_t state[32];
};

/* Opens libsodium once. GPUFL_E_NOT_BUILT with a sentence: it is missing. [any] */
int sha256_load(struct err *e);

/* sha256_load must have been called. */
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);
void sha256_end(struct sha256 *s, char hex[SHA256_HEX]);

#endif
