/* calls.h - follows HIP calls of the program: launches, waits, and facts that records lack.
 *
 * The library calls back at a call's entry and exit, on the thread that makes the call. A launch is
 * counted at its entry; a call that waits is reported at its exit, with the stack of the thread.
 * Records of dispatches and copies have neither the stream nor the kind of a fill. The call has
 * both; it is remembered by its correlation id until the record has come. */
#ifndef GPUFL_BACKEND_AMD_TRACE_CALLS_H
#define GPUFL_BACKEND_AMD_TRACE_CALLS_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* Describes a call as the library reports it, in one form for all versions. */
struct call_event {
    uint64_t correlation;
    uint32_t operation, phase;
    const struct rocp_call *call;
    union rocp_user *user;
};

/* Holds the facts of a call that its record lacks. */
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

/* Finds the library's numbers of the calls; operations gets those that the library has. Returns how
 * many. [owner] */
size_t calls_find(const struct rocp *sdk, uint32_t operations[CALLS_MOST]);

/* Calls are reported to the sink from now on; NULL: to none. [owner] */
void calls_report(struct sink *s, const struct trace_config *c);

/* Opens or closes the session's window. A call that begins outside of a window is not reported,
 * except launches before the first window if c->passed. A close waits until launches that other
 * threads began in the window have returned. False: the deadline (clock_mono, ns) came first.
 * Called by one thread at a time. [any] */
bool calls_window(bool open, int64_t deadline);

/* Notes that recording stops, or begins later than the session. Which GPU a thread chooses
 * meanwhile is not seen, so its waits have no device until it chooses one again. [any] */
void calls_pause(void);

/* Returns the argument at an offset, and what the call returned; 0 if the payload has none.
 * [hot] */
uint64_t calls_argument(const struct rocp_call *c, unsigned offset);
int calls_result(const struct rocp_call *c);

/* This is the library's callback. [hot] */
void calls_event(const struct call_event *e);

/* Gets the facts of a call. False: none were remembered, or later calls have overwritten them.
 * [collector] */
bool calls_facts(uint64_t correlation, struct call_facts *out);

/* Returns the number of kernels launched in this session without an error, with those of graphs if
 * their number is known. [any] */
uint64_t calls_launched(void);

/* Returns the time in callbacks of the session, ns, extrapolated from those that were measured.
 * [any] */
int64_t calls_cost(void);

#endif
