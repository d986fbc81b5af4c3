/* stack_files.h - writes collapsed stacks (report_flame) in the file formats of other tools.
 *
 * Callers give lines of text, "outer;inner 1234", from a report or from the server. A frame "name
 * (file:12)" becomes a function with its file and line. The two trees, of the blocked host and of
 * the GPU, become two values or two profiles, because their times do not add up. GPUFL_E_CORRUPT: a
 * line is not a stack. [any] */
#ifndef GPUFL_ANALYZE_REPORT_STACKS_STACK_FILES_H
#define GPUFL_ANALYZE_REPORT_STACKS_STACK_FILES_H

#include "analyze/report/report.h"
#include "base/buf.h"

#include <stddef.h>

/* Writes a profile.proto, not compressed, which `go tool pprof`, pprof.me and Pyroscope read. */
int stack_file_pprof(const char *stacks, size_t len, struct buf *out);

/* Writes speedscope's JSON. */
int stack_file_speedscope(const char *stacks, size_t len, struct buf *out);

/* The functions write the report's stacks to such a file. GPUFL_E_NOENT: the report has none. */
int report_pprof(const struct report *r, FILE *out);
int report_speedscope(const struct report *r, FILE *out);

#endif
