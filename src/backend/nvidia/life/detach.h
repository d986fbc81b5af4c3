/* detach.h - keeps CUPTI attached in windows of capture, and, if that is wanted
 * (detach_wanted), finalizes it after a window and attaches it again for the next one (ADR 13).
 *
 * Finalizing frees memory in which callbacks of other threads may be, so CUPTI's guide says that it
 * is to be done at the exit of a driver call; it waits for the GPU and for those threads. Before
 * that everything is switched off and taken, so that none of our threads is or comes inside CUPTI:
 * a new window first cancels the detach, or waits until it is done. A stream that is being captured
 * must not be waited for; then the detach waits for the next call. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_DETACH_H
#define GPUFL_BACKEND_NVIDIA_LIFE_DETACH_H

#include "backend/nvidia/trace.h"

/* Says how long a window, and a session's end, wait for threads inside CUPTI, ns. */
#define DETACH_PATIENCE INT64_C(2000000000)

/* detach_start begins a session with windows. After detach_stop no callback finalizes CUPTI; it is
 * called for sessions whose engines suspend, too. [owner] */
void detach_start(struct trace *t);
void detach_stop(struct trace *t);

/* Sets the state `to` of enum attach_state, so that no thread finalizes CUPTI from here on, and
 * returns the state before. If a thread stays inside CUPTI for too long, the state is left and
 * returned as it is. [any, one at a time] */
int attach_state_take(struct trace *t, int to);
bool attach_state_is_busy(int state);

/* Opens or closes the window: see trace_ops.window. [any, one at a time] */
int detach_window(struct trace *t, bool open, struct err *e);

/* Returns true if CUPTI is detached, or about to be, so that it must not be called. Always false in
 * sessions that never detach CUPTI. [collector] */
bool detach_is_away(struct trace *t);

/* This is called after a flush. If window_rest_ms have passed since a window was closed, and CUPTI
 * reports its records as complete, or has not done so for long, the remaining records are forced
 * out of CUPTI. A window that opens waits for that, because its launches would be delivered without
 * times. [collector] */
void detach_flush(struct trace *t);

/* Subscribes to CUPTI again as soon as it was finalized, so that new contexts are reported. Called
 * in each round of the collector, which is woken when CUPTI was finalized. [collector] */
void detach_return(struct trace *t);

/* Reports that all flushed records have been decoded. If these were all records of the windows so
 * far, CUPTI can be detached, unless a window was opened since. After a detach that failed, none is
 * tried again. [collector] */
void detach_taken(struct trace *t);

/* Handles a callback outside of windows, at the exit of a driver call that succeeded. If a detach
 * is due and safe, CUPTI is finalized here, as its guide says. correlation: the call's id, which is
 * greater than the ids of all records; CUPTI will begin again with 1. [hot] */
void detach_now(struct trace *t, uint32_t correlation);

/* Returns true if there were windows, and object calls keep CUPTI from being detached.
 * [collector] */
bool detach_is_held_up(struct trace *t);

/* Checks that, and says at the end of a session if CUPTI was never detached for that reason.
 * [collector] */
void detach_look(struct trace *t);
void detach_conclude(struct trace *t);

/* Returns true if CUPTI is detached in this session, window_rest_ms after a window: if the user
 * accepts (window_detach) that detaching and attaching wait for running kernels and keep threads
 * from launching meanwhile (ADR 13), or if opening and closing windows does so anyway. [any] */
bool detach_wanted(const struct trace *t);

/* Says how often CUPTI was detached, and how often it could not be. [collector] */
void detach_released(struct trace *t, uint64_t *done, uint64_t *failed);

#endif
