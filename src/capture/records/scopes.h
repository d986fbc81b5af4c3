/* scopes.h - handles scopes, marks, launches and waits on the program's threads, and their rows.
 *
 * The program's threads put events into their rings (scopes.c); the collector makes rows of
 * the rings' slots (scopes_drain.c).
 *
 * A begin is accepted only if the ring keeps room for its end and the ends of
 * all scopes open on the thread, so an accepted scope always closes. Joins of
 * launches take room beyond that reserve. An event without room is counted as lost. */
#ifndef GPUFL_CAPTURE_RECORDS_SCOPES_H
#define GPUFL_CAPTURE_RECORDS_SCOPES_H

#include "backend/backend.h"
#include "base/tick.h"
#include "capture/log/writer.h"
#include "capture/records/inherit.h"
#include "capture/records/joins.h"
#include "capture/records/marks.h"
#include "capture/records/spans.h"

#include <stdint.h>

struct thread_state;

/* Begins a scope. Returns its handle, or 0 if the scope is not recorded. [hot] */
uint64_t scopes_begin(const char *name, const char *tag, uint32_t repeat, uint32_t warmup);
void scopes_end(uint64_t handle); /* [hot] */

/* Begins a scope whose iterations are reported, each when it begins. [hot] */
uint64_t scopes_begin_repeated(const char *name, const char *tag, uint32_t repeat, uint32_t warmup);
void scopes_repetition(uint64_t handle);

/* Begins a scope as scopes_begin does, with a name of a given length, and a tag or NULL. [hot] */
uint64_t scopes_begin_text(const char *name, size_t length, const char *tag);

/* Records a mark of the calling thread, with the present time; counts the mark as lost if the ring
 * is full. [hot] */
void scopes_mark(const struct marked *m);

/* Ends only that scope, which may be another thread's; scopes inside it stay open. [hot] */
void scopes_leave(uint64_t handle);

/* Sets the receiver of outermost scopes, which is called on their threads; NULL: none. Call this
 * function before the first scope of a session, or not at all. [owner] */
void scopes_ranges(trace_range_fn *range, struct trace *t, bool scopes);

/* Closes the window that a scope of the calling thread has opened, because the thread ends. */
void scopes_thread_ends(struct thread_state *t);

/* Reports that the calling thread is about to end: see RANGE_SETTLES. */
void scopes_settle(void);

/* Counts a launch and joins it to the innermost open scope. [hot] */
void scopes_launch(const struct launch *l);
/* Counts and joins a single kernel that no window limits. [hot] */
void scopes_kernel(uint32_t correlation);
bool scopes_inside(void); /* true: a launch can belong to a scope [hot] */

/* Records a call that waited, on the thread that made it. [hot] */
void scopes_wait(const struct wait *w);

/* Describes a scope that was ended by a thread other than its own. */
struct scope_afar {
    uint64_t instance;
    int64_t end; /* ns */
};

/* Holds the collector's state for all rings. */
struct scopes_drain {
    struct writer *writer;
    struct joins *joins;
    struct ids *ids;
    void (*thread)(void *arg, int32_t tid, const char *name); /* before a row names the thread */
    void *arg;
    uint64_t lost;           /* scopes lost because the collector had no memory */
    uint32_t tag;            /* of the scope that began last */
    bool library;            /* that tag is a library's */
    struct inherit inherit;  /* launches outside scopes */
    uint64_t until;          /* slots of a later tick wait for the next round */
    struct tick_curve curve; /* of the session */
    int64_t left;            /* when a scope of a thread that is gone was last seen, ns */
    struct scope_afar *afar; /* owned: scopes that other threads ended in this round */
    size_t afar_count, afar_cap;
    struct sync_row *syncs; /* owned: synchronizations outside scopes, in this round */
    size_t sync_count, sync_cap;
    int64_t known;      /* what scopes did before this time is known, ns */
    struct spans spans; /* that ended recently */
};

/* Ranges that a library opened itself are no scopes for the two functions below.
 *
 * Returns the instance of the innermost scope that has been open since `start` (ns) or longer, if
 * only one thread has had scopes open since then; 0: no scope, or several threads had. Call this
 * function after scopes_drain. [collector] */
uint64_t scopes_cover(const struct scopes_drain *d, int64_t start);

/* Returns the instance of the innermost scope that covers the past time from start to end (ns); 0:
 * no scope does; CELL_NULL: not known, or scopes of several threads do. [collector] */
int64_t scopes_span(const struct scopes_drain *d, int64_t start, int64_t end);

/* Returns the name of the innermost open scope of the thread that last began one; "": no scope is
 * open. Call this function after scopes_drain. [collector] */
const char *scopes_open_name(void);

/* Begins a session, before the gate opens. shortest: the least length, ns, of the times for which
 * scopes_span will be called; INT64_MAX: it will not be called. [owner] */
void scopes_begin_session(struct scopes_drain *d, int64_t shortest);

/* Ends the session: frees memory. [collector] */
void scopes_drain_fini(struct scopes_drain *d);

/* Empties the rings as they are now, and frees the memory of threads that ended. all: also
 * takes what is pushed meanwhile, at the end. [collector] */
void scopes_drain(struct scopes_drain *d, bool all);

/* Notes a flush: scopes that have been open for WRITTEN flushes get a scope_open row, once.
 * all: every open scope gets one, at the end of the session. [collector] */
void scopes_boundary(struct scopes_drain *d, bool all);

#endif
