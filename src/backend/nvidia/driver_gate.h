/* driver_gate.h - a moment in which no thread of the program is inside a call of the driver that is
 * reported to us, and those that come wait.
 *
 * Engines are switched then: PC sampling that is switched off beside a thread that launches, and that
 * thread, wait for each other for ever (ADR 10). `inside` counts calls; it and the gate are
 * sequentially consistent: either who shuts it sees the call, and tries again later, or the call sees the
 * gate, and waits. Calls that the switch itself makes pass. The wait has an end, so that a thread of
 * the library's that the switch needs could not hold it up for ever. It is not sass_gate.c's: here
 * calls that wait for the device count, too, and the switch shuts that one itself, context by
 * context. One a process. */
#ifndef GPUFL_BACKEND_NVIDIA_DRIVER_GATE_H
#define GPUFL_BACKEND_NVIDIA_DRIVER_GATE_H

#include <stdbool.h>

/* A session begins: calls that entered before count no more. [owner] */
void driver_gate_open(void);

/* A call begins, or has ended; true: this thread is in none any more. In pairs, but for calls that began
 * before the session. [hot] */
void driver_gate_enter(void);
bool driver_gate_leave(void);

/* Behind a leave that was true: runs fn(arg) while nobody is inside. False: somebody was, or another
 * thread does just that. */
bool driver_gate_shut(void (*fn)(void *arg), void *arg);

#endif
