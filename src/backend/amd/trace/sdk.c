/* sdk.c - see sdk.h. */
#include "backend/amd/trace/sdk.h"

#include "backend/amd/find.h"
#include "base/process/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct dl_symbol symbols[] = {
#define ROCP_SYMBOL(required, result, name, arguments)                                             \
    {#name, offsetof(struct rocp, name), required},
    ROCP_FUNCTIONS(ROCP_SYMBOL)
#undef ROCP_SYMBOL
};

static const char *const names[] = {
#define ROCP_NAME(name) [ROCP_##name] = #name,
    ROCP_BUFFER_KINDS(ROCP_NAME) ROCP_CALLBACK_KINDS(ROCP_NAME)
#undef ROCP_NAME
};

static const char LIBRARY[] = "librocprofiler-sdk.so";

static void *open_that_holds(const void *code, char *path, size_t size)
{
    Dl_info info;
    if (!code || !dladdr(code, &info) || !info.dli_fname)
        return NULL;
    snprintf(path, size, "%s", info.dli_fname);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

int rocp_open(struct rocp *sdk, const void *code, struct err *e)
{
    char found[sizeof sdk->path] = "";
    const char *const candidates[] = {amd_find_sdk(found, sizeof found) ? found
                                                                        : "librocprofiler-sdk.so.1",
                                      "librocprofiler-sdk.so.0", NULL};
    struct err lacking = {0};
    void *handle = open_that_holds(code, sdk->path, sizeof sdk->path);
    if (!handle)
        handle = dl_find_loaded(LIBRARY, sdk->path, sizeof sdk->path);
    if (!handle)
        handle = dl_open_first(candidates, sdk->path, sizeof sdk->path, &lacking);
    if (!handle)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "no kernels can be recorded without librocprofiler-sdk, which does not "
                       "load: install ROCm 6.2 or later (package rocprofiler-sdk)");
    int rc = dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, sdk, &lacking);
    if (rc)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "%.160s is no rocprofiler-sdk that can be used (ROCm 6.2 or later is "
                       "needed): %s",
                       sdk->path, lacking.text);
    return 0;
}

/* ---- kinds --------------------------------------------------------------------------- */

static void take_kind(struct rocp *sdk, int kind, int first, int end, int status, const char *name)
{
    for (int i = first; i < end && status == ROCP_OK && name; i++)
        if (strcmp(name, names[i]) == 0)
            sdk->kinds[i] = kind;
}

static int on_buffer_kind(int kind, void *data)
{
    struct rocp *sdk = data;
    const char *name = NULL;
    int status = sdk->rocprofiler_query_buffer_tracing_kind_name(kind, &name, NULL);
    take_kind(sdk, kind, 0, ROCP_BUFFER_KIND_COUNT, status, name);
    return 0;
}

static int on_callback_kind(int kind, void *data)
{
    struct rocp *sdk = data;
    const char *name = NULL;
    int status = sdk->rocprofiler_query_callback_tracing_kind_name(kind, &name, NULL);
    take_kind(sdk, kind, ROCP_BUFFER_KIND_COUNT, ROCP_KIND_COUNT, status, name);
    return 0;
}

void rocp_find_kinds(struct rocp *sdk)
{
    for (int i = 0; i < ROCP_KIND_COUNT; i++)
        sdk->kinds[i] = ROCP_NO_KIND;
    (void)sdk->rocprofiler_iterate_buffer_tracing_kinds(on_buffer_kind, sdk);
    (void)sdk->rocprofiler_iterate_callback_tracing_kinds(on_callback_kind, sdk);
}

enum rocp_kind rocp_buffer_kind(const struct rocp *sdk, uint32_t number)
{
    int i = 0;
    while (i < ROCP_BUFFER_KIND_COUNT && sdk->kinds[i] != (int)number)
        i++;
    return (enum rocp_kind)(i < ROCP_BUFFER_KIND_COUNT ? i : ROCP_KIND_COUNT);
}

/* ---- HIP calls ----------------------------------------------------------------------- */

struct finding {
    const struct rocp *sdk;
    const struct rocp_named *calls;
    uint8_t *rows;
    uint32_t *operations;
    size_t count;
};

static int on_operation(int kind, uint32_t operation, void *data)
{
    struct finding *f = data;
    const char *name = NULL, *wanted;
    if (operation >= ROCP_OPERATIONS ||
        f->sdk->rocprofiler_query_callback_tracing_kind_operation_name(kind, operation, &name,
                                                                       NULL) != ROCP_OK)
        return 0;
    for (size_t i = 0; name && i < f->calls->count && !f->rows[operation]; i++) {
        memcpy(&wanted, (const char *)f->calls->rows + i * f->calls->stride, sizeof wanted);
        if (strcmp(name, wanted) == 0) {
            f->rows[operation] = (uint8_t)(i + 1);
            f->operations[f->count++] = operation;
        }
    }
    return 0;
}

size_t rocp_find_calls(const struct rocp *sdk, const struct rocp_named *calls,
                       uint8_t rows[ROCP_OPERATIONS], uint32_t *operations)
{
    struct finding f = {.sdk = sdk, .calls = calls, .rows = rows, .operations = operations};
    int kind = sdk->kinds[ROCP_HIP_RUNTIME_API];
    memset(rows, 0, ROCP_OPERATIONS);
    if (kind != ROCP_NO_KIND)
        (void)sdk->rocprofiler_iterate_callback_tracing_kind_operations(kind, on_operation, &f);
    return f.count;
}

int rocp_error(const struct rocp *sdk, int status, const char *doing, struct err *e)
{
    const char *name =
        sdk->rocprofiler_get_status_name ? sdk->rocprofiler_get_status_name(status) : NULL;
    return err_set(e, GPUFL_E_VENDOR,
                   "rocprofiler-sdk refuses %s: %s (status %d); with ROCPROFILER_LOG_LEVEL=info in "
                   "the environment it says more on stderr",
                   doing, name ? name : "no name", status);
}
