/* probe.c - finds facts about NVIDIA's driver and libraries on this machine, with advice if
 * something does not work.
 *
 * Only NVML is loaded, and neither the driver nor CUPTI: files show whether they would be found, so
 * that nothing else changes in this process. */
#include "backend/nvidia/probe.h"

#include "backend/engine_texts.h"
#include "backend/nvidia/devices.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/library/cupti.h"
#include "backend/nvidia/library/nvml.h"
#include "backend/nvidia/trace.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/dl.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES_SHOWN = 8, CAP_SYS_ADMIN_BIT = 21, PROC_MAX = 64 << 10 };

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

/* libcuda is in the folder of NVML; a container without the capability "compute" has only NVML. */
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

/* Finds the path of the library that would be used; false: there is none. */
static bool find_cupti(int cuda, char *path, size_t size)
{
    struct cupti_search *search;
    if (dl_find_loaded("libcupti.so", path, size))
        return true;
    search = cupti_search(cuda);
    bool found = search && search->files;
    if (found)
        snprintf(path, size, "%s", search->list[0]);
    mem_free(search);
    return found;
}

static bool probe_cupti(struct probe *p, int cuda)
{
    static const char *const none = "not found";
    char path[256], real[PATH_MAX];
    bool found = find_cupti(cuda, path, sizeof path);
    struct probe_fact *f = fact_add(p, "CUPTI", found);
    if (!found) {
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
    if (major && major < 13)
        value(fact_add(p, "CUPTI's version", true), "CUDA %d: %s", major, CUPTI_UNVERIFIED);
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

/* Holds what engines need and this machine has, as far as it can be known outside of a program. */
struct here {
    bool cupti;
    bool counters;    /* hardware counters may be read, as far as is known */
    unsigned compute; /* the newest GPU's capability, 10 x major + minor; 0: unknown */
};

/* Looks for the permission for counters: Trace works without it, sampling and hardware counters
 * need it. */
static bool probe_permission(struct probe *p)
{
    char *text = NULL;
    size_t len;
    if (file_read_all("/proc/driver/nvidia/params", PROC_MAX, &text, &len, NULL) != 0)
        return true;
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
    return allowed;
}

/* ---- devices and engines --------------------------------------------------------------- */

/* Returns the number of GPUs. *compute: the compute capability of the newest; 0: unknown. */
static int probe_devices(struct probe *p, unsigned *compute)
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
            if (row.compute_major > 0 && row.compute_minor >= 0 &&
                row.compute_major * 10 + row.compute_minor > *compute)
                *compute = (unsigned)(row.compute_major * 10 + row.compute_minor);
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

static const struct engine_words *words_of(const struct engine_row *r)
{
    return &nvidia_engine_texts.words[r - engine_table];
}

/* Returns why an engine cannot run here; NULL: no reason that can be known outside of a program. */
static const char *engine_lacks(const struct engine_row *r, const struct here *h)
{
    const struct engine_words *w = words_of(r);
    if (r->asks && !h->cupti)
        return "needs CUPTI";
    if (w->counters && !h->counters)
        return "needs the permission for hardware counters";
    if (w->compute && h->compute && h->compute < w->compute)
        return "needs a newer GPU";
    return NULL;
}

static void probe_engine(struct probe *p, const struct engine_row *r, const struct here *h)
{
    char name[48];
    const char *lacks = engine_lacks(r, h), *instead = engine_table[r->next].name;
    snprintf(name, sizeof name, "engine %s", r->name);
    struct probe_fact *f = fact_add(p, name, !lacks);
    value(f, "%s%s", lacks ? lacks : "works",
          !lacks && *words_of(r)->late
              ? "; records everything if the session begins before the program uses the GPU"
              : "");
    if (!lacks)
        return;
    if (!h->cupti)
        advice(f, "see CUPTI above; a program that brings its own copy can be traced");
    else if (!h->counters)
        advice(f, "see hardware counters above; a session that asks for it runs %s", instead);
    else
        advice(f, "compute capability %u.%u or later; a session that asks for it runs %s",
               words_of(r)->compute / 10, words_of(r)->compute % 10, instead);
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
    struct here h = {.cupti = probe_cupti(out, cuda)};
    out->usable = probe_devices(out, &h.compute) > 0;
    h.counters = probe_permission(out);
    for (const struct engine_row *r = engine_table; out->usable && r->name; r++)
        probe_engine(out, r, &h);
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
