/* sampler.h - with engine Monitor, samples devices and host while the program runs, whether or not
 * the program uses the GPU.
 *
 * The capture library begins with the program's cuInit, so a program that never calls cuInit has no
 * session. For such a program, a process of the launcher writes the session, under the program's
 * name. When a session of the program appears, this process ends and removes its own session.
 * Called by one thread only, except where a tag says otherwise. */
#ifndef GPUFL_CLI_TRACE_SAMPLER_H
#define GPUFL_CLI_TRACE_SAMPLER_H

#include "cli/trace/options/options.h"
#include "cli/trace/program/place.h"
#include "cli/trace/program/run.h"

struct trace_sampler {
    pid_t pid; /* 0: none */
    int end;   /* pipe that is closed to end the process; -1: none */
};

/* Returns true if the run needs such a process. [any] */
bool trace_sampler_wanted(const struct trace_request *r);

/* Starts the sampler after the program. If that fails, the run goes on without it. */
void trace_sampler_start(struct trace_sampler *t, const struct trace_request *r,
                         const struct place *p, const struct run *run);

/* Ends the sampler after the program, and waits for it. True if the sampler's session is the
 * run's only one. */
bool trace_sampler_end(struct trace_sampler *t);

#endif
