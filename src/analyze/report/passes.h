/* passes.h - merges the passes of one `gpufl trace --passes`.
 *
 * The command ran once for each engine, and its sessions have one run id and the number of their
 * pass. Passes are not added up: times, launches, waits and idle time are those of the pass of
 * Trace, and every other pass gives only the data of its engine. Passes are linked by the name of
 * the kernel and, for the number of launches, by the launch shape. Single launches are not matched,
 * since no engine gives values of a single launch. Passes that were not alike are merged, too, and
 * the report says so with the figures. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_REPORT_PASSES_H
#define GPUFL_ANALYZE_REPORT_PASSES_H

#include "analyze/model/model.h"
#include "base/err.h"

enum { PASSES_MAX = 16, PASSES_KERNELS = 20 /* kernels of pass_group.kernels */ };

enum { PASS_TIMES = 1 << 8 }; /* a bit of pass.gives, besides those of model_gives */

struct pass {
    int64_t number;      /* from 1 */
    uint32_t asked, ran; /* names of engines: requested, in effect; 0: the sessions differ */
    unsigned sessions;   /* sessions of the pass */
    unsigned gives;      /* what the report takes from it */
    char *nothing;       /* owned: why its engine gave nothing; NULL: it gave something */
    int64_t launched;    /* kernels; CELL_NULL: not counted */
    int64_t recorded;    /* kernels */
    int64_t duration;    /* ns */
    enum ledger_verdict verdict;
    char *missing; /* owned: what is missing, a sentence in each line */
};

/* Describes a kernel and launch shape that was not launched equally often in all passes. */
struct pass_kernel {
    uint32_t name;
    int64_t grid[3], block[3];
    int64_t launches[PASSES_MAX]; /* by index in the group's passes; CELL_NULL: some have no row */
};

enum pass_alike { PASSES_ALIKE, PASSES_UNKNOWN, PASSES_DIFFER };

struct pass_group {
    uint32_t run;        /* name: id of the run */
    int64_t announced;   /* number of passes that were planned */
    struct pass *passes; /* owned; by number; the first has the times */
    unsigned count;
    enum pass_alike alike;       /* unknown: a pass did not count its launches */
    bool by_kernel;              /* compared by kernel and launch shape, not only by the sum */
    struct pass_kernel *kernels; /* owned; those that differ most, at most PASSES_KERNELS */
    size_t kernel_count, kernels_more;
};

void pass_group_fini(struct pass_group *g);

/* Returns the pass that gives this kind of data; NULL: none does. */
const struct pass *pass_group_of(const struct pass_group *g, unsigned kind);

/* Holds sessions of passes while they are read: one group at a time. */
struct passes {
    struct intern *names;
    uint32_t run; /* name; 0: no group is open */
    int64_t announced;
    struct {
        int64_t number;
        struct model *model; /* owned: all sessions of the pass, merged */
    } open[PASSES_MAX];
    unsigned count;
};

void passes_init(struct passes *p, struct intern *names);
void passes_fini(struct passes *p);

/* Returns true if the session belongs to a pass. */
bool passes_has(const struct model *m);

/* Returns true if the session belongs to the open group, or no group is open. */
bool passes_fits(const struct passes *p, const struct model *m);

/* Adds a finished session to the group. 0, or a negative code with a sentence. */
int passes_take(struct passes *p, const struct model *m, struct err *e);

/* Merges the open group into the model and closes it. Sessions of only one pass are not a group:
 * they are merged whole, and *out has no passes. GPUFL_E_STATE: there is no pass of Trace, so there
 * are no times. */
int passes_close(struct passes *p, struct model *into, struct pass_group *out, struct err *e);

#endif
