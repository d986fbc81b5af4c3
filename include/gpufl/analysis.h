/* analysis.h - reading sessions: public C11 API of libgpufl-analysis.so.
 *
 * Reads session logs of GPUFlight and of the public GPUFlight client alike.
 * Nothing here runs inside the traced program, except when it calls
 * gpufl_generate_report. Calls are independent of each other and may run on
 * several threads. */
#ifndef GPUFL_ANALYSIS_H
#define GPUFL_ANALYSIS_H

#include <gpufl/gpufl.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gpufl_report_format { GPUFL_REPORT_TEXT, GPUFL_REPORT_JSON };

struct gpufl_report_options {
    size_t size; /* sizeof of the caller's struct, set by gpufl_report_options_init */
    enum gpufl_report_format format;
    int top;       /* rows of the kernel and scope tables; default 10, 0: all */
    bool color;    /* ANSI colours in text */
    int width;     /* columns of text; default 100 */
    bool progress; /* say on stderr how far long reads are, where it is a terminal */
    bool brief;    /* text: the findings and the summary only */
};

GPUFL_API void gpufl_report_options_init(struct gpufl_report_options *o, size_t size);

/* Writes the report over path to out: a session directory, a part of one, or a
 * directory of sessions (a list, then the run merged). error: receives a
 * sentence on failure (may be NULL). 0 also where lines were damaged: the report
 * counts them. */
GPUFL_API int gpufl_report(const char *path, const struct gpufl_report_options *o, FILE *out,
                           char *error, size_t error_size);

/* Writes the sessions under path in the public GPUFlight client's format below
 * dir, which is created: dir/<session>/<channel>.<N>.log. */
GPUFL_API int gpufl_export_gpuflight(const char *path, const char *dir, char *error,
                                     size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
