/* activity_kinds.h - which kinds of activity records CUPTI makes: one table of them, switched on
 * and off as the session wants, and what became of each as the session's capabilities. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_KINDS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_KINDS_H

#include "backend/nvidia/trace.h"

/* Any at all: engine Sync takes callbacks alone, and so do samples alone. [any] */
bool activity_kinds_wanted(const struct trace *t);

/* Records come from here on, and callbacks report to the session; no more from here on.
 * Returns an enum cupti_result. [owner, or the opener of a window] */
int activity_kinds_begin(struct trace *t);
void activity_kinds_end(struct trace *t);

/* For a session that stays attached between windows, or suspends later (suspend.h): what is wanted
 * is on inside them alone. What cannot be is said once, and the window goes on without.
 * [the thread that opens or closes it] */
void activity_kinds_window(struct trace *t, bool open);

/* Enables what is wanted and off. Returns an enum cupti_result: of the first required kind that
 * failed. Those after it are not tried, and failed with it. [any, one at a time] */
int activity_kinds_enable(struct trace *t);

/* The driver has come up: what could not be enabled before it can be now. Like
 * activity_kinds_enable. [any] */
int activity_kinds_up(struct trace *t);

/* A context is there: enables what was not ready without one. [any] */
void activity_kinds_retry(struct trace *t);

/* CUPTI's kinds stay on while contexts are sampled: its library faults where they are disabled (ADR
 * 10). Nobody hears them then. [as activity_kinds_enable] */
void activity_kinds_disable(struct trace *t);

/* Launches of graphs have a record each, and their kernels none. [any] */
bool activity_kinds_graphs_whole(const struct trace *t);

/* All but one go, for whoever counts that one. [as activity_kinds_enable] */
void activity_kinds_keep(struct trace *t, int kind);

/* A session begins: none was tried. [owner] */
void activity_kinds_session(struct trace *t);

/* Reports to the sink what became of each. [collector] */
void activity_kinds_announce(struct trace *t);

/* None of them is recorded any more, for that reason: cupti_fatal.h. [collector] */
void activity_kinds_announce_end(struct trace *t, const char *why);

/* Reports who else wants CUPTI, once a session. [collector] */
void activity_kinds_announce_holder(struct trace *t);

/* Records of launches cost them some 0.1 us, and few programs push ids: where none came with the
 * first ones, these records are given up, unless the ids were asked for by name. [collector] */
void activity_kinds_look_for_ids(struct trace *t);

/* Says once a session that the program copies between devices and nobody records it. [collector] */
void activity_kinds_look_for_peers(struct trace *t);

#endif
