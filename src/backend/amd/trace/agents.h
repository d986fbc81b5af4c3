/* agents.h - lists the GPUs as rocprofiler-sdk knows them, and the program's numbers for them.
 *
 * Filled once, when the tool is initialized; constant from then on. */
#ifndef GPUFL_BACKEND_AMD_TRACE_AGENTS_H
#define GPUFL_BACKEND_AMD_TRACE_AGENTS_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

enum { AGENTS_MOST = 64, AGENT_UNKNOWN = -1 };

struct agent {
    uint64_t id;    /* of the library */
    uint64_t place; /* on the PCI bus: domain << 32 | bus << 8 | device << 3 | function */
    struct device_row row;
    struct device_text text;
    bool wave32; /* wavefronts usually have 32 work-items */
};

/* Asks the library, and reads which GPUs the program may use (ROCR_VISIBLE_DEVICES,
 * HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES). 0 or GPUFL_E_VENDOR. [owner] */
int agents_find(const struct rocp *sdk, struct err *e);

int agents_count(void);
const struct agent *agents_at(int index);

/* Returns the index of an agent; AGENT_UNKNOWN: no GPU has this id. [any] */
int agents_index(uint64_t id);

/* Returns the index of the program's device with this number; AGENT_UNKNOWN: the program's
 * variables do not name GPUs by numbers, or it has no such device. [hot] */
int agents_of_ordinal(int ordinal);

/* Applies a list of numbers ("2,0") to a choice of *count devices; *count is then the number of
 * those chosen. A number without a device ends the list, as in the runtime. False: an entry is no
 * number, so that the choice is unknown. Pure. */
bool agents_choose(const char *list, int *chosen, int *count);

#endif
