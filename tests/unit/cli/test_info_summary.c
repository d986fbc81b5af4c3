/* test_info_summary.c - tests `gpufl info` on machines of every kind: one screen, the verdict
 * first, each advice once. */
#include "backend/engine_texts.h"
#include "cli/info/summary.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

enum { OUT_MOST = 1 << 16, WIDTH = 100, SCREEN = 20 };

static struct buf out;

static void fact(struct probe *p, bool works, const char *name, const char *value,
                 const char *advice)
{
    struct probe_fact *f = &p->facts[p->fact_count++];
    f->works = works;
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->value, sizeof f->value, "%s", value);
    snprintf(f->advice, sizeof f->advice, "%s", advice);
}

static void engines(struct probe *p, const char *lack)
{
    for (const struct engine_row *r = engine_table; r->name; r++) {
        char name[48];
        bool works = !*lack || !backend_nvidia.engines->words[r - engine_table].counters;
        snprintf(name, sizeof name, "engine %s", r->name);
        fact(p, works, name, works ? "works" : lack,
             works ? "" : "see hardware counters above; a session that asks for it runs Trace");
    }
}

static struct probe machine(int gpus, const char *lack)
{
    struct probe p = {.usable = gpus > 0};
    fact(&p, true, "driver", "580.95.05, CUDA 13.0, /usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
    fact(&p, true, "NVML", "13.580.95.05, /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
    fact(&p, true, "CUPTI", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "");
    for (int i = 0; i < gpus; i++) {
        char name[16];
        snprintf(name, sizeof name, "GPU %d", i);
        fact(&p, true, name, "NVIDIA H100 80GB HBM3, sm_90, 80 GiB, 00000000:1B:00.0", "");
    }
    fact(&p, !*lack, "hardware counters", *lack ? "for administrators only" : "for every user",
         *lack ? "Trace and Monitor work without them; for the other engines run as root, give "
                 "the container CAP_SYS_ADMIN, or let the administrator set "
                 "NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d for the module nvidia"
               : "");
    if (gpus)
        engines(&p, lack);
    return p;
}

static struct probe no_nvdisasm(void)
{
    struct probe p = {0};
    fact(&p, false, "nvdisasm", "cannot be run: samples and counts have lines, but no instructions",
         "nvdisasm was not found: install the CUDA toolkit (cuda-nvdisasm), or set GPUFL_NVDISASM "
         "to "
         "the path of nvdisasm");
    return p;
}

static const char *shown(const struct probe *gpu, const char *library)
{
    struct probe tools = no_nvdisasm();
    const struct info_found f = {.library = library,
                                 .library_advice = "libgpufl.so was not found: set GPUFL_LIBRARY",
                                 .backend = gpu->usable ? "nvidia" : "none",
                                 .gpu = gpu,
                                 .tools = &tools};
    buf_clear(&out);
    info_summary(&out, &f, false, WIDTH);
    return buf_cstr(&out);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

TEST(fits_a_screen)
{
    for (int gpus = 0; gpus <= 8; gpus++)
        for (int lacks = 0; lacks < 2; lacks++) {
            struct probe p =
                machine(gpus, lacks ? "needs the permission for hardware counters" : "");
            const char *text = shown(&p, "/usr/lib/libgpufl.so.0.1.0");
            if (count(text, "\n") > SCREEN)
                fail_msg("%u lines with %d GPUs:\n%s", count(text, "\n"), gpus, text);
            for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
                if (strcspn(line, "\n") > WIDTH)
                    fail_msg("%.120s", line);
        }
}

TEST(the_verdict_comes_first)
{
    struct probe all = machine(1, ""),
                 some = machine(1, "needs the permission for hardware counters"),
                 none = machine(0, "");
    assert_non_null(
        strstr(shown(&all, "lib"), "can capture here (backend nvidia), with every engine.\n"));
    assert_non_null(
        strstr(shown(&some, "lib"), "can capture here (backend nvidia), with 3 of 8 engines.\n"));
    assert_non_null(strstr(shown(&none, "lib"), "finds no GPU that it can use here"));
    assert_non_null(strstr(shown(&all, NULL), "cannot capture here: its library is missing"));
    assert_non_null(strstr(shown(&all, NULL), "libgpufl.so was not found: set GPUFL_LIBRARY"));
}

/* Engines that lack the same thing share a line. The advice about it is printed once, instead of
 * the advice of each engine. */
TEST(a_lack_is_said_once)
{
    struct probe p = machine(1, "needs the permission for hardware counters");
    const char *text = shown(&p, "lib");
    assert_non_null(strstr(text, "engines            Monitor, Trace, Sync\n"));
    assert_non_null(strstr(text, "unavailable        PcSampling, SassMetrics, RangeProfiler, Deep, "
                                 "PmSampling: needs"));
    assert_int_equal(count(text, "needs the permission"), 1);
    assert_int_equal(count(text, "NVreg_RestrictProfilingToAdminUsers"), 1);
    assert_int_equal(count(text, "see hardware counters above"), 0);
    assert_int_equal(count(text, "nvdisasm was not found"), 1);
    assert_int_equal(count(text, "nvdisasm: nvdisasm"), 0);
}

/* If nothing else is wrong, the engines' own advice is the only advice. */
TEST(an_older_gpu_has_its_advice)
{
    struct probe p = {.usable = true};
    fact(&p, true, "driver", "580", "");
    fact(&p, true, "engine Trace", "works", "");
    fact(&p, false, "engine PmSampling", "needs a newer GPU",
         "compute capability 7.5 or later; a session that asks for it runs Trace");
    const char *text = shown(&p, "lib");
    assert_non_null(strstr(text, "unavailable        PmSampling: needs a newer GPU\n"));
    assert_non_null(strstr(text, "PmSampling (needs a newer GPU): compute capability 7.5 or"));
}

/* A backend that only samples its GPUs has no facts about engines. */
TEST(a_backend_without_engines_samples)
{
    struct probe p = {.usable = true};
    fact(&p, true, "GPU 0", "Toy 1", "");
    shown(&p, "/usr/lib/libgpufl.so");
    assert_non_null(strstr(buf_cstr(&out), "can sample the GPUs here (backend nvidia), which has "
                                           "no engines.\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_a_screen),
        cmocka_unit_test(the_verdict_comes_first),
        cmocka_unit_test(a_lack_is_said_once),
        cmocka_unit_test(a_backend_without_engines_samples),
        cmocka_unit_test(an_older_gpu_has_its_advice),
    };
    buf_init(&out, OUT_MOST);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&out);
    return failed;
}
