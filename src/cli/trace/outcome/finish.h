/* finish.h - what `gpufl trace` does with the sessions: it reports, prints where they are, and
 * compresses them. It runs in a helper process, so that the logs' contents cannot change the
 * program's exit code. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_FINISH_H
#define GPUFL_CLI_TRACE_OUTCOME_FINISH_H

#include "cli/trace/options/options.h"
#include "cli/trace/outcome/why.h"
#include "cli/trace/program/place.h"

#include <stdbool.h>
#include <sys/types.h>

struct finish {
    const struct trace_request *request;
    const struct place *place;  /* of the run; of finish_pass that of the pass */
    const struct place *passes; /* of the passes that ran; NULL: the command ran once */
    unsigned pass_count;
    const struct evidence *evidence;
    int report_fd; /* --report FILE; -1: stderr */
    pid_t child;   /* the program */
    int status;    /* its wait status, once ended */
    bool ended;    /* the program is over: this is the last call */
    bool sampled;  /* the only session is the launcher's own (sampler.h) */
    bool reported; /* the sessions were reported before, and there are no new ones */
};

/* This is for run_helper_start: arg is a struct finish. Exit code 0, or 1 if something
 * failed. */
int finish_run(void *arg);

/* Finishes, for run_helper_start, the sessions of one pass, which have no report of their own. Exit
 * code: one of these. */
enum { PASS_DONE, PASS_LEFT_NOTHING, PASS_STILL_RUNS };
int finish_pass(void *arg);

/* Returns the id of the run whose sessions count, or NULL: all below the directory count. */
const char *finish_run_id(const struct trace_request *r, const struct place *p);

#endif
