/* faults.c - see faults.h. */
#include "backend/nvidia/record/faults.h"

#include "backend/nvidia/abi/cuda.h"

#include <stddef.h>

static const struct {
    int result;
    const char *name;
} faults[] = {
#define ROW(name, value) {value, #name},
    CUDA_FAULTS(ROW)
#undef ROW
};

void faults_open(void)
{
    atomic_store_explicit(&the_trace.fault_seen, false, memory_order_relaxed);
}

bool faults_seen(void)
{
    return atomic_load_explicit(&the_trace.fault_seen, memory_order_relaxed);
}

void faults_look(struct sink *s, int result, const char *function)
{
    size_t i = 0;
    while (i < sizeof faults / sizeof *faults && faults[i].result != result)
        i++;
    if (i == sizeof faults / sizeof *faults || faults_seen() ||
        atomic_exchange(&the_trace.fault_seen, true))
        return;
    s->ops->message(s, SEVERITY_WARNING, "program.fault",
                    "a kernel of the program has faulted: %s (error %d), seen first as %s "
                    "returned. No call of its "
                    "context works any more, and what was not read of it is lost",
                    faults[i].name, result, function ? function : "a call");
}
