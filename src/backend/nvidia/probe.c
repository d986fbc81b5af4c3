/* probe.c - facts about NVIDIA's driver and libraries here, each with what to do
 * where it does not work.
 *
 * Only NVML is loaded. Neither the driver nor CUPTI is: whether they would be
 * found is told from files, so that asking changes nothing in this process. */
#include "backend/nvidia/probe.h"

#include "backend/nvidia/cuda.h"
#include "backend/nvidia/cupti.h"
#include "backend/nvidia/devices.h"
#include "backend/nvidia/nvml.h"
#include "base/alloc.h"
#include "base/dl.h"
#include "base/file.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES_SHOWN = 8, CAP_SYS_ADMIN_BIT = 21, PROC_MAX = 64 << 10 };

/* Engines of the ladder, in its order. */
static const struct {
    const char *name;
    bool built;
    bool needs_cupti;
} engines[] = {
    {"engine Monitor", true, false},       {"engine Trace", true, true},
    {"engine PcSampling", false, true},    {"engine SassMetrics", false, true},
    {"engine RangeProfiler", false, true}, {"engine Deep", false, true},
    {"engine PmSampling", false, true},    {"engine Sync", true, true},
};

static struct probe_fact *fact_add(struct probe *p, const char *name, bool works)
{
    if (p->fact_count == PROBE_FACTS_MAX)
        return &p->facts[PROBE_FACTS_MAX - 1];
    struct probe_fact *f = &p->facts[p->fact_count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->works = works;
    return f;
}

__attribute__((format(printf, 2, 3))) static void value(struct probe_fact *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->value, sizeof f->value, fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void advice(struct probe_fact *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->advice, sizeof f->advice, fmt, args);
    va_end(args);
}

/* ---- driver ---------------------------------------------------------------------------- */

/* libcuda lies beside NVML; a container without the compute capability has only the latter. */
static bool driver_library(const struct nvml *n, char *path, size_t size)
{
    char dir[PATH_MAX];
    if (dl_find_loaded("libcuda.so", path, size))
        return true;
    snprintf(dir, sizeof dir, "%s", n->path);
    char *slash = strrchr(dir, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return path_join(path, size, dir, "libcuda.so.1") == 0 && file_exists(path);
}

static int probe_driver(struct probe *p, const struct nvml *n)
{
    char version[80] = "?", library[PATH_MAX];
    int cuda = 0;
    if (n->nvmlSystemGetDriverVersion)
        n->nvmlSystemGetDriverVersion(version, sizeof version);
    if (n->nvmlSystemGetCudaDriverVersion_v2)
        n->nvmlSystemGetCudaDriverVersion_v2(&cuda);
    bool found = driver_library(n, library, sizeof library);
    struct probe_fact *f = fact_add(p, "driver", found);
    if (found) {
        value(f, "%.40s, CUDA %d.%d, %.100s", version, cuda / 1000, cuda % 1000 / 10, library);
    } else {
        value(f, "%s, without libcuda.so.1", version);
        advice(f, "the driver's CUDA library is missing: install it (libcuda1), or start the "
                  "container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    }
    return cuda;
}

static void probe_nvml(struct probe *p, const struct nvml *n)
{
    char version[80] = "?";
    if (n->nvmlSystemGetNVMLVersion)
        n->nvmlSystemGetNVMLVersion(version, sizeof version);
    value(fact_add(p, "NVML", true), "%.60s, %.120s", version, n->path);
}

/* ---- CUPTI ----------------------------------------------------------------------------- */

static int major_of(const char *path)
{
    const char *so = strstr(path_base(path), ".so.");
    return so ? atoi(so + 4) : 0;
}

static bool probe_cupti(struct probe *p, int cuda)
{
    static const char *const none = "not found";
    char loaded[256], real[PATH_MAX];
    struct cupti_search search;
    const char *path = NULL;
    cupti_search(&search, cuda);
    if (dl_find_loaded("libcupti.so", loaded, sizeof loaded))
        path = loaded;
    else if (search.files)
        path = search.list[0];
    struct probe_fact *f = fact_add(p, "CUPTI", path != NULL);
    if (!path) {
        value(f, "%s", none);
        advice(f,
               "needed for Trace: install the package cuda-cupti-%d-%d or pip install "
               "nvidia-cuda-cupti, or set GPUFL_CUPTI_PATH to libcupti.so.%d; a program that "
               "brings its own copy (PyTorch) needs nothing",
               cuda / 1000, cuda % 1000 / 10, cuda / 1000);
        return false;
    }
    int major = major_of(path);
    value(f, "%.180s", path);
    if (realpath(path, real) && strcmp(path_base(real), path_base(path)) != 0)
        value(f, "%.120s (%.60s)", path, path_base(real));
    if (major && cuda && major < cuda / 1000)
        advice(f,
               "made for CUDA %d, the driver supports CUDA %d: works, one of the driver's "
               "version knows its newer features",
               major, cuda / 1000);
    return true;
}

/* ---- permission ------------------------------------------------------------------------ */

static bool administrator(void)
{
    char *text = NULL;
    size_t len;
    unsigned long long effective = 0;
    if (file_read_all("/proc/self/status", PROC_MAX, &text, &len, NULL) == 0) {
        const char *line = strstr(text, "CapEff:");
        if (line)
            effective = strtoull(line + 7, NULL, 16);
    }
    mem_free(text);
    return effective >> CAP_SYS_ADMIN_BIT & 1;
}

/* Trace works without it; sampling and hardware counters need it. */
static void probe_permission(struct probe *p)
{
    char *text = NULL;
    size_t len;
    if (file_read_all("/proc/driver/nvidia/params", PROC_MAX, &text, &len, NULL) != 0)
        return;
    const char *line = strstr(text, "RmProfilingAdminOnly:");
    bool restricted = line && atoi(line + strlen("RmProfilingAdminOnly:")) == 1;
    mem_free(text);
    bool allowed = !restricted || administrator();
    struct probe_fact *f = fact_add(p, "hardware counters", allowed);
    value(f, "%s",
          !restricted ? "for every user"
          : allowed   ? "for administrators, as you are"
                      : "for administrators only");
    if (!allowed)
        advice(f, "Trace and Monitor work without them; for the other engines run as root, give "
                  "the container CAP_SYS_ADMIN, or let the administrator set "
                  "NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d for the module nvidia");
}

/* ---- devices and engines --------------------------------------------------------------- */

static int probe_devices(struct probe *p)
{
    struct devices *d;
    struct err e = {0};
    int shown = 0, count = 0;
    if (nvidia_devices.open(&d, &e) == 0) {
        count = nvidia_devices.count(d);
        for (; shown < count && shown < DEVICES_SHOWN; shown++) {
            struct device_row row;
            struct device_text text;
            char name[48];
            nvidia_devices.describe(d, shown, &row, &text);
            snprintf(name, sizeof name, "GPU %d", shown);
            int64_t gib = row.memory_total == CELL_NULL ? 0 : (row.memory_total + (1 << 29)) >> 30;
            value(fact_add(p, name, true), "%.60s, %.16s, %d GiB, %.32s", text.name, text.arch,
                  (int)gib, text.pci);
        }
        nvidia_devices.close(d);
    } else {
        struct probe_fact *f = fact_add(p, "GPU", false);
        value(f, "none");
        advice(f, "%.300s", e.text);
    }
    if (count > shown)
        value(fact_add(p, "GPUs", true), "%d in all", count);
    return count;
}

static void probe_engines(struct probe *p, bool cupti)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        bool works = engines[i].built && (cupti || !engines[i].needs_cupti);
        struct probe_fact *f = fact_add(p, engines[i].name, works);
        value(f, "%s", works ? "works" : !engines[i].built ? "not built yet" : "needs CUPTI");
        if (!engines[i].built)
            advice(f, "planned for a later release; until then a session that asks for it runs "
                      "Trace");
        else if (!works)
            advice(f, "see CUPTI above; a program that brings its own copy can be traced");
    }
}

void nvidia_probe(struct probe *out)
{
    const struct nvml *nvml;
    struct err e = {0};
    memset(out, 0, sizeof *out);
    if (nvml_get(&nvml, &e) != 0) {
        struct probe_fact *f = fact_add(out, "driver", false);
        value(f, "not usable");
        advice(f, "%.300s", e.text);
        return;
    }
    int cuda = probe_driver(out, nvml);
    probe_nvml(out, nvml);
    bool cupti = probe_cupti(out, cuda);
    out->usable = probe_devices(out) > 0;
    probe_permission(out);
    if (out->usable)
        probe_engines(out, cupti);
    nvml_put();
}

bool nvidia_usable(void)
{
    static const char *const signs[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (file_exists(signs[i]))
            return true;
    if (cuda_loaded())
        return true;
    const struct nvml *nvml;
    unsigned count = 0;
    if (nvml_get(&nvml, NULL) != 0)
        return false;
    bool any = nvml->nvmlDeviceGetCount_v2(&count) == NVML_OK && count > 0;
    nvml_put();
    return any;
}
