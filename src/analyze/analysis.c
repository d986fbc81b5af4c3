/* analysis.c - has the public functions of libgpufl-analysis.so. */
#include "analyze/insight/findings.h"
#include "analyze/report/kernels/view.h"
#include "analyze/report/report.h"
#include "analyze/report/stacks/stack_files.h"
#include "analyze/symbolize/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TOP = 10, WIDTH = 100 };

void gpufl_report_options_init(struct gpufl_report_options *o, size_t size)
{
    struct gpufl_report_options defaults = {
        .size = size, .format = GPUFL_REPORT_TEXT, .top = TOP, .width = WIDTH};
    memcpy(o, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

static int fail(const struct err *e, char *error, size_t error_size)
{
    if (error && error_size)
        snprintf(error, error_size, "%s", *e->text ? e->text : err_text(e->code));
    return e->code;
}

/* Says that no session has a kernel of that name. */
static void err_no_kernel(struct err *e, const char *path, const char *kernel)
{
    bool all = !kernel || strcmp(kernel, KERNEL_VIEW_ALL) == 0;
    err_set(e, GPUFL_E_NOENT,
            "%.120s: no kernel%s%.80s%s was sampled, counted or disassembled in it: gpufl trace "
            "-e PcSampling samples what instructions wait for, -e SassMetrics counts them, "
            "-e RangeProfiler --ranges kernels counts kernel by kernel",
            path, all ? "" : " with '", all ? "" : kernel, all ? "" : "' in its name");
}

/* Returns true if the damaged log makes something unknown; error says what. */
static bool is_damaged(const struct model *m, char *error, size_t error_size)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    bool damaged = findings_damaged(m, &text);
    if (damaged && error && error_size)
        snprintf(error, error_size, "%s", buf_cstr(&text));
    buf_fini(&text);
    return damaged;
}

static bool is_of_stacks(enum gpufl_report_format format)
{
    return format == GPUFL_REPORT_FLAME || format == GPUFL_REPORT_PPROF ||
           format == GPUFL_REPORT_SPEEDSCOPE;
}

static int write_format(const struct report *r, const struct gpufl_report_options *o, FILE *out)
{
    switch (o->format) {
    case GPUFL_REPORT_JSON:
        return report_json(r, out);
    case GPUFL_REPORT_FLAME:
        return report_flame(r, out);
    case GPUFL_REPORT_PPROF:
        return report_pprof(r, out);
    case GPUFL_REPORT_SPEEDSCOPE:
        return report_speedscope(r, out);
    default:
        return o->kernel && *o->kernel ? report_kernel(r, out) : report_text(r, out);
    }
}

int gpufl_report(const char *path, const struct gpufl_report_options *o, FILE *out, char *error,
                 size_t error_size)
{
    struct gpufl_report_options options;
    struct err e = {0};
    struct report r;
    gpufl_report_options_init(&options, sizeof options);
    if (!path || !out) {
        err_set(&e, GPUFL_E_INVAL, "no path or no output was given");
        return fail(&e, error, error_size);
    }
    if (o)
        memcpy(&options, o, o->size < sizeof options ? o->size : sizeof options);
    if (report_check_sections(&options, &e))
        return fail(&e, error, error_size);
    if (report_open(&r, path, &options, &e))
        return fail(&e, error, error_size);
    int rc = write_format(&r, &options, out);
    if (!rc && fflush(out))
        rc = GPUFL_E_IO;
    int error_number = errno;
    if (options.damaged)
        *options.damaged = is_damaged(&r.model, error, error_size);
    report_close(&r);
    if (rc == GPUFL_E_IO)
        err_set(&e, rc, "the report could not be written: %s", strerror(error_number));
    else if (rc == GPUFL_E_NOENT && !is_of_stacks(options.format))
        err_no_kernel(&e, path, options.kernel);
    else if (rc == GPUFL_E_NOENT)
        err_set(&e, rc,
                "%s: no call or kernel has a stack; `gpufl trace` captures stacks at waits, and "
                "with --stacks=launch also at launches",
                path);
    else if (rc)
        err_set(&e, rc, "%s", err_text(rc));
    return rc ? fail(&e, error, error_size) : 0;
}

/* Fills as many members as the caller's struct has. */
static void put_symbolized(struct gpufl_symbolized *out, const struct symbolize_stats *s,
                           size_t sessions)
{
    struct gpufl_symbolized all = {.size = out->size,
                                   .sessions = sessions,
                                   .frames = s->frames,
                                   .known = s->known,
                                   .lines = s->lines,
                                   .functions = s->functions,
                                   .unknown = s->unknown,
                                   .sources = s->sources,
                                   .written = !s->unwritten};
    memcpy(all.note, s->note, sizeof all.note);
    memcpy(out, &all, all.size < sizeof all ? all.size : sizeof all);
}

int gpufl_symbolize(const char *path, int flags, struct gpufl_symbolized *result, char *error,
                    size_t error_size)
{
    struct symbolize_stats all = {0}, one;
    struct discover d = {0};
    struct err e = {0};
    int rc = path ? discover_open(&d, path, &e) : err_set(&e, GPUFL_E_INVAL, "no path was given");
    if (rc)
        return fail(&e, error, error_size);
    for (size_t i = 0; i < d.count && !rc; i++) {
        rc = symbolize_session(&d.sessions[i], flags, &one);
        if (!rc)
            symbolize_stats_add(&all, &one);
    }
    size_t sessions = d.count;
    discover_close(&d);
    if (rc) {
        err_set(&e, rc, "%s: %s", path, err_text(rc));
        return fail(&e, error, error_size);
    }
    if (result)
        put_symbolized(result, &all, sessions);
    return 0;
}
