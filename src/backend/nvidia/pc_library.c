/* pc_library.c - see pc_library.h. */
#include "backend/nvidia/pc_library.h"

#include "base/dl.h"

#include <stddef.h>

static const struct dl_symbol symbols[] = {
#define PC_SYMBOL(required, result, name, arguments)                                               \
    {#name, offsetof(struct pc_library, name), required},
    CUPTI_PC_FUNCTIONS(PC_SYMBOL)
#undef PC_SYMBOL
};

int pc_library_open(struct pc_library *out, const struct cupti *c, struct err *e)
{
    struct err lacking = {0};
    void *handle = dl_find_loaded("libcupti.so", NULL, 0);
    int rc = handle ? dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, out, &lacking)
                    : GPUFL_E_UNAVAILABLE;
    if (rc)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "%s cannot sample program counters: %s; CUDA 11.3 or later is needed",
                       c->path, handle ? lacking.text : "it is not loaded");
    return 0;
}
