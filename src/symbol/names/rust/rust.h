/* rust.h - demangles names of Rust's compiler: v0 (_R…) and legacy (_ZN…17h<hash>E).
 *
 * Hashes, which distinguish crates and versions, are left out: core::fmt::Write::write_fmt. [any]
  */
#ifndef GPUFL_SYMBOL_NAMES_RUST_RUST_H
#define GPUFL_SYMBOL_NAMES_RUST_RUST_H

#include "base/buf.h"

#include <stddef.h>

/* Appends the text of name[0..len) to out, at most `most` bytes. 0; GPUFL_E_CORRUPT: this is no
 * name of Rust; GPUFL_E_FULL: a budget is spent; GPUFL_E_NOMEM. After an error out is unchanged. */
int rust_put(struct buf *out, const char *name, size_t len, size_t most);

#endif
