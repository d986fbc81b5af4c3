/* passes.h - merges the passes of one `gpufl trace --passes`.
 *
 * The command ran once per engine, and its sessions carry one run id and the number of their
 * pass. They are not added up: times, launches, waits and idle time are those of the pass of
 * Trace, and every other pass gives only what its engine was run for. The kernel's name links
 * them and, for the number of launches, the launch shape; nothing is matched launch by launch,
 * since no engine gives values of a single launch. Passes that were not alike are merged all the
 * same, and reported as different, with the figures. Owner's thread. */
#ifndef GPUFL_ANALYZE_REPORT_PASSES_H
#define GPUFL_ANALYZE_REPORT_PASSES_H

#include "analyze/model/model.h"
#include "base/err.h"

enum { PASSES_MAX = 16, PASSES_KERNELS = 20 /* different kernels that are kept */ };

enum { PASS_TIMES = 1 << 8 }; /* of pass.gives, besides the bits of model_gives */

struct pass {
    int64_t number;      /* from 1 */
    uint32_t asked, ran; /* names of engines: requested, in effect; 0: the sessions differ */
    unsigned sessions;   /* sessions of the pass */
    unsigned gives;      /* what the report takes from it */
    char *nothing;       /* owned: why its engine gave nothing; NULL: it did */
    int64_t launched;    /* kernels; CELL_NULL: not counted */
    int64_t recorded;    /* kernels */
    int64_t duration;    /* ns */
    enum ledger_verdict verdict;
    char *missing; /* owned: what it lacks, a sentence a line */
};

/* A kernel of one launch shape that was not launched equally often. */
struct pass_kernel {
    uint32_t name;
    int64_t grid[3], block[3];
    int64_t launches[PASSES_MAX]; /* by place in the group's passes; CELL_NULL: some have no row */
};

enum pass_alike { PASSES_ALIKE, PASSES_UNKNOWN, PASSES_DIFFER };

struct pass_group {
    uint32_t run;        /* name: id of the run */
    int64_t announced;   /* passes that there were to be */
    struct pass *passes; /* owned; by number; the first is that of the times */
    unsigned count;
    enum pass_alike alike;       /* unknown: a pass did not count its launches */
    bool by_kernel;              /* compared by kernel and launch shape, not by their sum alone */
    struct pass_kernel *kernels; /* owned; those that differ most, at most PASSES_KERNELS */
    size_t kernel_count, kernels_more;
};

void pass_group_fini(struct pass_group *g);

/* The pass that gives the kind of data; NULL: none does. */
const struct pass *pass_group_of(const struct pass_group *g, unsigned kind);

/* Sessions of passes while they are read: one group at a time. */
struct passes {
    struct intern *names;
    uint32_t run; /* name; 0: no group is open */
    int64_t announced;
    struct {
        int64_t number;
        struct model *model; /* owned: all its sessions */
    } open[PASSES_MAX];
    unsigned count;
};

void passes_init(struct passes *p, struct intern *names);
void passes_fini(struct passes *p);

/* True where the session is of a pass. */
bool passes_has(const struct model *m);

/* True where the session is of the group that is open, or none is. */
bool passes_fits(const struct passes *p, const struct model *m);

/* Takes a finished session of the group. 0 or a negative code and a sentence. */
int passes_take(struct passes *p, const struct model *m, struct err *e);

/* Puts the open group into the model and closes it. Sessions of one pass alone are no group: they
 * are merged whole, and *out has no passes. Without a pass of Trace there are no times:
 * GPUFL_E_STATE. */
int passes_close(struct passes *p, struct model *into, struct pass_group *out, struct err *e);

#endif
