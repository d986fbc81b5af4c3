/* call_table.h - what each call of the driver does, by its callback id: whether it launches, waits,
 * loads code, or ends a capture. Everything here is constant; any thread may read it. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_CALL_TABLE_H
#define GPUFL_BACKEND_NVIDIA_RECORD_CALL_TABLE_H

#include "backend/nvidia/abi/cupti.h"

#include <stdbool.h>
#include <stdint.h>

enum { CALL_IDS = 1024 };

/* Lists the ids by name, as ID_cuLaunchKernel. */
enum {
#define ID(name, id) ID_##name = id,
    CUPTI_KERNEL_CALLS(ID) CUPTI_GRAPH_CALLS(ID) CUPTI_EXEC_CALLS(ID)
#undef ID
};

enum call_role {
    ROLE_NONE,
    ROLE_KERNEL,
    ROLE_GRAPH,
    ROLE_WAIT,
    ROLE_CAPTURE_BEGIN,
    ROLE_CAPTURE_END,
    ROLE_INSTANTIATE,
    ROLE_EXEC
};

/* Says when counts can be taken: all launched work is done, or its code or context is about to be
 * destroyed. */
enum call_moment { MOMENT_NONE, MOMENT_DONE, MOMENT_ENDING };

#define CALL_TABLE extern __attribute__((visibility("hidden"))) const
CALL_TABLE uint8_t call_roles[CALL_IDS];   /* enum call_role */
CALL_TABLE uint8_t call_moments[CALL_IDS]; /* enum call_moment */
CALL_TABLE bool call_loads[CALL_IDS];      /* the call launches, or loads code */
CALL_TABLE bool call_unloads[CALL_IDS];    /* the call unloads code */
#undef CALL_TABLE

static inline bool call_launches(uint32_t id)
{
    return call_roles[id] == ROLE_KERNEL || call_roles[id] == ROLE_GRAPH;
}

/* Returns the driver's result of a call that has returned. */
static inline int call_result(const struct cupti_callback *c)
{
    return c->result ? *(const int *)c->result : CUDA_OK;
}

/* Returns true if the call has returned without an error, and all earlier work of the device is
 * done. */
static inline bool call_waited(uint32_t id, const struct cupti_callback *c)
{
    return call_moments[id] == MOMENT_DONE && call_result(c) == CUDA_OK;
}

#endif
