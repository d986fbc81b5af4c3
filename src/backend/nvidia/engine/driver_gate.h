/* driver_gate.h - a moment in which no thread of the program is inside a call of the driver that is
 * reported to us, and those that come wait.
 *
 * Engines are switched then: PC sampling that is switched off while a thread launches, and that
 * thread, wait for each other for ever (ADR 10). `inside` counts calls; that counter and the gate
 * are sequentially consistent: either the thread that shuts the gate sees the call, or the call
 * sees the gate, and waits.
 *
 * The switch waits for calls that are inside, only for a moment, and seldom where that wait was in
 * vain: launches return in some microseconds, calls that wait for the device may take for ever, and
 * whoever stands at the gate is kept from work meanwhile. Calls that the switch itself makes pass.
 * The wait at the gate has an end, so that a thread of the library's that the switch needs could
 * not hold it up for ever.
 *
 * The gate of sass/gate.c is another one: calls that wait for the device do not count there, and
 * the switch shuts that gate itself, context by context. One a process. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DRIVER_GATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DRIVER_GATE_H

#include <stdbool.h>

/* A session begins, or CUPTI is attached again: calls that entered before count no more.
 * [owner; the thread that opens a window; collector, while none is under way that
 * is reported] */
void driver_gate_open(void);

/* A call begins, or has ended; true: this thread is in none any more. In pairs, except calls that
 * began before the session. [hot] */
void driver_gate_enter(void);
bool driver_gate_leave(void);

/* No other thread has ever entered. [any] */
bool driver_gate_is_own(void);

/* The calling thread is in a call whose begin was reported. [hot] */
bool driver_gate_is_inside(void);

/* On a thread that is in none: runs fn(arg) while nobody is inside. False: somebody was, or another
 * thread does just that. [any] */
__attribute__((warn_unused_result)) bool driver_gate_shut(void (*fn)(void *arg), void *arg);

#endif
