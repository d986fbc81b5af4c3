/* profilers.h - the engines beside kernel records, as the Trace engine sees them: which of those that
 * were asked for can be had, and what each has to hear of.
 *
 * One that cannot be had costs the session nothing else: it is said, and the rest goes on. */
#ifndef GPUFL_BACKEND_NVIDIA_PROFILERS_H
#define GPUFL_BACKEND_NVIDIA_PROFILERS_H

#include "backend/nvidia/trace.h"

/* Nothing but counters: no callback comes with a launch or a wait, but for where they are to rest. [any] */
bool profilers_counters_alone(const struct trace *t);

/* Prepares those that the session wants; says which cannot be had. Attached. [owner] */
void profilers_open(struct trace *t);
/* After the kinds: samples refuse those that come later. [owner] */
void profilers_start(struct trace *t);
/* Instructions count from here on, in the calling thread's context, in these, and in those that come:
 * no other thread is inside the driver. False: in none of them. [any] */
bool profilers_count(struct trace *t, const cuda_context *contexts, size_t count);
/* Kernels are recorded from here on, since nothing counts or samples them. [any] */
void profilers_record(struct trace *t);
/* Takes what is left for the last drain. [owner] */
void profilers_stop(struct trace *t);
/* Gives back what a session left that was never drained to its end. [owner] */
void profilers_close(struct trace *t);
/* Some engine outlives the session, and must be told of contexts that go. [owner] */
bool profilers_last(const struct trace *t);

/* trace_ops.window where the library stays attached, or is again (rest.h): each engine keeps, or does, what
 * is asked for in windows alone. Refused where nothing would be recorded in it. [any, one at a time] */
int profilers_window(struct trace *t, bool open, struct err *e);

/* What the engines hold of the library and the devices is given back, and nothing is recorded any more,
 * unless it is to be tried again. No window is open, and no thread in the driver. [any] */
enum rested profilers_rest(struct trace *t);
/* They may begin again, in contexts that profilers_context tells of. anew: CUPTI was finalized, and
 * has been attached again. [any] */
int profilers_wake(struct trace *t, bool anew, struct err *e);

/* A kernel, or a graph, is launched; with engine SassMetrics alone. [hot] */
void profilers_launch(struct trace *t, bool graph);

/* A context was created; is about to be destroyed, also between sessions; a module is about to be
 * unloaded. [any] */
void profilers_context(struct trace *t, cuda_context context);
void profilers_context_gone(struct trace *t, cuda_context context);
void profilers_module_gone(struct trace *t, cuda_context context);

/* Takes what the libraries have, and writes it. [collector] */
void profilers_flush(struct trace *t);
void profilers_drain(struct trace *t);

/* What the engines that ran bring ends here, for that reason: ended.h. [collector] */
void profilers_announce_end(struct trace *t, const char *why);

/* See trace_ops.running. [collector] */
unsigned profilers_running(struct trace *t, const char **why);

#endif
