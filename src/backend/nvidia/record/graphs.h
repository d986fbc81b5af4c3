/* graphs.h - executable CUDA graphs: a number of our own and how many kernels one
 * launch of each runs.
 *
 * Readers (launch callbacks) take no lock; writers (instantiation, destruction:
 * rare) take one among themselves. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_GRAPHS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_GRAPHS_H

#include "backend/nvidia/library/cuda.h"

#include <stdint.h>

struct graph_info {
    int64_t number;  /* from 1, never reused in this process; 0: not in the table */
    int64_t kernels; /* nodes that run a kernel; CELL_NULL: not known */
};

/* Says what is known of exec; number 0 when it was never added. [hot] */
struct graph_info graphs_find(cuda_exec exec);

/* Adds exec with its kernels (CELL_NULL: not known), in place of a destroyed one
 * of the same address. number 0 when out of memory. [any] */
struct graph_info graphs_add(cuda_exec exec, int64_t kernels);

/* The count no longer holds, or exec is gone. [any] */
void graphs_forget_count(cuda_exec exec);
void graphs_drop(cuda_exec exec);

/* All are unknown from here on: they come and go unseen. [any] */
void graphs_forget(void);

/* Kernel nodes of a graph with its child graphs; CELL_NULL where a conditional
 * node or a driver without these calls makes it unknowable. [any] */
int64_t graphs_count_kernels(const struct cuda *c, cuda_graph graph);

#endif
