/* answer.h - the one answer of a report: what to change first, or that there is nothing to win.
 *
 * The answer is the first finding where fixing it alone would give back 1 % of the run or more.
 * Otherwise it says so: how busy the GPU was, and what has most of the time. A line is named only
 * for the time that this line owns. Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_ANSWER_H
#define GPUFL_ANALYZE_INSIGHT_ANSWER_H

#include "analyze/insight/insight.h"

struct answer {
    const struct insight *insight; /* NULL: no finding is worth 1 % of the run */
    /* The rule's id; else "nothing_to_win", the key of the idle cause that has most of the time,
     * "no_gpu_work", or "unknown": the session does not know what the GPU did. */
    const char *cause;
    const char *next;   /* one step; a literal */
    int64_t gives_back; /* ns of the run */
    int64_t half_width; /* ns of it at 95 %; CELL_NULL: unknown */
    uint32_t place;     /* in model.stacks: the line that owns the time; 0: none */
    uint32_t kernel;    /* name, mangled; 0: none */
};

/* Appends the statement, a few sentences. A bound by theory of less than INSIGHT_severity_medium is
 * no answer where the GPU was busy and no kernel was looked into: the statement names it. */
void answer_find(const struct model *m, const struct insights *in, struct answer *a,
                 struct buf *statement);

/* The half width of an answer or a finding in percent of the run: " ± 1.9", or nothing where the
 * time was measured or its error is unknown. */
const char *answer_error(const struct model *m, int64_t half_width, char *text, size_t size);

#endif
