/* sass_library.c - see sass_library.h. */
#include "backend/nvidia/sass_library.h"

#include "base/dl.h"

#include <stddef.h>

static const struct dl_symbol symbols[] = {
#define SASS_SYMBOL(required, result, name, arguments)                                             \
    {#name, offsetof(struct sass_library, name), required},
    CUPTI_SASS_FUNCTIONS(SASS_SYMBOL)
#undef SASS_SYMBOL
};

int sass_library_open(struct sass_library *out, const struct cupti *c, struct err *e)
{
    struct err lacking = {0};
    void *handle = dl_find_loaded("libcupti.so", NULL, 0);
    int rc = handle ? dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, out, &lacking)
                    : GPUFL_E_UNAVAILABLE;
    if (rc)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "CUPTI of CUDA 12.8 or later is needed to count instructions, and %.160s is "
                       "not: %s",
                       c->path, handle ? lacking.text : "it is not loaded");
    return 0;
}
