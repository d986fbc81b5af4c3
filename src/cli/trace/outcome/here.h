/* here.h - finds which vendors' GPUs this machine has, as far as a launcher can know. The causes of
 * a run without a session, and the words of sentences about it, depend on that.
 *
 * backend: the name that the options or the environment give; NULL: none. Called by one thread
 * only. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_HERE_H
#define GPUFL_CLI_TRACE_OUTCOME_HERE_H

#include "backend/vendor.h"
#include "cli/trace/options/options.h"

/* This is the folder before the device files; "" except in tests. */
extern const char *here_root;

/* Returns the backend that a request or the environment names; NULL: none. */
const char *here_backend(const struct trace_request *r);

/* Returns why no program can be captured on a GPU of this machine, with what to do; NULL: programs
 * can. If there are several vendors, the sentence is about the one of which most is installed. It
 * loads the drivers: call it in a helper process. */
const char *here_lacks(const char *backend);

/* Returns the interface by which programs use the GPUs: "CUDA", "HIP", "CUDA or HIP". Only checks
 * files. */
const char *here_runtime(const char *backend, char *out, size_t size);

#endif
