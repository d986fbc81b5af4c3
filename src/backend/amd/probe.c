/* probe.c - finds facts about AMD's driver and libraries on this machine, with advice if something
 * does not work.
 *
 * Only a management library is loaded, and only if files show that the kernel driver is there, or
 * if the user or the program has chosen a library. */
#include "backend/amd/probe.h"

#include "backend/amd/devices.h"
#include "backend/amd/find.h"
#include "backend/amd/library/driver.h"
#include "backend/amd/library/library.h"
#include "backend/amd/trace.h"
#include "base/process/dl.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_SHOWN = 8 };

__attribute__((format(printf, 4, 5))) static struct probe_fact *
fact_add(struct probe *p, const char *name, bool works, const char *fmt, ...)
{
    va_list args;
    int at = p->fact_count < PROBE_FACTS_MAX ? p->fact_count++ : PROBE_FACTS_MAX - 1;
    struct probe_fact *f = &p->facts[at];
    *f = (struct probe_fact){.works = works};
    snprintf(f->name, sizeof f->name, "%s", name);
    va_start(args, fmt);
    vsnprintf(f->value, sizeof f->value, fmt, args);
    va_end(args);
    return f;
}

static void advise(struct probe_fact *f, const char *text)
{
    snprintf(f->advice, sizeof f->advice, "%.*s", (int)sizeof f->advice - 1, text);
}

static void probe_gpu(struct probe *p, struct devices *d, int index)
{
    struct device_row row;
    struct device_text text;
    char name[48], parts[64], gib[24] = "";
    amd_devices.describe(d, index, &row, &text);
    if (row.memory_total != CELL_NULL)
        snprintf(gib, sizeof gib, "%d GiB", (int)((row.memory_total + (1 << 29)) >> 30));
    const char *const known[] = {text.arch, gib, text.pci};
    snprintf(name, sizeof name, "GPU %d", index);
    struct probe_fact *f = fact_add(p, name, true, "%.60s", *text.name ? text.name : "(no name)");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(f->value);
        if (*known[i])
            snprintf(f->value + n, sizeof f->value - n, ", %.32s", known[i]);
    }
    amd_devices_parts(d, index, parts, sizeof parts);
    if (*parts && index == 0)
        fact_add(p, "parts of GPUs", true,
                 "GPU 0 is in mode %.40s: each part is a GPU here; power, clocks and temperatures "
                 "are those of the whole GPU",
                 parts);
}

/* Returns how many GPUs there are. */
static int probe_devices(struct probe *p)
{
    struct devices *d;
    struct err e = {0};
    const char *path;
    if (amd_devices.open(&d, &e) != 0) {
        advise(fact_add(p, "GPU", false, "none"), e.text);
        return 0;
    }
    const char *library = amd_devices_library(d, &path);
    fact_add(p, library, true, "%.180s", path);
    int count = amd_devices.count(d);
    for (int i = 0; i < count && i < DEVICES_SHOWN; i++)
        probe_gpu(p, d, i);
    if (count > DEVICES_SHOWN)
        fact_add(p, "GPUs", true, "%d in all", count);
    amd_devices.close(d);
    return count;
}

static bool probe_permission(struct probe *p)
{
    struct err e = {0};
    bool may = amd_driver_may_compute(&e) == 0;
    if (may)
        fact_add(p, "/dev/kfd", true, "may be opened");
    else
        advise(fact_add(p, "/dev/kfd", false, "%s",
                        e.code == GPUFL_E_PERM ? "may not be opened" : "missing"),
               e.text);
    return may;
}

/* Looks for the library that traces. */
static bool probe_sdk(struct probe *p)
{
    char path[PATH_MAX];
    bool found = dl_find_loaded("librocprofiler-sdk.so", path, sizeof path) ||
                 amd_find_sdk(path, sizeof path);
    struct probe_fact *f =
        fact_add(p, "rocprofiler-sdk", found, "%.180s", found ? path : "not found");
    if (!found)
        advise(f, AMD_NO_SDK);
    return found;
}

