/* collector.h - has a sink and a collector thread for tests of the simulated GPU without capture,
 * which only count the records. */
#ifndef GPUFL_TESTS_SIM_COLLECTOR_H
#define GPUFL_TESTS_SIM_COLLECTOR_H

#include "backend/backend.h"
#include "base/process/thread.h"

#include <stdatomic.h>

struct collector {
    struct sink sink;
    const struct trace_ops *ops;
    struct trace *trace;
    struct thread thread;
    struct wakeup wake;
    _Atomic bool stop;
    _Atomic uint64_t launches, graph_launches, graph_kernels, others;
    _Atomic uint64_t lost[LOSS_COUNT];
    _Atomic uint64_t waits[16];  /* by enum wait_call */
    _Atomic int64_t waited;      /* ns in waits that block the host */
    _Atomic uint64_t unreported; /* waits without a stack */
    char reported[256];          /* functions of any thread's last stack, outermost first */
    uint64_t rows[RECORD_COUNT]; /* [collector] */
    int64_t kernel_ns;
    uint64_t hash; /* hash of all rows, in order */
    uint32_t names, streams, configs;
    void (*on_kernel)(const struct kernel_row *row, void *arg); /* may be NULL */
    void *arg;
};

/* Opens and starts tracing with backend_sim, and starts a thread that drains. */
int collector_open(struct collector *c, struct err *e);

/* Ends like capture: stop, flush, take, drain, close. */
void collector_close(struct collector *c);

extern const struct trace_config collector_config;

#endif
