/* view.h - lists the instructions of a function in order, each with text, line, samples by reason
 * and metrics; for the text report and the JSON report. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_REPORT_KERNELS_VIEW_H
#define GPUFL_ANALYZE_REPORT_KERNELS_VIEW_H

#include "analyze/model/model.h"

struct kernel_instruction {
    int64_t offset;
    const struct code_line *line;     /* NULL: unknown */
    const struct sass_values *values; /* NULL: none */
    uint64_t samples;
    uint64_t top;        /* samples of the most frequent reason that is a stall */
    uint32_t top_reason; /* 0: none */
};

/* Holds sums over the instructions of a line. */
struct kernel_line {
    uint32_t file, spare;
    int64_t line;
    /* not of the key: */
    uint64_t samples, top; /* top: of the line's most frequent reason */
    uint32_t top_reason;
    struct sass_values values;
};

struct kernel_view {
    uint32_t function;
    struct keyed lines;               /* struct kernel_line */
    struct kernel_instruction *items; /* owned; by offset */
    size_t count;
    uint64_t samples;          /* samples of all instructions */
    struct sass_values values; /* summed */
};

/* Returns 0 or GPUFL_E_NOMEM. */
int kernel_view_open(const struct model *m, uint32_t function, struct kernel_view *v);
void kernel_view_close(struct kernel_view *v);

/* Returns the sums of an instruction's line; NULL: the line is unknown. */
const struct kernel_line *kernel_view_line(const struct kernel_view *v,
                                           const struct kernel_instruction *at);

/* Returns *count lines that have samples or metrics, the line with most samples first, or without
 * samples the one with most executed instructions. The caller frees the list, the view owns the
 * lines. NULL: out of memory. */
const struct kernel_line **kernel_view_lines(const struct kernel_view *v, size_t *count);

/* Returns true if some instruction has its text. */
bool kernel_view_has_text(const struct kernel_view *v);

#define KERNEL_VIEW_ALL "*"

/* Returns the indexes of *count functions whose name, mangled or demangled, contains `name`
 * (KERNEL_VIEW_ALL: all), the one with most samples first. A function that is only an alias is left
 * out. The caller frees the list; NULL: out of memory. */
uint32_t *kernel_view_find(const struct model *m, const char *name, size_t *count);

#endif
