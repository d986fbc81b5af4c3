/* tool.c - is libgpufl-rocprofiler.so: the tool that rocprofiler-sdk loads (ROCP_TOOL_LIBRARIES).
 *
 * The tool is a library of its own because rocprofiler-register looks for a visible
 * `rocprofiler_configure` in every object of the process, and if it finds one, it requires
 * librocprofiler-sdk.so. In libgpufl.so the symbol would end every program that is linked with it
 * on a machine without the SDK.
 *
 * This library passes the call on to libgpufl.so in the same folder. If libgpufl.so does not load,
 * the program runs without capture, and a message on stderr says why. */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *client);

typedef void *inject_fn(uint32_t version, const char *runtime, uint32_t priority, void *client,
                        const void *code);

static inject_fn *find_inject(void)
{
    static const char *const names[] = {"libgpufl.so", "libgpufl.so.0"};
    Dl_info here;
    if (!dladdr((void *)(uintptr_t)rocprofiler_configure, &here))
        return NULL;
    const char *slash = strrchr(here.dli_fname, '/');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        int folder = slash ? (int)(slash - here.dli_fname) + 1 : 0;
        int n = snprintf(path, sizeof path, "%.*s%s", folder, here.dli_fname, names[i]);
        void *handle = n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle)
            return (inject_fn *)(uintptr_t)dlsym(handle, "InitializeInjectionRocprofiler");
    }
    return NULL;
}

__attribute__((visibility("default"))) void *
rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *client)
{
    inject_fn *inject = find_inject();
    if (inject)
        return inject(version, runtime, priority, client, __builtin_return_address(0));
    fprintf(stderr, "gpufl: no capture: the libgpufl.so next to libgpufl-rocprofiler.so does not "
                    "load, or is older than it; reinstall\n");
    return NULL;
}
