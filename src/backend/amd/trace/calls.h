/* calls.h - HIP calls of the program: launches, waits, and what their records lack.
 *
 * The library calls back at a call's entry and exit, on the thread that makes it. A launch is
 * counted at its entry; a call that waits is reported at its exit, with the stack of the thread.
 * Records of dispatches and copies say neither the stream nor what a fill was: the call says it,
 * and is remembered by its correlation id until the record has come. */
#ifndef GPUFL_BACKEND_AMD_TRACE_CALLS_H
#define GPUFL_BACKEND_AMD_TRACE_CALLS_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* A call as the library hands it over, whatever its version. */
struct call_event {
    uint64_t correlation;
    uint32_t operation, phase;
    const struct rocp_call *call;
    union rocp_user *user;
};

/* What a call says of its record. */
struct call_facts {
    uint32_t stream; /* WAIT_NO_STREAM: unknown */
    uint32_t graph;  /* of a graph's launch; 0 */
    int64_t bytes;   /* or CELL_NULL */
    uint8_t wait;    /* enum wait_call: COPY, FILL, else OTHER */
    bool async;
    bool counted; /* of a graph: calls_launched has its kernels */
    uint8_t copy; /* hipMemcpyKind; 0: unknown */
};

enum { CALLS_MOST = 128 };

/* Finds the numbers of the calls in the library; *operations gets those that it has. Returns how
 * many. [owner] */
size_t calls_find(const struct rocp *sdk, uint32_t operations[CALLS_MOST]);

/* Calls are reported to the sink from now on; NULL: to none. [owner] */
void calls_report(struct sink *s, const struct trace_config *c);

/* Opens or closes the session's window. What begins outside of one is not reported, except launches
 * where c->passed, up to the first. A close waits until launches that other threads began in the
 * window have returned. False: the deadline (clock_mono, ns) came first. One thread at a time.
 * [any] */
bool calls_window(bool open, int64_t deadline);

/* Recording stops, or begins later than the session: which GPU a thread chooses meanwhile is not
 * heard, so its waits have none until it chooses again. [any] */
void calls_pause(void);

/* The argument at an offset, and what the call returned; 0 where the payload has none. [hot] */
uint64_t calls_argument(const struct rocp_call *c, unsigned offset);
int calls_result(const struct rocp_call *c);

/* The library's callback. [hot] */
void calls_event(const struct call_event *e);

/* Gives what was remembered of a call. False: nothing was, or later calls have overwritten it.
 * [collector] */
bool calls_facts(uint64_t correlation, struct call_facts *out);

/* Kernels of launches that were begun and did not fail, in this session, those of graphs included
 * where their number is known. [any] */
uint64_t calls_launched(void);

/* ns in callbacks of the session, extrapolated from those that were measured. [any] */
int64_t calls_cost(void);

#endif
