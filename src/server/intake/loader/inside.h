/* inside.h - has what the files of the loader share. loader.c has the queues and the threads,
 * loader/session.c what a thread does with one of its sessions, row_writer.c makes rows and a
 * commit of a session's frames, loader/counts.c has a session's counts and reports about it. A
 * frame goes through the files in this order. */
#ifndef GPUFL_SERVER_INTAKE_LOADER_INSIDE_H
#define GPUFL_SERVER_INTAKE_LOADER_INSIDE_H

#include "base/process/thread.h"
#include "server/intake/loader/loader.h"
#include "server/intake/loader/queue.h"

enum { LOADER_THREADS_MAX = 16 };

/* Counts a workspace's sessions that are tried again. */
struct loader_failing {
    char workspace[STORE_ID_MAX];
    uint64_t sessions, lack_memory; /* lack_memory: of these, for which memory was short */
    int64_t bytes;                  /* in the journal */
};

/* Holds what a thread's sessions have not committed, as of its last check of all of them. Written
 * by the thread, relaxed except `taken`. */
struct loader_held {
    _Atomic uint64_t sessions, failing, columns;
    _Atomic int64_t bytes;
    _Atomic int64_t since;    /* CLOCK_MONOTONIC ns; INT64_MAX: nothing */
    _Atomic int64_t together; /* `since`, without sessions that fail alone */
    /* When the thread first took a frame from the queue after that check; INT64_MAX: it took none.
     * Release, after the others: if a reader gets INT64_MAX, the others are up to date. */
    _Atomic int64_t taken;
};

struct loader_thread {
    struct loader *loader;
    struct thread thread;
    pthread_mutex_t lock;           /* guards the members down to drain_done */
    struct loader_failing *failing; /* owned */
    size_t failing_count, failing_cap;
    pthread_cond_t some;
    pthread_cond_t drained;
    struct loader_queue queue;
    bool stop;
    uint64_t drain_asked, drain_done;
    bool drain_waits; /* a drain cannot be answered yet; only the thread uses it */
    /* Only the thread uses these, except the counters. */
    struct row_writer_tools tools; /* its reader and room are owned */
    struct row_writer *list;       /* owned */
    int64_t looked;                /* CLOCK_MONOTONIC ns of the last check of all sessions */
    bool waiting;                  /* more frames are in the queue */
    unsigned open_most;            /* sessions with columns; less after memory was short */
    bool shedding;                 /* sessions are being closed because memory was short */
    unsigned due;                  /* ended sessions that wait to be committed together */
    int64_t due_since;             /* CLOCK_MONOTONIC ns: since when the first one waits */
    unsigned retried;              /* sessions, in this check of all */
    struct loader_held held;
    _Atomic uint64_t retries, set_aside; /* relaxed */
    _Atomic unsigned open;               /* relaxed */
};

struct loader {
    struct loader_config config;
    char *aside; /* owned */
    struct journal *journal;
    _Atomic bool started; /* release in loader_start; before that, frames come from the replay */
    bool no_memory;       /* for a session of the replay; written before the start */
    unsigned thread_count;
    struct loader_thread threads[LOADER_THREADS_MAX];
    _Atomic uint64_t frames;   /* relaxed */
    _Atomic int64_t committed; /* CLOCK_MONOTONIC ns of a thread's last commit; relaxed */
    int64_t slow_at;           /* only thread 0 uses it */
};

/* Returns the ns that the next frame of a thread has waited. */
int64_t loader_thread_lag(struct loader_thread *t);

/* ---- loader/failing.c ------------------------------------------------------------------------ */

/* Counts the sessions that are tried again. [the thread] */
void loader_failing_note(struct loader_thread *t);

/* Adds those of a workspace to its backlog. [any] */
void loader_failing_add(struct loader_thread *t, const char *workspace, struct ingest_backlog *out);
void loader_failing_free(struct loader_thread *t);

/* ---- loader/session.c and loader/counts.c: all by the session's thread ----------------------- */

/* Finds or makes the session's row writer; NULL: out of memory. */
struct row_writer *loader_session(struct loader_thread *t, struct intake_session *s);
void loader_session_free(struct loader_thread *t, struct row_writer *g);

/* Returns true if the session was deleted: its frames are dropped, and loader_look_at releases
 * it. */
bool loader_is_dropped(const struct row_writer *g);

void loader_give(struct loader_thread *t, struct row_writer *g, const struct queued_frame *f);
void loader_commit(struct loader_thread *t, struct row_writer *g);

/* The functions note a commit; and a failure, which has undone the transaction. */
void loader_note_commit(struct loader_thread *t, struct row_writer *g, uint64_t rows,
                        uint64_t kernels);
void loader_note_failure(struct loader_thread *t, struct row_writer *g, int rc,
                         const struct err *e);

/* ---- loader/together.c ----------------------------------------------------------------------- */

bool loader_is_due(const struct loader_thread *t, const struct row_writer *g, int64_t now);

/* Commits together the sessions that are due, except deleted ones. */
void loader_commit_due(struct loader_thread *t, int64_t now);

/* Notes that a session has ended. The session is committed when enough ended sessions wait, or at
 * the next check of all sessions; while sessions collect, at the first check after a tenth of a
 * second. */
void loader_commit_ended(struct loader_thread *t);

/* ---- loader/session.c ------------------------------------------------------------------------ */

/* Writes the end of a session that is complete and committed, and reports it. */
void loader_end(struct loader_thread *t, struct row_writer *g);

/* Writes and reports the ends of all such sessions, many in one transaction. */
void loader_end_all(struct loader_thread *t);

/* Commits, retries, ends or closes the session if that is due. True: the session was released. */
bool loader_look_at(struct loader_thread *t, struct row_writer *g, int64_t now);

/* Returns true if the session fails and others do not: its failure is its own, or others have been
 * committed since it fails. */
bool loader_fails_alone(const struct loader_thread *t, const struct row_writer *g);

/* Adds what the session has not committed to *sum. */
void loader_hold(const struct row_writer *g, struct loader_queue_load *sum);

/* Returns true if the counts in the small tables should be updated. */
bool loader_counts_due(const struct loader_thread *t, const struct row_writer *g, int64_t now);
void loader_put_counts(struct loader_thread *t, struct row_writer *g);
/* Reports to the session's listeners what is new of it. n: without its names and lag. */
void loader_report(struct loader_thread *t, struct row_writer *g, struct loader_news n);

/* Appends the frame that ends a session to the journal, so that the end has its place in the
 * order. */
void loader_ask_end(struct loader *l, const char *workspace, const char *session, bool silent);

#endif
