/* activity_kinds.h - switches the kinds of activity records on and off as the session wants, and
 * reports what became of each kind as the session's capabilities. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_KINDS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_KINDS_H

#include "backend/nvidia/trace.h"

/* Returns true if any kind is wanted: engine Sync, and samples without kernel records, use
 * callbacks only. [any] */
bool activity_kinds_wanted(const struct trace *t);

/* Begins records, and callbacks that report to the session; the next function ends both. Returns an
 * enum cupti_result. [owner, or the opener of a window] */
int activity_kinds_begin(struct trace *t);
void activity_kinds_end(struct trace *t);

/* Switches the wanted kinds on inside windows only, for a session that stays attached between
 * windows, or suspends later (suspend.h). A kind that cannot be switched on is reported once, and
 * the window goes on without it. [the thread that opens or closes the window] */
void activity_kinds_window(struct trace *t, bool open);

/* Enables the wanted kinds that are off. Returns the enum cupti_result of the first required kind
 * that failed; the kinds after it are not tried and count as failed. [any, one at a time] */
int activity_kinds_enable(struct trace *t);

/* Enables kinds that could not be enabled before the driver was initialized. Like
 * activity_kinds_enable. [any] */
int activity_kinds_up(struct trace *t);

/* Enables kinds that could not be enabled without a context, when there is one. [any] */
void activity_kinds_retry(struct trace *t);

/* Disables the kinds, unless a context is sampled: CUPTI faults if they are disabled then (ADR 10),
 * so they stay on and their records are not used. [as activity_kinds_enable] */
void activity_kinds_disable(struct trace *t);

/* Returns true if each launch of a graph has a record, and its kernels have none. [any] */
bool activity_kinds_graphs_whole(const struct trace *t);

/* Disables all kinds except one, which is counted for benchmarks. [as activity_kinds_enable] */
void activity_kinds_keep(struct trace *t, int kind);

/* Begins a session, in which no kind was tried yet. [owner] */
void activity_kinds_session(struct trace *t);

/* Reports to the sink what became of each. [collector] */
void activity_kinds_announce(struct trace *t);

/* Reports that no kind is recorded any more, and why: cupti_fatal.h. [collector] */
void activity_kinds_announce_end(struct trace *t, const char *why);

/* Reports once in a session which other tool wants CUPTI. [collector] */
void activity_kinds_announce_holder(struct trace *t);

/* Gives up the records of calls if the first launches had no operation ids, unless the option asks
 * for ids: these records cost each launch about 0.1 us, and few programs push ids. [collector] */
void activity_kinds_look_for_ids(struct trace *t);

/* Says once in a session that the program copies between devices and these copies are not recorded.
 * [collector] */
void activity_kinds_look_for_peers(struct trace *t);

#endif
