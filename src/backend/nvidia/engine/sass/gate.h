/* gate.h - holds the program's other threads out of the driver's launches while counts are taken
 * and counting is switched on or off in contexts.
 *
 * These calls of CUPTI are not safe while a launch runs: switched on then, counting counted nothing
 * from there on; switched off then, the program faulted; and of the counts that were taken some
 * were missing (H200, CUDA 13.0, ADR 11). So a call that launches or loads code passes the gate:
 * shut, it waits at the call's entry, where it holds nothing of the driver's. It waits for a
 * bounded time only, since kernels may wait for kernels that are launched later.
 *
 * A call is counted by what it did at its entry, so that one that was under way when the session
 * began, or whose callbacks ended with it, leaves no count behind. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_GATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* A new session, or CUPTI is attached again: calls that are under way are not its own.
 * [owner, the opener of a window] */
void sass_gate_begin(void);

/* A call begins on this thread, or has returned. [hot] */
void sass_gate_enters(void);
void sass_gate_leaves(void);

/* Shuts the gate, and waits up to patience (ns; 0: not at all) for the calls of other threads.
 * True: no call is under way until the gate is opened; false: some are, and the gate is shut
 * nevertheless: counting may be switched on in no context. One thread at a time: under the engines'
 * lock. [any] */
__attribute__((warn_unused_result)) bool sass_gate_shut(int64_t patience);
void sass_gate_open(void);

#endif
