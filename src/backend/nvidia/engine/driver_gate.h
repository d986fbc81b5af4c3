/* driver_gate.h - makes a moment in which no thread of the program is inside a reported call of the
 * driver, and threads that enter such a call wait.
 *
 * Engines are switched in such a moment: if PC sampling is switched off while a thread launches,
 * both wait for each other for ever (ADR 10). `inside` counts calls; this counter and the gate
 * are sequentially consistent, so that either the thread that shuts the gate sees the call, or the
 * call sees the gate and waits.
 *
 * The switch waits only a moment for calls that are inside, and tries again seldom if one was still
 * inside: launches return within some microseconds, but calls that wait for the device may take
 * for ever, and threads at the gate cannot work meanwhile. Calls that the switch itself makes pass
 * the gate. The wait at the gate is bounded, because the switch might need a thread of the library
 * that waits there.
 *
 * sass/gate.c has another gate: calls that wait for the device do not count there, and
 * the switch shuts that gate itself, context by context. A process has one driver gate. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DRIVER_GATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DRIVER_GATE_H

#include <stdbool.h>

/* Begins to count from 0, when a session begins or CUPTI is attached again; calls that entered
 * before do not count any more. [owner; the thread that opens a window; the collector, while no
 * reported call is under way] */
void driver_gate_open(void);

/* A call begins, or has ended; the latter returns true if this thread is in no call any more. Both
 * come in pairs, except for calls that began before the session. [hot] */
void driver_gate_enter(void);
bool driver_gate_leave(void);

/* Returns true if no other thread has ever entered. [any] */
bool driver_gate_is_own(void);

/* Returns true if the calling thread is in a call whose begin was reported. [hot] */
bool driver_gate_is_inside(void);

/* Runs fn(arg) while no thread is inside; called on a thread that is in no call. False: a thread
 * was inside, or another thread has shut the gate. [any] */
__attribute__((warn_unused_result)) bool driver_gate_shut(void (*fn)(void *arg), void *arg);

#endif
