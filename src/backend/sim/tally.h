/* tally.h - keeps counts of the simulated work, taken where it is generated, before any record
 * exists, so that what a reader finds in a session can be checked against them.
 *
 * Each host thread has a tally; they are merged on demand. Called by the owner's thread only. */
#ifndef GPUFL_BACKEND_SIM_TALLY_H
#define GPUFL_BACKEND_SIM_TALLY_H

#include "backend/sim/kernels.h"
#include "backend/sim/sim.h"
#include "base/buf.h"

#include <stdint.h>

enum { SIM_COPY_KINDS = 11, SIM_WAIT_KINDS = 5, SIM_SCOPES_MAX = 256 };

/* Counts kernels: those whose records were withheld are in count and ns, and also in lost and
 * lost_ns. */
struct sim_tally_kernel {
    uint64_t count, lost;
    int64_t ns, lost_ns;
};

struct sim_tally_work {
    uint64_t count;
    int64_t bytes, ns;
};

/* Describes a scope by its path: children follow their parent in the table. */
struct sim_tally_scope {
    const char *name; /* static text */
    int parent;       /* index, or -1 */
    uint64_t calls;
    int64_t wall_ns;
    uint64_t kernels; /* launched while this was the innermost scope */
    int64_t kernel_ns;
};

struct sim_tally {
    struct sim_tally_kernel kernels[SIM_KERNEL_COUNT];
    struct sim_tally_work copies[SIM_COPY_KINDS];
    struct sim_tally_work fills;
    struct sim_tally_work syncs[SIM_WAIT_KINDS];
    struct sim_tally_work allocs, frees, overhead;
    uint64_t launches; /* single ones */
    uint64_t graph_launches, graph_kernels;
    uint64_t samples, metric_rows; /* of engines above Trace, by the last session; not per thread */
    uint64_t errors[SIM_ERROR_COUNT]; /* how often each was injected */
    struct sim_tally_scope scopes[SIM_SCOPES_MAX];
    int scope_count;
    int scope; /* innermost open one, or -1 */
    uint64_t scopes_opened;
};

void sim_tally_init(struct sim_tally *t);
void sim_tally_merge(struct sim_tally *into, const struct sim_tally *from);

/* Enters the scope of that name inside the innermost one; equal paths share a row. */
void sim_tally_enter(struct sim_tally *t, const char *name);
/* Leaves the innermost scope after wall ns. */
void sim_tally_leave(struct sim_tally *t, int64_t wall);

void sim_tally_kernel(struct sim_tally *t, unsigned kernel, int64_t ns);

uint64_t sim_tally_kernels(const struct sim_tally *t); /* of all names; for tests */

/* Writes the members "kernels" … "errors" of a JSON object, without its braces. */
void sim_tally_json(const struct sim_tally *t, struct buf *out);

/* Writes the sum over all threads, closed ones included; none of them may be running. */
void sim_tally_read(struct sim_tally *out);

/* Returns the tally of a thread, for the workload. */
struct sim_tally *sim_thread_tally(struct sim_thread *t);

#endif
