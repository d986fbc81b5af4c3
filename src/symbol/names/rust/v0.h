/* v0.h - reads rust's v0 scheme (RFC 2603), for rust.c alone. [any] */
#ifndef GPUFL_SYMBOL_NAMES_RUST_V0_H
#define GPUFL_SYMBOL_NAMES_RUST_V0_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does what rust_put does. The text is llvm-cxxfilt's. */
int rust_v0_put(struct buf *out, const char *name, size_t len, size_t most);

/* Appends a code point up to 0x10ffff as UTF-8. */
void rust_put_utf8(struct buf *out, uint32_t c);

/* Appends the text of an identifier in Punycode, at most 4 * len bytes; false: it is not valid. */
bool rust_put_puny(struct buf *out, const char *name, size_t len);

#endif
