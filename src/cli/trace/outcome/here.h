/* here.h - which vendors' GPUs this machine has, as far as a launcher can know: the causes of a run
 * without a session, and the words of sentences about it, depend on that.
 *
 * backend: the name that the options or the environment give; NULL: none. One thread. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_HERE_H
#define GPUFL_CLI_TRACE_OUTCOME_HERE_H

#include "backend/vendor.h"
#include "cli/trace/options/options.h"

/* Folder before the device files; "" except in tests. */
extern const char *here_root;

/* The backend that a request or the environment names; NULL: none. */
const char *here_backend(const struct trace_request *r);

/* Why no program can be captured on a GPU here, with what to do; NULL: one can. If several vendors
 * are here, the one of whom most is here says it. Loads the drivers: call it in a helper
 * process. */
const char *here_lacks(const char *backend);

/* What programs use the GPUs by: "CUDA", "HIP", "CUDA or HIP". By files alone. */
const char *here_runtime(const char *backend, char *out, size_t size);

#endif
