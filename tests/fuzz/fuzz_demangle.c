/* fuzz_demangle.c - feeds any bytes as a mangled name: the demangler ends within its budgets, and
 * gives a text or the name itself. The first byte selects the scheme, so that few inputs are
 * refused at once. */
#include "symbol/names/demangle.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const prefixes[] = {"", "_Z", "_R", "_ZN"};
    if (!size)
        return 0;
    const char *prefix = prefixes[data[0] % 4];
    size_t before = strlen(prefix);
    char *name = malloc(before + size);
    CHECK(name);
    memcpy(name, prefix, before);
    memcpy(name + before, data + 1, size - 1);
    name[before + size - 1] = '\0';
    struct buf out;
    buf_init(&out, DEMANGLE_ROOM);
    buf_str(&out, "before ");
    demangle_put(&out, name);
    const char *text = buf_cstr(&out);
    CHECK(!buf_error(&out) && !strncmp(text, "before ", 7));
    CHECK(out.len - 7 <= DEMANGLED_MAX || !strcmp(text + 7, name));
    buf_fini(&out);
    free(name);
    return 0;
}
