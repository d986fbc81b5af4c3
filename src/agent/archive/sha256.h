/* sha256.h - SHA-256 of what goes to an archive and comes from there.
 *
 * By libsodium, which is opened when the first sum is wanted: commands that touch no archive do not
 * load it. One sum is for one thread. */
#ifndef GPUFL_AGENT_ARCHIVE_SHA256_H
#define GPUFL_AGENT_ARCHIVE_SHA256_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 2 * SHA256_BYTES + 1 };

/* Room for libsodium's state, which has 104 bytes. */
struct sha256 {
    uint64_t state[32];
};

/* Opens libsodium once. NOT_BUILT with a sentence where it is missing. [any] */
int sha256_load(struct err *e);

/* After sha256_load. */
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);
void sha256_end(struct sha256 *s, char hex[SHA256_HEX]);

#endif
