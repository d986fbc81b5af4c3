/* detach.h - holding CUPTI in windows of capture: it is attached, and where that is wanted
 * (detach_wanted) finalized and attached again while the program runs (ADR 13).
 *
 * Finalizing frees what callbacks of other threads may stand in, so CUPTI's guide has it done at
 * the exit of a call of the driver; it waits for the GPU and for those threads. Before that all
 * is off and taken, so that nobody of us is inside CUPTI, nor comes: a new window first takes
 * the word back, or waits until it is done. A stream that is being captured must not be waited
 * for: then it goes on to the next call. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_DETACH_H
#define GPUFL_BACKEND_NVIDIA_LIFE_DETACH_H

#include "backend/nvidia/trace.h"

/* ns: so long a window, and a session's end, wait for threads inside CUPTI. */
#define DETACH_PATIENCE INT64_C(2000000000)

/* For a session that has windows. No callback finalizes CUPTI after detach_stop, which is also for
 * sessions whose engines suspend. [owner] */
void detach_start(struct trace *t);
void detach_stop(struct trace *t);

/* Makes the state `to` of enum attach_state, so that nobody finalizes from here on; what it was
 * before. One in which somebody is inside CUPTI whom a window has to wait for, and left so, where
 * that takes for ever. [any, one at a time] */
int attach_state_take(struct trace *t, int to);
bool attach_state_is_busy(int state);

/* Opens or closes: see trace_ops.window. [any, one at a time] */
int detach_window(struct trace *t, bool open, struct err *e);

/* CUPTI is not there, or about to go: nobody may call it. False in sessions that never let it go.
 * [collector] */
bool detach_is_away(struct trace *t);

/* After a flush: where window_rest_ms have gone since a window was shut, and its records are
 * complete, as far as CUPTI reports, or have not been so for long, the rest is forced out of CUPTI.
 * A window that opens waits for that: what it launches would be handed over without times.
 * [collector] */
void detach_flush(struct trace *t);

/* CUPTI has been finalized: it is subscribed to again at once, so that no context is made unheard
 * of. Each of its rounds, which the end of CUPTI wakes. [collector] */
void detach_return(struct trace *t);

/* All that was flushed has been decoded. Where that was all of the windows so far, nothing of them
 * is left in CUPTI, and it can go; not where one was opened since, whatever became of it. Where it
 * could not go once, it is not tried again. [collector] */
void detach_taken(struct trace *t);

/* A callback outside of windows, at the exit of a driver's call that succeeded: where it is
 * time and safe, CUPTI is finalized here, as its guide wants it. correlation: the call's id, which
 * is greater than those of all that was recorded: CUPTI will begin again with 1. [hot] */
void detach_now(struct trace *t, uint32_t correlation);

/* There were windows, and calls of objects keep CUPTI from going. [collector] */
bool detach_is_held_up(struct trace *t);

/* Sees whether it is so; says at the end of a session where CUPTI never went for that.
 * [collector] */
void detach_look(struct trace *t);
void detach_conclude(struct trace *t);

/* Whether it is in this session, window_rest_ms after a window: where the user takes on that CUPTI,
 * as it goes and comes, waits for kernels that run and keeps threads from launching meanwhile (ADR
 * 13), and where edges of windows do so anyway. [any] */
bool detach_wanted(const struct trace *t);

/* How often it was, and could not be. [collector] */
void detach_released(struct trace *t, uint64_t *done, uint64_t *failed);

#endif
