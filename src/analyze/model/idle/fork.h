/* fork.h - finds where the call tree branches below a line that has nearly all idle time or waits,
 * such as trainer.fit() or generate().
 *
 * The stacks are followed from the user's line to inner frames while one function has at least
 * IDLE_FORK_FOLLOWS % of the line's time. Where none has, the called functions with at least
 * IDLE_FORK_SHOWS % are shown. Only Python frames and native frames with a line count. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_FORK_H
#define GPUFL_ANALYZE_MODEL_IDLE_FORK_H

#include "analyze/model/stacks.h"

enum {
    IDLE_FORK_ALONE = 80,   /* % of the idle time at one line, from which its fork is shown */
    IDLE_FORK_FOLLOWS = 75, /* % of the line's time */
    IDLE_FORK_SHOWS = 10,   /* % of the line's time */
    IDLE_FORK_MOST = 10     /* = 100 / IDLE_FORK_SHOWS */
};

struct idle_fork {
    struct idle_branch {
        struct stacks_step step; /* its line: the one with most of the branch's time */
        int64_t ns;
        uint64_t looks;
    } branches[IDLE_FORK_MOST]; /* those with most time first */
    size_t count;
    struct stacks_step at; /* the function that branches; function 0: the line's own */
    int64_t ns;            /* of the line, from looks and calls */
    uint64_t looks;
};

/* Finds the fork below a place, for idle time of these causes (bits 1 << enum idle_cause). Rows
 * whose launch only ended the time do not count. count 0: there is no fork. 0 or GPUFL_E_NOMEM. */
int idle_fork_find(const struct model *m, uint32_t place, uint32_t causes, struct idle_fork *out);

/* Finds the fork below a line that waits, by the time in its calls; below a line of Python only
 * frames of Python count. line: index in m->wait_lines.lines. Returns as above. */
int wait_fork_find(const struct model *m, uint32_t line, struct idle_fork *out);

#endif
