/* modules.c - has kernels of modules that programs give the fake driver as PTX.
 *
 * The same text runs on a real driver, which compiles the code. The fake driver reads only a
 * comment that describes a kernel:
 *   // fake: NAME registers=R local=L shared=S ns=T
 * ns=0: the first argument, 64 bits, is the time. With a comment
 *   // fake-mib: N
 * the profiling library gets N MiB of code: that text and zeros. FAKE_CUDA_LOAD_US=3000: a load
 * takes so long, as if a driver compiled the text. */
#include "driver.h"

#include "backend/nvidia/abi/cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { KERNELS = 256 };

struct module {
    char *text;
    size_t size, mapped;
};

/* Handles of functions point into it: one that has been given stays as it is. */
static struct fake_kernel kernels[KERNELS];
static char handles[KERNELS]; /* handles of kernels of libraries: only their addresses count */
static size_t kernel_count;   /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct fake_kernel *module_kernel(const void *function)
{
    uintptr_t at = (uintptr_t)function, first = (uintptr_t)kernels;
    return at >= first && at < first + sizeof kernels ? function : NULL;
}

/* The function of a kernel of a library; NULL: it is no such kernel. */
static const struct fake_kernel *library_kernel(const void *kernel)
{
    uintptr_t at = (uintptr_t)kernel, first = (uintptr_t)handles;
    return at >= first && at < first + sizeof handles ? &kernels[at - first] : NULL;
}

const struct fake_kernel *launched_kernel(const void *handle)
{
    const struct fake_kernel *k = library_kernel(handle);
    return k ? k : module_kernel(handle);
}

static bool copy_image(struct module *m, const char *image)
{
    const char *large = strstr(image, "// fake-mib: ");
    m->size = strlen(image);
    if (!large || sscanf(large, "// fake-mib: %zu", &m->mapped) != 1) {
        m->text = strdup(image);
        return m->text;
    }
    m->size = m->mapped <<= 20;
    m->text = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->text == MAP_FAILED)
        return false;
    strcpy(m->text, image);
    return true;
}

/* Takes the time of a load. */
static void compile(void)
{
    const char *us = getenv("FAKE_CUDA_LOAD_US");
    long long ns = us ? atoll(us) * 1000 : 0;
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

EXPORT int cuModuleLoadData(struct module **module, const void *image)
{
    const struct {
        struct module **module;
        const void *image;
    } p = {module, image};
    struct call c;
    call_enter(&c, 19, "cuModuleLoadData", &p, NULL);
    compile();
    *module = calloc(1, sizeof **module);
    bool loaded = *module && copy_image(*module, image);
    if (loaded)
        report_module(CUPTI_RESOURCE_MODULE_LOADED, (*module)->text, (*module)->size);
    return call_exit(&c, loaded ? CUDA_OK : 2);
}

EXPORT int cuModuleUnload(struct module *module)
{
    struct call c;
    call_enter(&c, 22, "cuModuleUnload", &module, NULL);
    report_module(CUPTI_RESOURCE_MODULE_UNLOAD, module->text, module->size);
    if (module->mapped)
        munmap(module->text, module->mapped);
    else
        free(module->text);
    free(module);
    return call_exit(&c, CUDA_OK);
}

static bool describe(const char *text, const char *name, struct fake_kernel *k)
{
    static const char mark[] = "// fake: ";
    long long ns;
    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark)) {
        if (sscanf(at + strlen(mark), "%255s registers=%u local=%u shared=%u ns=%lld", k->name,
                   &k->registers, &k->local, &k->shared, &ns) == 5 &&
            !strcmp(k->name, name)) {
            k->ns = ns;
            return true;
        }
    }
    return false;
}

EXPORT int cuModuleGetFunction(const void **function, struct module *module, const char *name)
{
    struct fake_kernel k;
    if (!describe(module->text, name, &k))
        return DRIVER_E_NOT_FOUND;
    pthread_mutex_lock(&lock);
    bool room = kernel_count < KERNELS;
    if (room) {
        kernels[kernel_count] = k;
        *function = &kernels[kernel_count++];
    }
    pthread_mutex_unlock(&lock);
    return room ? CUDA_OK : 2;
}

/* A library is a module here, except that its kernels are not functions. */
EXPORT int cuLibraryLoadData(struct module **library, const void *code, void *jit_options,
                             void **jit_values, unsigned jit_count, void *options, void **values,
                             unsigned count)
{
    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    return cuModuleLoadData(library, code);
}

EXPORT int cuLibraryUnload(struct module *library)
{
    return cuModuleUnload(library);
}

EXPORT int cuLibraryGetKernel(const void **kernel, struct module *library, const char *name)
{
    const void *function;
    int result = cuModuleGetFunction(&function, library, name);
    if (result == CUDA_OK)
        *kernel = &handles[(const struct fake_kernel *)function - kernels];
    return result;
}

EXPORT int cuKernelGetFunction(const void **function, const void *kernel)
{
    *function = library_kernel(kernel);
    return *function ? CUDA_OK : DRIVER_E_HANDLE;
}
