/* scopes.h - scopes and launches on the program's threads, and their rows.
 *
 * A begin is accepted only where the ring keeps room for its end and the ends of
 * all scopes open on the thread, so an accepted scope always closes. Joins of
 * launches take room beyond that reserve. What finds no room is counted. */
#ifndef GPUFL_CAPTURE_RECORDS_SCOPES_H
#define GPUFL_CAPTURE_RECORDS_SCOPES_H

#include "backend/backend.h"
#include "base/tick.h"
#include "capture/log/writer.h"
#include "capture/records/inherit.h"
#include "capture/records/joins.h"
#include "capture/records/spans.h"

#include <stdint.h>

struct thread_state;

/* Handle, or 0 where the scope is not recorded. [hot] */
uint64_t scopes_begin(const char *name, const char *tag, uint32_t repeat, uint32_t warmup);
void scopes_end(uint64_t handle); /* [hot] */

/* The same of a scope whose iterations are told, each at its begin. [hot] */
uint64_t scopes_begin_repeated(const char *name, const char *tag, uint32_t repeat, uint32_t warmup);
void scopes_repetition(uint64_t handle);

/* The same as scopes_begin for a name of a length, a tag or NULL. [hot] */
uint64_t scopes_begin_text(const char *name, size_t length, const char *tag);

/* Ends that scope alone, of this thread or another: what was opened inside it stays open. [hot] */
void scopes_leave(uint64_t handle);

/* Outermost scopes are told to this from now on, on their threads; NULL: to none. Before the first
 * of a session, or none. [owner] */
void scopes_ranges(trace_range_fn *range, struct trace *t, bool scopes);

/* The thread, which is the calling one, ends: closes the window that a scope of it has opened. */
void scopes_thread_ends(struct thread_state *t);

/* The calling thread is about to end: see RANGE_SETTLES. */
void scopes_settle(void);

/* Counts a launch and joins it to the innermost open scope. [hot] */
void scopes_launch(const struct launch *l);
/* The same of a kernel alone that no window limits. [hot] */
void scopes_kernel(uint32_t correlation);
bool scopes_inside(void); /* [hot] the session has scopes */

/* Records a call that waited, on the thread that made it. [hot] */
void scopes_wait(const struct wait *w);

/* A scope that another thread than its own ended. */
struct scope_afar {
    uint64_t instance;
    int64_t end; /* ns */
};

/* The collector's side of all rings. */
struct scopes_drain {
    struct writer *writer;
    struct joins *joins;
    struct ids *ids;
    void (*thread)(void *arg, int32_t tid, const char *name); /* before a row names the thread */
    void *arg;
    uint64_t lost;           /* scopes lost for want of the collector's own memory */
    struct inherit inherit;  /* launches outside scopes */
    uint64_t until;          /* slots of this tick or later wait for the next round */
    struct tick_curve curve; /* of the session */
    int64_t left;            /* when a scope of a thread that is gone was seen last, ns */
    struct scope_afar *afar; /* owned: ended by other threads, in this round */
    size_t afar_count, afar_cap;
    struct sync_row *syncs; /* owned: synchronizations outside scopes, in this round */
    size_t sync_count, sync_cap;
    int64_t known;      /* what scopes did before this time is known, ns */
    struct spans spans; /* that ended of late */
};

/* Instance of the innermost scope that is open since `start` (ns) or longer, where one thread alone
 * has had scopes open since then; 0: none, or there are several to choose from. After
 * scopes_drain. [collector] */
uint64_t scopes_cover(const struct scopes_drain *d, int64_t start);

/* Instance of the innermost scope that covers the time from start to end (ns), which is over; 0:
 * none does; CELL_NULL: not known, or scopes of several threads do. [collector] */
int64_t scopes_span(const struct scopes_drain *d, int64_t start, int64_t end);

/* A new session starts: before the gate opens. shortest: least length in ns of what scopes_span
 * will be asked for; INT64_MAX: it will not be. [owner] */
void scopes_begin_session(struct scopes_drain *d, int64_t shortest);

/* The session is over: gives memory back. [collector] */
void scopes_drain_fini(struct scopes_drain *d);

/* Empties the rings as they are now; frees the memory of threads that ended. all: also what
 * is being pushed meanwhile, at the end. [collector] */
void scopes_drain(struct scopes_drain *d, bool all);

/* A flush: scopes that have been open since the last one are written as open, once.
 * all: at the end of the session, whatever their age. [collector] */
void scopes_boundary(struct scopes_drain *d, bool all);

#endif
