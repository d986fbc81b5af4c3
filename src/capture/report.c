/* report.c - see report.h. The analysis library is opened only here, at run time:
 * first the one next to this library, then by the loader's search. It stays open. */
#include "capture/report.h"

#include "base/file/file.h"
#include "base/log.h"
#include "base/process/dl.h"
#include "base/process/thread.h"

#include <gpufl/analysis.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct analysis {
    void (*options_init)(struct gpufl_report_options *o, size_t size);
    int (*report)(const char *path, const struct gpufl_report_options *o, FILE *out, char *error,
                  size_t error_size);
};

static const struct dl_symbol symbols[] = {
    {"gpufl_report_options_init", offsetof(struct analysis, options_init), true},
    {"gpufl_report", offsetof(struct analysis, report), true},
};

/* Writes the path of libgpufl-analysis.so in this library's directory. */
static void put_own_path(char *out, size_t size)
{
    Dl_info info;
    out[0] = '\0';
    if (!dladdr((void *)(uintptr_t)report_write, &info) || !info.dli_fname)
        return;
    const char *base = path_base(info.dli_fname);
    snprintf(out, size, "%.*slibgpufl-analysis.so", (int)(base - info.dli_fname), info.dli_fname);
}

static int open_analysis(struct analysis *a)
{
    char own[PATH_MAX];
    struct err e = {0};
    put_own_path(own, sizeof own);
    const char *const candidates[] = {own, "libgpufl-analysis.so.0", "libgpufl-analysis.so", NULL};
    void *handle =
        dl_open_first(*own && strchr(own, '/') ? candidates : candidates + 1, NULL, 0, &e);
    int rc = handle ? dl_fill(handle, symbols, sizeof symbols / sizeof symbols[0], a, &e)
                    : GPUFL_E_UNAVAILABLE;
    if (rc)
        log_error("no report: %s; `gpufl report DIR` gives it later", e.text);
    return rc;
}

static int write_here(const char *dir, const char *output_path)
{
    struct analysis a;
    struct gpufl_report_options o;
    char error[384] = "";
    bool file = output_path && *output_path;
    int rc = open_analysis(&a);
    if (rc)
        return rc;
    FILE *out = file ? fopen(output_path, "we") : stdout;
    if (!out) {
        log_error("no report: cannot write %s: %s", output_path, strerror(errno));
        return err_from_errno(errno);
    }
    a.options_init(&o, sizeof o);
    o.full = file; /* a terminal gets the first screen */
    rc = a.report(dir, &o, out, error, sizeof error);
    if (rc)
        log_error("no report: %s", error);
    if ((file ? fclose(out) : fflush(out)) && !rc)
        rc = GPUFL_E_IO;
    return rc;
}

struct writing {
    const char *dir, *output_path;
    int rc;
};

static void *writing_main(void *arg)
{
    struct writing *w = arg;
    w->rc = write_here(w->dir, w->output_path);
    return NULL;
}

/* The program's own thread may have less stack than a report needs. */
int report_write(const char *dir, const char *output_path)
{
    struct writing w = {dir, output_path, 0};
    struct thread thread;
    if (thread_start(&thread, "gpufl-report", 0, writing_main, &w))
        return write_here(dir, output_path);
    thread_join(&thread);
    return w.rc;
}
