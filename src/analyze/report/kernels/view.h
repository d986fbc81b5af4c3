/* view.h - all that is known of the instructions of a function, in their order: text,
 * line, samples by reason, metrics; for the text and the JSON report. Owner's thread. */
#ifndef GPUFL_ANALYZE_REPORT_KERNELS_VIEW_H
#define GPUFL_ANALYZE_REPORT_KERNELS_VIEW_H

#include "analyze/model/model.h"

struct kernel_instruction {
    int64_t offset;
    const struct code_line *line;     /* NULL: nothing is known */
    const struct sass_values *values; /* NULL: none */
    uint64_t samples;
    uint64_t top;        /* samples of the most frequent reason, progress not counted */
    uint32_t top_reason; /* 0: none */
};

/* Sums over the instructions of a line. */
struct kernel_line {
    uint32_t file, spare;
    int64_t line;
    /* not of the key: */
    uint64_t samples, top; /* top: of the reason that has most at all instructions of the line */
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

/* 0 or GPUFL_E_NOMEM. */
int kernel_view_open(const struct model *m, uint32_t function, struct kernel_view *v);
void kernel_view_close(struct kernel_view *v);

/* The sums of an instruction's line; NULL: its line is not known. */
const struct kernel_line *kernel_view_line(const struct kernel_view *v,
                                           const struct kernel_instruction *at);

/* The lines that were sampled or counted, those with most samples first, else those with most
 * instructions executed; *count of them. The caller frees the list, the view owns the lines.
 * NULL: out of memory. */
const struct kernel_line **kernel_view_lines(const struct kernel_view *v, size_t *count);

/* True where some instruction has its text. */
bool kernel_view_has_text(const struct kernel_view *v);

#define KERNEL_VIEW_ALL "*"

/* Indexes of the functions whose name, mangled or demangled, contains `name`; KERNEL_VIEW_ALL:
 * all of them. *count of them, those with most samples first; the caller frees. A function that
 * is only an alias is left out. NULL: out of memory. */
uint32_t *kernel_view_find(const struct model *m, const char *name, size_t *count);

#endif
