/* analysis.c - the public functions of libgpufl-analysis.so. */
#include "analyze/report.h"

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
