/* graphs.h - counts executable CUDA graphs: our number of each, and how many kernels one launch of
 * it runs.
 *
 * Readers (launch callbacks) take no lock; writers, which are rare (instantiation and
 * destruction), share one. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_GRAPHS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_GRAPHS_H

#include "backend/nvidia/library/cuda.h"

#include <stdint.h>

struct graph_info {
    int64_t number;  /* from 1, never reused in this process; 0: not in the table */
    int64_t kernels; /* nodes that run a kernel; CELL_NULL: not known */
};

/* Returns the number and kernels of exec; number 0: exec was never added. [hot] */
struct graph_info graphs_find(cuda_exec exec);

/* Adds exec with its kernels (CELL_NULL: not known), in place of a destroyed one
 * of the same address. number 0 when out of memory. [any] */
struct graph_info graphs_add(cuda_exec exec, int64_t kernels);

/* graphs_forget_count makes the count unknown; the next function notes that exec is destroyed.
 * [any] */
void graphs_forget_count(cuda_exec exec);
void graphs_drop(cuda_exec exec);

/* Forgets all graphs, because calls that make and destroy them are not reported from here on.
 * [any] */
void graphs_forget(void);

/* Returns the number of kernel nodes of a graph and its child graphs; CELL_NULL if a conditional
 * node, or a driver without these calls, makes the number unknown. [any] */
int64_t graphs_count_kernels(const struct cuda *c, cuda_graph graph);

#endif
