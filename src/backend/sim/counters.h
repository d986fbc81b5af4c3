/* counters.h - makes hardware counters of the simulated GPU: over time (PmSampling), of scopes and
 * of kernels (RangeProfiler).
 *
 * All values come from a model of each kernel: how many warps it keeps resident, and for what share
 * of its time the tensor pipes and DRAM are busy. A sample or a range is the mean of the kernels
 * that ran in it, weighted by their time. The kernels of a range are those whose correlation ids
 * were given out while its scope was open. [collector] except where said otherwise */
#ifndef GPUFL_BACKEND_SIM_COUNTERS_H
#define GPUFL_BACKEND_SIM_COUNTERS_H

#include "backend/sim/drain.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sim_metric { SIM_SM_ACTIVE, SIM_WARPS, SIM_TENSOR, SIM_DRAM, SIM_COUNTERS };

enum {
    SIM_BUCKETS = 8192,      /* of a device: samples that wait for late records */
    SIM_BUCKETS_LATE = 1024, /* the newest ones stay */
    SIM_RANGES_MOST = 65536,
};

/* Says how long each unit was busy, ns; for warps and pipes weighted by their share. */
struct sim_busy {
    int64_t ns[SIM_COUNTERS];
};

struct sim_series {
    int64_t base;            /* start of the oldest bucket; 0: nothing ran yet */
    int64_t latest;          /* end of the last kernel */
    uint64_t written;        /* samples */
    struct sim_busy *oldest; /* owned: SIM_BUCKETS, from base on, in a ring from first */
    unsigned first;
};

struct sim_range {
    uint64_t instance;
    int64_t start, end;
    uint32_t from, to; /* correlation ids: from inclusive, to exclusive once ended */
    int64_t last;      /* end of the last kernel in it; 0: none ran */
    int device;        /* of the first kernel in it; -1: none ran */
    uint32_t scope;    /* its name, in the session's names */
    struct sim_busy busy;
};

struct sim_counters {
    unsigned engines; /* ENGINE_PM_SAMPLING or ENGINE_RANGE_PROFILER; 0: nothing is counted */
    bool kernels;     /* single kernels are counted instead of scopes */
    bool wanted[SIM_COUNTERS], described;
    char preset[32];     /* of the metrics; "": they were named */
    const char *skipped; /* the list that was asked for, if some of its metrics are missing */
    int64_t interval;    /* ns */
    unsigned launches;   /* of each kernel */
    uint32_t metrics[SIM_COUNTERS];
    struct sim_series series[SIM_DEVICES_MAX];
    unsigned counted[SIM_DEVICES_MAX][SIM_KERNEL_COUNT]; /* kernels one by one */
    struct sim_range *ranges; /* owned: SIM_RANGES_MOST, where scopes are counted */
    _Atomic uint32_t begun;   /* ranges with start and from; release by the thread, acquire here */
    _Atomic uint32_t ended;   /* with end and to; likewise */
    _Atomic uint64_t open;    /* instance of the open range; 0: none. Taken by compare and swap */
    uint32_t ranges_written;
    uint64_t written;
};

/* Sets *c up for the engines. 0 or GPUFL_E_NOMEM. [owner] */
int sim_counters_init(struct sim_counters *c, const struct trace_config *config);
void sim_counters_fini(struct sim_counters *c); /* [owner] */

/* Reports that a scope begins or ends on the calling thread. next: the next correlation id. Returns
 * why the scope is not counted, or NULL. [hot] */
const char *sim_counters_scope(struct sim_counters *c, uint64_t instance, enum range_moment moment,
                               uint32_t next, uint32_t name);

/* Takes a kernel's record into account. */
void sim_counters_kernel(struct sim_counters *c, struct sim_drain *d, struct sink *s,
                         const struct sim_record *r);

/* Reports complete samples and ranges to the sink; all: incomplete ones, too. */
void sim_counters_drain(struct sim_counters *c, struct sim_drain *d, struct sink *s, bool all);

#endif
