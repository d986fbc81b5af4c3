/* trace.c - tracing on AMD's GPUs: none in this build, which a session says. */
#include "backend/amd/trace.h"

static int trace_open(struct trace **out, const struct trace_config *c, struct sink *sink,
                      struct err *e)
{
    (void)c;
    (void)sink;
    *out = NULL;
    return err_set(e, GPUFL_E_NOT_BUILT,
                   "this release does not record the kernels of AMD's GPUs; metrics of the GPUs, "
                   "scopes and the host are recorded");
}

const struct trace_ops amd_trace = {.open = trace_open};
