/* loader_inside.h - the part that the files of the loader share: loader.c has the queues and the
 * threads, loader_session.c what a thread does with one of its sessions, row_writer.c how a
 * session's frames become rows and a commit, loader_counts.c a session's counts, and what is
 * reported of it. A frame goes that way, from the first file to the last. */
#ifndef GPUFL_SERVER_INTAKE_LOADER_INSIDE_H
#define GPUFL_SERVER_INTAKE_LOADER_INSIDE_H

#include "base/process/thread.h"
#include "server/intake/loader.h"
#include "server/intake/loader_queue.h"

enum { LOADER_THREADS_MAX = 16 };

/* What a thread's sessions hold that is not committed, as of its last look at them; written by the
 * thread: relaxed, except taken. */
struct loader_held {
    _Atomic uint64_t sessions, failing, columns;
    _Atomic int64_t bytes;
    _Atomic int64_t since; /* CLOCK_MONOTONIC ns; INT64_MAX: nothing */
    _Atomic int64_t taken; /* when the thread took the first frame from the queue since that look;
                              INT64_MAX: none. Release, after the others: a reader of INT64_MAX reads
                              them as they are */
};

struct loader_thread {
    struct loader *loader;
    struct thread thread;
    pthread_mutex_t lock; /* of the members down to drain_done */
    pthread_cond_t some;
    pthread_cond_t drained;
    struct loader_queue queue;
    bool stop;
    uint64_t drain_asked, drain_done;
    bool drain_waits; /* it cannot be answered yet; the thread's own */
    /* The thread's own, except the counters. */
    struct journal_reader *reader;
    struct row_writer *list; /* owned */
    int64_t looked;          /* CLOCK_MONOTONIC ns, at all sessions */
    bool behind;             /* frames are waiting */
    unsigned open_most;      /* sessions with columns; less after memory was short */
    bool shedding;           /* sessions are being closed because memory was short */
    unsigned due;            /* sessions that have ended and wait to be committed together ... */
    int64_t due_since;       /* ... the first of them since then, CLOCK_MONOTONIC ns */
    unsigned retried;        /* sessions, in this look at all */
    struct loader_held held;
    struct row_writer_totals totals;
    _Atomic uint64_t retries, set_aside; /* relaxed */
    _Atomic unsigned open;               /* relaxed */
};

struct loader {
    struct loader_config config;
    char *aside; /* owned */
    struct journal *journal;
    _Atomic bool started; /* release in loader_start: before, frames are those of the replay */
    unsigned thread_count;
    struct loader_thread threads[LOADER_THREADS_MAX];
    _Atomic uint64_t frames; /* relaxed */
    int64_t slow_at;         /* of thread 0 */
};

/* ns for which the next frame of a thread has waited. */
int64_t loader_thread_lag(struct loader_thread *t);

/* ---- loader_session.c and loader_counts.c: all by the session's thread ----------------------- */

/* The session's part of the loader, made where it has none; NULL: out of memory. */
struct row_writer *loader_session(struct loader_thread *t, struct intake_session *s);
void loader_session_free(struct loader_thread *t, struct row_writer *g);

/* Says whether the session was deleted: nothing of it is wanted, and loader_look_at releases it. */
bool loader_is_dropped(const struct row_writer *g);

void loader_give(struct loader_thread *t, struct row_writer *g, const struct queued_frame *f);
void loader_commit(struct loader_thread *t, struct row_writer *g);

/* What follows a commit, and a failure of one: the transaction was undone. */
void loader_note_commit(struct loader_thread *t, struct row_writer *g, uint64_t rows,
                        uint64_t kernels);
void loader_note_failure(struct loader_thread *t, struct row_writer *g, int rc,
                         const struct err *e);

/* ---- loader_together.c ----------------------------------------------------------------------- */

bool loader_is_due(const struct loader_thread *t, const struct row_writer *g, int64_t now);

/* Commits the sessions that are due together, but none that was deleted. */
void loader_commit_due(struct loader_thread *t, int64_t now);

/* A session has ended: it is committed with as many others as go together, or at a look at all
 * sessions: the next one, or where sessions gather the next after a tenth of a second. */
void loader_commit_ended(struct loader_thread *t);

/* ---- loader_session.c ------------------------------------------------------------------------ */

/* Writes the end of a session that is complete and committed, and reports it. */
void loader_end(struct loader_thread *t, struct row_writer *g);

/* Writes and reports the ends of all such sessions, many in one transaction. */
void loader_end_all(struct loader_thread *t);

/* Commits, retries, ends or closes what is due. True: the session was released. */
bool loader_look_at(struct loader_thread *t, struct row_writer *g, int64_t now);

/* Adds what the session holds that is not committed. */
void loader_hold(const struct row_writer *g, struct loader_queue_load *sum);

/* Says whether the counts in the small tables are older than they should be. */
bool loader_counts_due(const struct loader_thread *t, const struct row_writer *g, int64_t now);
void loader_put_counts(struct loader_thread *t, struct row_writer *g);
/* Reports to those who follow the session that it has more rows (0: new counts), or that it
 * ended. */
void loader_tell(struct loader_thread *t, struct row_writer *g, uint64_t rows, uint64_t kernels,
                 bool ended);

/* Puts the frame that ends a session into the journal, so that it has its place in the order. */
void loader_ask_end(struct loader *l, const char *workspace, const char *session, bool silent);

#endif
