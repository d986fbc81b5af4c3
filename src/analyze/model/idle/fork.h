/* fork.h - where the ways part below one line that holds nearly all idle time: trainer.fit(), or
 * generate().
 *
 * From the user's line inwards a stack is followed while one function has IDLE_FORK_FOLLOWS % of
 * the line's time; the functions called there that have IDLE_FORK_SHOWS % each are shown. Only
 * frames of Python and native ones with a line count. Owner's thread. */
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
    struct stacks_step at; /* the function in which the ways part; function 0: the line's own */
    int64_t ns;            /* of the line, by looks and calls */
    uint64_t looks;
};

/* The fork below a place, of idle time by these causes: 1 << enum idle_cause, or'ed. Rows in which
 * the place only ended the time do not count. count 0: none. 0 or GPUFL_E_NOMEM. */
int idle_fork_find(const struct model *m, uint32_t place, uint32_t causes, struct idle_fork *out);

#endif
