/* trace.h - declares the tracing ops of the AMD backend; see trace.c. */
#ifndef GPUFL_BACKEND_AMD_TRACE_H
#define GPUFL_BACKEND_AMD_TRACE_H

#include "backend/backend.h"

extern const struct trace_ops amd_trace;

#endif
