/* stack_files.h - collapsed stacks (report_flame) in the files of other tools.
 *
 * Callers give lines of text, "outer;inner 1234": a report's, or those that the server has kept.
 * A frame "name (file:12)" becomes a function with its file and line. Stacks of the two trees, of
 * the host that was blocked and of the GPU, are two values or two profiles: they do not add up.
 * CORRUPT: a line is no stack. [any] */
#ifndef GPUFL_ANALYZE_REPORT_STACKS_STACK_FILES_H
#define GPUFL_ANALYZE_REPORT_STACKS_STACK_FILES_H

#include "analyze/report/report.h"
#include "base/buf.h"

#include <stddef.h>

/* A profile.proto, not compressed: `go tool pprof`, pprof.me and Pyroscope read it. */
int stack_file_pprof(const char *stacks, size_t len, struct buf *out);

/* speedscope's own JSON. */
int stack_file_speedscope(const char *stacks, size_t len, struct buf *out);

/* The report's stacks in such a file. NOENT: it has none. */
int report_pprof(const struct report *r, FILE *out);
int report_speedscope(const struct report *r, FILE *out);

#endif
