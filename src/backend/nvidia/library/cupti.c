/* cupti.c - opens CUPTI, and explains its errors to the user.
 *
 * There is one table for the process, filled once and never closed: the driver keeps pointers into
 * the library until the process ends. There is no lock, as in cuda.c. */
#include "backend/nvidia/library/cupti.h"

#include "backend/nvidia/library/cuda.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/dl.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct dl_symbol symbols[] = {
#define CUPTI_SYMBOL(required, result, name, arguments)                                            \
    {#name, offsetof(struct cupti, name), required},
    CUPTI_FUNCTIONS(CUPTI_SYMBOL)
#undef CUPTI_SYMBOL
};

static const struct {
    int kind;
    uint32_t version;
    uint16_t bytes;
} filled[] = {
#define CUPTI_FILLED_ROW(kind, version, bytes, theirs) {CUPTI_KIND_##kind, version, bytes},
    CUPTI_FILLED(CUPTI_FILLED_ROW)
#undef CUPTI_FILLED_ROW
};

static const struct {
    int result; /* enum cupti_result */
    int code;
    const char *text;
} refusals[] = {
    {CUPTI_E_PRIVILEGES, GPUFL_E_PERM,
     "the driver keeps profiling for administrators (ERR_NVGPUCTRPERM): run as root, give the "
     "container CAP_SYS_ADMIN, or let the administrator set NVreg_RestrictProfilingToAdminUsers=0 "
     "for the kernel module nvidia and reload it"},
    {CUPTI_E_VIRTUALIZED, GPUFL_E_UNAVAILABLE,
     "this virtual GPU cannot be traced: use a whole GPU, or engine Monitor"},
    {CUPTI_E_VIRTUALIZED_PRIVILEGES, GPUFL_E_PERM,
     "this virtual GPU may not be traced: the administrator of the hypervisor has to enable "
     "profiling for it"},
    {CUPTI_E_CONFIDENTIAL, GPUFL_E_UNAVAILABLE,
     "a GPU in confidential-computing mode cannot be traced: use engine Monitor"},
    {CUPTI_E_MIG, GPUFL_E_UNAVAILABLE,
     "this MIG slice cannot be traced by this CUPTI: use a newer CUDA toolkit, or engine Monitor"},
    {CUPTI_E_WSL, GPUFL_E_UNAVAILABLE,
     "this Windows driver does not let WSL programs be traced: update it, or allow GPU "
     "performance counters for all users in its control panel"},
    {CUPTI_E_OLD_PROFILER, GPUFL_E_BUSY,
     "the old profiling interface is active in this program (nvprof or the Visual Profiler): run "
     "it without that tool"},
    {CUPTI_E_HARDWARE_BUSY, GPUFL_E_BUSY,
     "another process or tool holds the GPU's profiling hardware: end it first"},
};

/* Lists the tools that may hold CUPTI, each recognized by its library in the process. */
static const struct {
    const char *library;
    const char *tool;
} holders[] = {
    {"libToolsInjection64.so", "Nsight Systems"},
    {"libcuda-injection.so", "Nsight Compute"},
    {"libsanitizer-collection.so", "compute-sanitizer"},
    {"libparcagpucupti.so", "Parca"},
    {"libproton.so", "Triton's Proton"},
    {"libtorch_cpu.so", "torch.profiler"},
    {"libxla_extension.so", "the profiler of JAX"},
};

static _Atomic(struct cupti *) published; /* complete, constant; never freed. Release, acquire */

static void sizes_fill(struct cupti *c)
{
    memset(c->filled, 0, sizeof c->filled);
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) /* ascending by version */
        if (filled[i].version <= c->version)
            c->filled[filled[i].kind] = filled[i].bytes;
}

static void *library_open(struct cupti *c, struct err *e)
{
    void *handle = dl_find_loaded("libcupti.so", c->path, sizeof c->path);
    if (handle)
        return handle;
    int version = cuda_version(cuda_load(NULL));
    struct cupti_search *search = cupti_search(version);
    if (!search) {
        err_nomem(e);
        return NULL;
    }
    handle = dl_open_first(search->list, c->path, sizeof c->path, e);
    mem_free(search);
    if (handle)
        return handle;
    if (!version)
        err_set(e, GPUFL_E_UNAVAILABLE,
                "NVIDIA's driver does not say its version, and no CUPTI can be loaded: install the "
                "package cuda-cupti, or set GPUFL_CUPTI_PATH to libcupti.so");
    else
        err_set(e, GPUFL_E_UNAVAILABLE,
                "no CUPTI for CUDA %d or older can be loaded: install the package cuda-cupti-%d-%d "
                "(or pip install nvidia-cuda-cupti), or set GPUFL_CUPTI_PATH to libcupti.so.%d",
                version / 1000, version / 1000, version % 1000 / 10, version / 1000);
    return NULL;
}

