/* register.c - see hooks.h: rocprofiler-register, linked into each runtime. */
#include "hooks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t fake_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *find_sdk(void)
{
    void *table = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
    const char *named = getenv("ROCPROFILER_REGISTER_LIBRARY");
    const char *tools = getenv("ROCP_TOOL_LIBRARIES");
    int wanted =
        (named && *named) || (tools && *tools) || dlsym(RTLD_DEFAULT, "rocprofiler_configure");
    if (!wanted)
        return NULL;
    if (table)
        return dlopen(NULL, RTLD_NOW);
    void *sdk = dlopen(named && *named ? named : "librocprofiler-sdk.so", RTLD_NOW | RTLD_LOCAL);
    if (!sdk) {
        fprintf(stderr, "FATAL: rocprofiler_set_api_table is not found: %s\n", dlerror());
        abort();
    }
    return sdk;
}

void fake_register(const char *name, struct fake_hooks *hooks)
{
    void *sdk = find_sdk();
    int (*set)(const char *, uint64_t, uint64_t, void **, uint64_t) = NULL;
    void *tables[] = {hooks};
    if (sdk)
        *(void **)&set = dlsym(sdk, "rocprofiler_set_api_table");
    if (set)
        set(name, 60000, 0, tables, 1);
}
