/* counter_choice.h - which counters of a kernel each GPU counts: those asked for that it knows and
 * that fit into one pass.
 *
 * A kernel runs once, so what does not fit is left out and named. Made while the library
 * initializes the tool; constant from then on. */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTER_CHOICE_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTER_CHOICE_H

#include "backend/amd/trace/counter_sets.h"
#include "backend/amd/trace/sdk.h"

struct counter_choice {
    uint64_t config; /* the library's; 0: nothing is counted on this GPU */
    size_t count;
    char names[COUNTERS_MOST][COUNTER_NAME];
    char unknown[256]; /* names that the GPU does not have */
    char beyond[256];  /* names that do not fit into the pass */
    int refused; /* status of the library where it takes not even one counter; ROCP_OK: it does */
};

/* True where the library has what is needed to count. e: what it lacks. */
bool counter_choice_can(const struct rocp *sdk, struct err *e);

/* Chooses for an agent from what is wanted. GPUFL_E_VENDOR where it has no counters. [owner] */
int counter_choice_make(const struct rocp *sdk, uint64_t agent, const struct counter_list *wanted,
                        struct counter_choice *out, struct err *e);

/* Calls fn for each counter of an agent. 0, or the library's status. [owner] */
typedef void counter_choice_fn(void *arg, uint64_t id, const char *name);
int counter_choice_each(const struct rocp *sdk, uint64_t agent, counter_choice_fn *fn, void *arg);

/* ROCP_OK where the agent counts these in one pass, else the library's status. config: of the
 * library. [owner] */
int counter_choice_fit(const struct rocp *sdk, uint64_t agent, uint64_t *ids, size_t count,
                       uint64_t *config);

#endif