static int table_load(struct cupti *c, struct err *e)
{
    void *handle = library_open(c, e);
    if (!handle)
        return GPUFL_E_UNAVAILABLE;
    struct err lacking = {0};
    int rc = dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, c, &lacking);
    if (rc)
        return err_set(e, rc, "%s is not a usable CUPTI: %s", c->path, lacking.text);
    int result = c->cuptiGetVersion(&c->version);
    if (result != CUPTI_OK)
        return cupti_error(c, result, "to say its version", e);
    sizes_fill(c);
    if (!c->filled[CUPTI_KIND_KERNEL])
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "%s is too old (API version %u): CUDA 9 or later is needed", c->path,
                       c->version);
    return 0;
}

int cupti_open(const struct cupti **out, struct err *e)
{
    struct cupti *first = atomic_load_explicit(&published, memory_order_acquire), *mine;
    *out = first;
    if (first)
        return 0;
    if (!cuda_load(
            NULL)) /* without the driver each call of CUPTI fails, with an error without a reason */
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "there is no NVIDIA driver here (libcuda.so.1 does not load): install it, or "
            "start the container with access to the GPUs (docker run --gpus all)");
    mine = mem_zalloc(sizeof *mine);
    if (!mine)
        return err_nomem(e);
    int rc = table_load(mine, e);
    if (rc == 0 && atomic_compare_exchange_strong_explicit(
                       &published, &first, mine, memory_order_acq_rel, memory_order_acquire)) {
        *out = mine;
        return 0;
    }
    mem_free(mine);
    *out = rc ? NULL : first; /* another thread was faster */
    return rc;
}

int cupti_extend(const struct cupti *c, void *table, const struct dl_symbol *rows, size_t count,
                 const char *can, const char *since, struct err *e)
{
    struct err lacking = {.text = "it is not loaded"};
    void *handle = dl_find_loaded("libcupti.so", NULL, 0);
    if (handle && dl_fill(handle, rows, count, table, &lacking) == 0)
        return 0;
    return err_set(e, GPUFL_E_UNAVAILABLE, "%.160s cannot %s, for which %s or later is needed: %s",
                   c->path, can, since, lacking.text);
}

static int error_busy(struct err *e)
{
    const char *tool = NULL;
    for (size_t i = 0; i < sizeof holders / sizeof *holders && !tool; i++)
        if (dl_find_loaded(holders[i].library, NULL, 0))
            tool = holders[i].tool;
    return err_set(e, GPUFL_E_BUSY,
                   "another profiler in this process holds CUPTI%s%s%s: it has room for one. End "
                   "that profiler, or start gpufl before it, or set GPUFL_YIELD_CUPTI=1 to go on "
                   "without kernel records",
                   tool ? " (probably " : "", tool ? tool : "", tool ? ")" : "");
}

int cupti_error(const struct cupti *c, int result, const char *doing, struct err *e)
{
    const char *text = NULL;
    if (result == CUPTI_E_SUBSCRIBED)
        return error_busy(e);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].result == result)
            return err_set(e, refusals[i].code, "%s", refusals[i].text);
    if (c->cuptiGetResultString(result, &text) != CUPTI_OK || !text)
        text = "unknown error";
    return err_set_vendor(e, GPUFL_E_VENDOR, result, "CUPTI fails %s: %s (error %d)", doing, text,
                          result);
}

int cupti_no_subscriber(const struct cupti *c, int result, struct err *e)
{
    bool device = file_exists("/dev/nvidiactl") || file_exists("/dev/dxg");
    if (device || (result != CUPTI_E_UNKNOWN && result != CUPTI_E_NOT_INITIALIZED))
        return cupti_error(c, result, "to subscribe", e);
    return err_set(
        e, GPUFL_E_UNAVAILABLE,
        "CUPTI fails to subscribe (error %d): NVIDIA's libraries are here, but no device "
        "(/dev/nvidiactl is missing); load the kernel module (modprobe nvidia), or start "
        "the container with access to the GPUs (docker run --gpus all)",
        result);
}
