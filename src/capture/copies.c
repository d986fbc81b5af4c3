/* copies.c - see copies.h. The loader lists objects in the order in which they
 * were loaded, so all copies agree on which is the first. */
#include "capture/copies.h"

#include "base/file/file.h"
#include "base/log.h"
#include "base/process/dl.h"
#include "capture/threads/gate.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char LIBRARY[] = "libgpufl.so";

static struct copies_calls calls;
static const struct copies_calls *first; /* written once, by look */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct dl_symbol symbols[] = {
#define F(result, name, params, args) {"gpufl_" #name, offsetof(struct copies_calls, name), true},
    COPIES_CALLS(F)
#undef F
        {"InitializeInjection", offsetof(struct copies_calls, inject), true},
    {"InitializeInjectionNvtx2", offsetof(struct copies_calls, inject_nvtx), true},
    {"InitializeInjectionRocprofiler", offsetof(struct copies_calls, inject_rocprofiler), true},
};

struct found {
    char path[PATH_MAX]; /* the first copy's */
    ElfW(Addr) base;     /* where it lies */
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct found *f = arg;
    if (strncmp(path_base(info->dlpi_name), LIBRARY, sizeof LIBRARY - 1) != 0)
        return 0;
    snprintf(f->path, sizeof f->path, "%s", info->dlpi_name);
    f->base = info->dlpi_addr;
    return 1; /* the first one */
}

/* Returns the address of the object that holds this code. */
static ElfW(Addr) own_base(void)
{
    struct link_map *map = NULL;
    Dl_info info;
    if (!dladdr1((void *)(uintptr_t)copies_first, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return 0;
    return map->l_addr;
}

static void look(void)
{
    struct found f = {0};
    struct err e = {0};
    if (!dl_iterate_phdr(visit, &f) || f.base == own_base())
        return;
    void *handle = dlopen(f.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle)
        return;
    const char *(*version)(void) = NULL;
    *(void **)&version = dlsym(handle, "gpufl_version");
    if (!version || strcmp(version(), GPUFL_VERSION) != 0) {
        log_warn("two libgpufl.so of different versions are in this process (%s): each captures "
                 "for itself; use one",
                 f.path);
        return;
    }
    if (dl_fill(handle, symbols, sizeof symbols / sizeof symbols[0], &calls, &e))
        return;
    first = &calls;
    atomic_store_explicit(&capture_gate.gate, GATE_FORWARD, memory_order_release);
    log_debug("%s is loaded already: calls are passed on to it", f.path);
}

const struct copies_calls *copies_first(void)
{
    pthread_once(&once, look);
    return first;
}
