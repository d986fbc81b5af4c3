/* counter_choice.h - chooses which counters each GPU counts: those asked for that the GPU has and
 * that fit into one pass.
 *
 * A kernel runs once, so counters that do not fit are left out and named. The choice is made while
 * the library initializes the tool, and is constant from then on. */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTER_CHOICE_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTER_CHOICE_H

#include "backend/amd/trace/counter_sets.h"
#include "backend/amd/trace/sdk.h"

struct counter_choice {
    uint64_t config; /* of the library; 0: nothing is counted on this GPU */
    size_t count;
    char names[COUNTERS_MOST][COUNTER_NAME];
    char unknown[256]; /* names that the GPU does not have */
    char beyond[256];  /* names that do not fit into the pass */
    int refused;       /* the library's status if it refuses every counter; ROCP_OK: it does not */
};

/* Returns true if the library has the functions that counting needs. e: what it lacks. */
bool counter_choice_can(const struct rocp *sdk, struct err *e);

/* Chooses counters for an agent from those wanted. GPUFL_E_VENDOR: the agent has no counters.
 * [owner] */
int counter_choice_make(const struct rocp *sdk, uint64_t agent, const struct counter_list *wanted,
                        struct counter_choice *out, struct err *e);

/* Calls fn for each counter of an agent. 0, or the library's status. [owner] */
typedef void counter_choice_fn(void *arg, uint64_t id, const char *name);
int counter_choice_each(const struct rocp *sdk, uint64_t agent, counter_choice_fn *fn, void *arg);

/* Returns ROCP_OK if the agent counts these in one pass, else the library's status. config: gets
 * the library's configuration. [owner] */
int counter_choice_fit(const struct rocp *sdk, uint64_t agent, uint64_t *ids, size_t count,
                       uint64_t *config);

#endif
