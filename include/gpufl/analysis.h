/* analysis.h - reading sessions: public C11 API of libgpufl-analysis.so.
 *
 * Reads session logs of GPUFlight and of the public GPUFlight client alike.
 * Nothing here runs inside the traced program, except when it calls
 * gpufl_generate_report. Calls are independent of each other and may run on
 * several threads. Strings are the caller's and read during the call. Functions
 * that return int return 0 or a negative enum gpufl_error:
 * NOENT no session there, CORRUPT nothing in it can be read, IO, PERM and FULL of
 * the files read or written, INVAL, NOMEM. */
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
    int top;       /* most rows of the kernel and scope tables; default 10, 0: all */
    bool color;    /* ANSI colours in text */
    int width;     /* columns of text; default 100 */
    bool progress; /* say on stderr how far long reads are, where it is a terminal */
    bool brief;    /* text: the findings and the summary only */
};

/* Fills *o with the defaults. size: sizeof *o as the caller compiled it. */
GPUFL_API void gpufl_report_options_init(struct gpufl_report_options *o, size_t size);

/* Writes the report over path to out: a session directory, a part of one, or a
 * directory of sessions (a list, then the run merged). o: NULL for defaults. out is
 * flushed, not closed. error: receives a sentence on failure, NUL-terminated and
 * cut at error_size bytes (may be NULL). 0 also where lines were damaged: the
 * report counts them. */
GPUFL_API int gpufl_report(const char *path, const struct gpufl_report_options *o, FILE *out,
                           char *error, size_t error_size);

/* Writes the sessions under path in the public GPUFlight client's format below
 * dir, which is created: dir/<session>/<channel>.1.log.gz. error: as above.
 * GPUFL_E_STATE where a session is there already: nothing is overwritten. */
GPUFL_API int gpufl_export_gpuflight(const char *path, const char *dir, char *error,
                                     size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
