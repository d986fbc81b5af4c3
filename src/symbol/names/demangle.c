/* demangle.c - chooses the demangler for a name: C++ of the Itanium ABI, or Rust's two schemes. */
#include "symbol/names/demangle.h"

#include "symbol/names/itanium/itanium.h"
#include "symbol/names/rust/rust.h"

#include <string.h>

void demangle_put(struct buf *out, const char *name)
{
    size_t len = name[0] == '_' ? strlen(name) : 0;
    if (!len || buf_error(out) ||
        (rust_put(out, name, len, DEMANGLED_MAX) && itanium_put(out, name, len, DEMANGLED_MAX)))
        buf_str(out, name);
}
