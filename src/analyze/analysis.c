/* analysis.c - the public functions of libgpufl-analysis.so. */
#include "analyze/report.h"
#include "analyze/symbolize.h"

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
    if (report_open(&r, path, &options, &e))
        return fail(&e, error, error_size);
    int code = options.format == GPUFL_REPORT_JSON ? report_json(&r, out) : report_text(&r, out);
    if (!code && fflush(out))
        code = GPUFL_E_IO;
    int error_number = errno;
    report_close(&r);
    if (code == GPUFL_E_IO)
        err_set(&e, code, "the report could not be written: %s", strerror(error_number));
    else if (code)
        err_set(&e, code, "%s", err_text(code));
    return code ? fail(&e, error, error_size) : 0;
}

static void add_symbolized(struct gpufl_symbolized *all, const struct symbolize_stats *one)
{
    bool found = one->lines || one->functions || one->unknown || one->sources;
    all->sessions++;
    all->frames += one->frames;
    all->known += one->known;
    all->lines += one->lines;
    all->functions += one->functions;
    all->unknown += one->unknown;
    all->sources += one->sources;
    all->written &= one->written || !found;
    if (!*all->note)
        memcpy(all->note, one->note, sizeof all->note);
}

int gpufl_symbolize(const char *path, int flags, struct gpufl_symbolized *result, char *error,
                    size_t error_size)
{
    struct gpufl_symbolized all = {.size = sizeof all, .written = true};
    struct symbolize_stats one;
    struct discover d;
    struct err e = {0};
    int code = path ? discover_open(&d, path, &e) : err_set(&e, GPUFL_E_INVAL, "no path was given");
    if (code)
        return fail(&e, error, error_size);
    for (size_t i = 0; i < d.count && !code; i++) {
        code = symbolize_session(&d.sessions[i], flags & GPUFL_SYMBOLIZE_ENDED, &one);
        if (!code)
            add_symbolized(&all, &one);
    }
    discover_close(&d);
    if (code) {
        err_set(&e, code, "%s: %s", path, err_text(code));
        return fail(&e, error, error_size);
    }
    if (result) {
        size_t size = result->size < sizeof all ? result->size : sizeof all;
        memcpy(result, &all, size);
        result->size = size;
    }
    return 0;
}
