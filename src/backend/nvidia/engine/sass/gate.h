/* gate.h - keeps the program's other threads from launching while counts are taken and counting is
 * switched on or off in contexts.
 *
 * These calls of CUPTI are not safe while a launch runs. If counting was switched on during a
 * launch, nothing was counted from then on; if it was switched off, the program faulted; and when
 * counts were taken, some were missing (H200, CUDA 13.0, ADR 11). So a call that launches or loads
 * code passes the gate: while the gate is shut, the thread waits at the call's entry, where it
 * holds no lock of the driver. The wait is bounded, because kernels may wait for kernels that are
 * launched later.
 *
 * A call's exit counts only if its entry was counted, so that a call that was under way when the
 * session began, or whose callbacks ended with the session, leaves no count behind. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_GATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Begins to count again, when a session begins or CUPTI is attached again; calls that are under way
 * do not count. [owner, the opener of a window] */
void sass_gate_begin(void);

/* A call begins on this thread, or has returned. [hot] */
void sass_gate_enters(void);
void sass_gate_leaves(void);

/* Shuts the gate, and waits up to patience (ns; 0: not at all) for the calls of other threads.
 * True: no call is under way until the gate is opened. False: some are; the gate is shut all the
 * same, but counting must not be switched on in any context. Called by one thread at a time, under
 * the engines' lock. [any] */
__attribute__((warn_unused_result)) bool sass_gate_shut(int64_t patience);
void sass_gate_open(void);

#endif
