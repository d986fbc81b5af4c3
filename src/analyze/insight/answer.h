/* answer.h - makes the one answer of a report: what to change first, or that there is nothing to
 * win.
 *
 * The answer is the first finding that would give back 1 % of the run or more if it alone were
 * fixed. Without such a finding, the answer says so, how busy the GPU was, and what has most of the
 * time. A line is named only for the time that this line owns. Called by the owner's thread
 * only. */
#ifndef GPUFL_ANALYZE_INSIGHT_ANSWER_H
#define GPUFL_ANALYZE_INSIGHT_ANSWER_H

#include "analyze/insight/insight.h"

struct answer {
    const struct insight *insight; /* NULL: no finding is worth 1 % of the run */
    /* The rule's id; without a finding "nothing_to_win", the key of the idle cause that has most of
     * the time, "no_gpu_work", or "unknown": the log does not say what the GPU did. */
    const char *cause;
    const char *next;   /* one step; a literal */
    int64_t gives_back; /* ns of the run */
    int64_t half_width; /* ns of gives_back at 95 %; CELL_NULL: unknown */
    uint32_t place;     /* in model.stacks: the line that owns the time; 0: none */
    uint32_t kernel;    /* name, mangled; 0: none */
};

/* Fills a, and appends the statement, a few sentences. An estimated bound of less than
 * INSIGHT_severity_medium is not an answer where the GPU was busy and no kernel was sampled: the
 * statement then mentions it. */
void answer_find(const struct model *m, const struct insights *in, struct answer *a,
                 struct buf *statement);

/* Writes the half width of an answer or a finding in percent of the run: " ± 1.9", or nothing if
 * the time was measured or its error is unknown. */
const char *answer_error(const struct model *m, int64_t half_width, char *text, size_t size);

#endif
