/* tool.h - is the tool that rocprofiler-sdk loads: its contexts and buffers, made once in a
 * process.
 *
 * The library lets a tool create contexts and buffers only while it initializes the tool, before
 * or inside the program's first HIP call. So everything that a session may want is made then, and
 * sessions start and stop it.
 *
 *   main context      HIP calls, dispatches, copies, allocations: dispatches carry their call's
 *                     correlation id only if both are services of one context
 *   code context      code objects and their kernels, and the making of graphs; runs from the
 *                     initialization on
 *   samples context   PC sampling, which the library has apart from counters; made where a
 *                     session asks for it
 *   markers context   rocTX
 *
 * None of this is ever freed, because the library calls back from its own threads until the process
 * is gone, also while and after exit handlers run. */
#ifndef GPUFL_BACKEND_AMD_TRACE_TOOL_H
#define GPUFL_BACKEND_AMD_TRACE_TOOL_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* Makes the tool. c: the arguments of libgpufl-rocprofiler.so's call. Returns a struct rocp_tool;
 * NULL: this process has a tool already, or the library cannot be used. */
void *tool_configure(const struct tool_call *c);

/* Makes the library take our tool if the program is not run under `gpufl trace`. Has to be called
 * before the first HIP call. GPUFL_E_UNAVAILABLE or GPUFL_E_BUSY and what to do. [owner] */
int tool_force(const struct trace_config *c, struct err *e);

/* Makes the library count kernels for a session of this config, if that is asked for. This is
 * possible only while the library initializes the tool. 0 or why not. [owner] */
int tool_count(const struct trace_config *c, struct err *e);

/* Makes the library sample GPUs, under the conditions of tool_count. 0 or why not. [owner] */
int tool_sample(const struct trace_config *c, struct err *e);

/* Returns 0 if the tool is initialized, else why not. [owner] */
int tool_ready(struct err *e);

/* Returns why the library refused a kind that it has; for HIP_RUNTIME_API, calls that make graphs.
 * "": it did not refuse the kind. [owner, collector] */
const char *tool_refusal(enum rocp_kind kind);

/* Keeps nothing more, in the child of a fork, of code that is loaded. */
void tool_forget(void);

const struct rocp *tool_sdk(void);

/* Starts and stops what a session records. A stop waits for callbacks that run. [owner] */
int tool_start(const struct trace_config *c, struct err *e);
void tool_stop(void);

/* Windows start and stop all but rocTX, never concurrently with tool_start and tool_stop. [any] */
int tool_resume(struct err *e);
void tool_suspend(void);

/* Makes the library deliver its records; false: the library has been finalized. [collector] */
bool tool_flush(void);

#endif