/* Whether a GPU can be sampled is known only inside a program, to a tool of rocprofiler-sdk. lack:
 * the fact above that keeps all engines that record programs from running; NULL: none. */
static void probe_engine(struct probe *p, const struct engine_row *r, const char *lack)
{
    char name[48];
    bool works = !(r->asks & ~amd_trace.engines);
    bool samples = r->asks & ENGINE_PC_SAMPLING;
    bool counts = r->asks & (ENGINE_SASS_METRICS | ENGINE_RANGE_PROFILER);
    const char *value =
        !works    ? "not built for AMD's GPUs"
        : samples ? "samples GPUs that offer it (MI200 and newer, with ROCm 6.4 or later; AMD "
                    "calls it a beta), else counts kernels one by one; " AMD_UNVERIFIED
        : counts  ? "counts kernels one by one, and no scopes; " AMD_UNVERIFIED
                  : "works; " AMD_UNVERIFIED;
    snprintf(name, sizeof name, "engine %s", r->name);
    bool lacks = works && r->asks && lack;
    struct probe_fact *f =
        fact_add(p, name, works && !lacks, "%s%s", lacks ? "needs " : "", lacks ? lack : value);
    if (lacks)
        snprintf(f->advice, sizeof f->advice, "see %s above", lack);
    if (!works && samples)
        snprintf(f->advice, sizeof f->advice,
                 "a session that asks for it does what PcSampling does here");
    else if (!works && counts)
        snprintf(f->advice, sizeof f->advice,
                 "a session that asks for it counts kernels one by one: RangeProfiler with "
                 "range_mode=kernels");
    else if (!works)
        snprintf(f->advice, sizeof f->advice, "a session that asks for it runs %s",
                 engine_table[r->next].name);
}

/* Returns true if the user or the program has chosen a library. */
static bool has_library(void)
{
    return amd_library_chosen() || dl_find_loaded("libamd_smi.so", NULL, 0) ||
           dl_find_loaded("librocm_smi64.so", NULL, 0);
}

void amd_probe(struct probe *out)
{
    char version[64];
    memset(out, 0, sizeof *out);
    if (!amd_driver_loaded() && !has_library()) {
        advise(fact_add(out, "AMD driver", false, "not loaded"),
               "without a GPU of AMD's there is nothing to do; with one, load the kernel driver "
               "(modprobe amdgpu), or start the container with --device /dev/kfd --device "
               "/dev/dri");
        return;
    }
    amd_driver_version(version, sizeof version);
    if (amd_driver_loaded())
        fact_add(out, "AMD driver", true, "amdgpu, %s", version);
    else /* a library was chosen; its error gives the advice */
        fact_add(out, "AMD driver", false, "not loaded");
    fact_add(out, "backend Amd", true,
             AMD_UNVERIFIED ": made from AMD's headers and tested over simulated libraries only");
    out->usable = probe_devices(out) > 0;
    if (!out->usable)
        return;
    bool may = probe_permission(out), sdk = probe_sdk(out);
    const char *lack = !may ? "/dev/kfd" : !sdk ? "rocprofiler-sdk" : NULL;
    for (const struct engine_row *r = engine_table; r->name; r++)
        probe_engine(out, r, lack);
}

/* Files of the kernel show whether there is a GPU, so that no library of AMD is loaded into a
 * program that uses another vendor's GPU. Only a library that was chosen, or is loaded already, is
 * asked, too. */
bool amd_usable(void)
{
    struct devices *d;
    if (amd_driver_has_gpu())
        return true;
    if (!has_library() || amd_devices.open(&d, NULL) != 0)
        return false;
    amd_devices.close(d);
    return true;
}

bool amd_loaded(void)
{
    return dl_find_loaded("libamdhip64.so", NULL, 0) ||
           dl_find_loaded("libhsa-runtime64.so", NULL, 0);
}
