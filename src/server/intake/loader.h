/* loader.h - turns frames of the journal into committed columns.
 *
 * Threads that each own some of the sessions: a session's frames are decoded, built into the
 * pyramid and appended to its columns in order, and committed about twice a second or every
 * million rows. With the commit goes how far the session's channels are, and the number of the
 * last frame that is in: frames that the journal hands out again after a crash are left out. After
 * the commit its frames are released.
 *
 * To hold the whole session, the columns keep (in `unknown`) what is no record: lines of types
 * that this version does not know, under their channel; header lines under LOADER_HEADERS; and
 * what was counted while decoding under LOADER_COUNTS, a JSON object a commit, which add up.
 *
 * Workspaces have turns, so that one with much to load does not hold up another (loader_queue.h).
 * At most open_most sessions are open at the same time: the one used longest ago is committed and
 * closed for the next.
 *
 * A session whose store fails is tried again, later and later, while the others go on, for as long
 * as the reason may go by: memory, room on the disk, locks, a store that is not reached. Where its
 * columns or frames are damaged, after LOADER_TRIES failures, or where nothing else has helped for
 * an hour, its frames are set aside in a file (aside.h), so that it does not fill the journal.
 *
 * The loader registers sessions (meta.h), counts them, and ends them: on an `end` row when nothing
 * more has come for a while, when their sender says that they are complete, and when they were
 * silent for long. */
#ifndef GPUFL_SERVER_INTAKE_LOADER_H
#define GPUFL_SERVER_INTAKE_LOADER_H

#include "base/err.h"
#include "server/intake/ingest.h"
#include "server/intake/journal.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

#define LOADER_HEADERS ".header"
#define LOADER_COUNTS  ".counts"

enum { LOADER_TRIES = 8 };

/* A change of a session, which its thread reports after a commit. */
struct loader_news {
    const char *workspace, *session;
    uint64_t rows;    /* committed now */
    uint64_t kernels; /* of them */
    bool ended;       /* it is complete */
    int64_t lag;      /* ns for which what comes next has waited to be loaded */
};

struct loader_config {
    struct sessions *sessions; /* its threads say how many loader threads there are */
    const char *aside;         /* folder for frames that cannot be loaded */
    int64_t commit_ns;         /* a commit at the latest; 0: 400 ms */
    int64_t gather_ns;         /* ended sessions wait for others, see commit_all; 0: 100 ms */
    uint64_t commit_rows;      /* at most; 0: 1 million */
    int64_t quiet_ns;          /* after an `end` row; 0: 3 s */
    int64_t silence_ns;        /* of a session without an end; 0: 10 min */
    int64_t retry_ns;          /* before the first retry of a session; 0: 500 ms */
    int64_t idle_ns;           /* after which a session's decoder and columns are closed; 0: 30 s */
    unsigned open_most;        /* sessions open at the same time, all threads; 0: 64 */
    struct fleet *fleet;       /* takes what hosts and GPUs do; NULL: nobody asks */
    void *arg;
    void (*news)(void *arg, const struct loader_news *n); /* NULL: nobody asks */
};

struct loader;

/* Order: open the loader, then the journal, which hands it frames from its open on; then
 * loader_start. */
int loader_open(struct loader **out, const struct loader_config *c, struct err *e);
int loader_start(struct loader *l, struct journal *j, struct err *e);

/* Commits what has been read, and ends the threads. Frames that are left come again from the
 * journal, which must still be open, and is closed after the loader. */
void loader_stop(struct loader *l);
void loader_close(struct loader *l);

/* journal_config.durable */
void loader_take(void *arg, const struct journal_frame *f, struct journal_place p);
/* ingest_config.abandon */
void loader_abandon(void *arg, struct intake_session *s, uint64_t body);
/* ns for which the oldest frame that no thread has looked at waits. */
int64_t loader_lag(struct loader *l);

/* ingest_config.backlog: what waits to be loaded. */
void loader_backlog(void *arg, const char *workspace, const char *session,
                    struct ingest_backlog *out);

/* Waits until all that was handed over before is committed; false: not within timeout_ns. */
bool loader_drain(struct loader *l, int64_t timeout_ns);

struct loader_stats {
    uint64_t frames, rows, kernels, commits;
    uint64_t damaged;     /* lines that the decoder could not read after all */
    uint64_t lost_frames; /* unreadable in the journal */
    uint64_t set_aside;   /* frames, of sessions that cannot be loaded */
    uint64_t retries;     /* of sessions whose store failed */
    uint64_t waiting;     /* frames that no thread has looked at */
    unsigned open;        /* sessions that a thread looks after */
    unsigned columns;     /* of them, with open columns */
    int64_t lag;          /* ns */
    /* The backlog: frames that were acknowledged and are not committed, whatever they wait for. */
    uint64_t backlog_sessions, failing_sessions; /* failing: they are tried again */
    int64_t backlog_bytes, backlog_age;          /* ns since the oldest frame came */
    uint64_t aside_sessions;                     /* with frames set aside, now */
};

void loader_stats(struct loader *l, struct loader_stats *out);

#endif
