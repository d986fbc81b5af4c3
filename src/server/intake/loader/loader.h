/* loader.h - turns frames of the journal into committed columns.
 *
 * Each thread owns some of the sessions. A session's frames are decoded, added to the pyramid and
 * appended to its columns in order, and committed about twice a second or every million rows. The
 * commit includes the positions of the session's channels and the number of its last frame, so that
 * frames which the journal gives out again after a crash are skipped. After the commit the frames
 * are released.
 *
 * The columns also have, in table `unknown`, what is not a record: lines of types that this version
 * does not know, under their channel; header lines under LOADER_HEADERS; and counts of decoding
 * under LOADER_COUNTS, a JSON object for each commit, which are added up.
 *
 * Workspaces take turns, so that one with much to load does not delay the others (loader/queue.h).
 * At most open_most sessions are open concurrently: the one used longest ago is committed and
 * closed for the next one.
 *
 * A session whose store fails is tried again, with growing delays, while the others go on, as long
 * as the cause may pass: memory, room on the disk, locks, a store that cannot be reached. If its
 * columns or frames are damaged, after LOADER_TRIES failures, or if nothing has helped for an hour,
 * its frames are set aside in a file (aside.h), so that they do not fill the journal.
 *
 * The loader registers sessions (meta.h), updates their counts, and ends them: some time after an
 * `end` row, when their sender says that they are complete, or when they have been silent for
 * long. */
#ifndef GPUFL_SERVER_INTAKE_LOADER_LOADER_H
#define GPUFL_SERVER_INTAKE_LOADER_LOADER_H

#include "base/err.h"
#include "server/intake/ingest.h"
#include "server/intake/journal.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

#define LOADER_HEADERS ".header"
#define LOADER_COUNTS  ".counts"

enum { LOADER_TRIES = 8 };

/* Describes a change of a session, which its thread reports after a commit. */
struct loader_news {
    const char *workspace, *session;
    uint64_t rows;    /* committed now */
    uint64_t kernels; /* of these rows, those of kernels */
    bool ended;       /* it is complete */
    bool counts_only; /* its counts were written, and nothing was committed */
    int64_t lag;      /* ns that the next frame has waited to be loaded */
};

struct loader_config {
    struct sessions *sessions; /* its config has the number of loader threads */
    const char *aside;         /* folder for frames that cannot be loaded */
    int64_t commit_ns;         /* longest time to a commit; 0: 400 ms */
    /* Says how long ended sessions wait for others, see commit_all; 0: 100 ms. */
    int64_t gather_ns;
    uint64_t commit_rows; /* most rows of a commit; 0: 1 million */
    int64_t quiet_ns;     /* after an `end` row; 0: 3 s */
    /* After which a session without an `end` row is ended; 0: 10 min. */
    int64_t silence_ns;
    int64_t retry_ns;    /* before the first retry of a session; 0: 500 ms */
    int64_t idle_ns;     /* after which a session's decoder and columns are closed; 0: 30 s */
    unsigned open_most;  /* most open sessions, all threads; 0: 64 */
    struct fleet *fleet; /* gets the states of hosts and GPUs; may be NULL */
    void *arg;
    void (*news)(void *arg, const struct loader_news *n); /* may be NULL */
};

struct loader;

/* The order is: open the loader, then the journal, which gives the loader frames from journal_open
 * on; then call loader_start. */
int loader_open(struct loader **out, const struct loader_config *c, struct err *e);
int loader_start(struct loader *l, struct journal *j, struct err *e);

/* Commits what has been read, and ends the threads. Remaining frames come again at the next start.
 * The journal must still be open; close it after the loader. */
void loader_stop(struct loader *l);
void loader_close(struct loader *l);

/* This is the function for journal_config.durable. */
void loader_take(void *arg, const struct journal_frame *f, struct journal_place p);
/* This is the function for ingest_config.abandon. */
void loader_abandon(void *arg, struct intake_session *s, uint64_t body);
/* Returns the ns that the oldest frame which no thread has taken has waited. */
int64_t loader_lag(struct loader *l);

/* This is the function for ingest_config.backlog, and says what waits to be loaded. */
void loader_backlog(void *arg, const char *workspace, const char *session,
                    struct ingest_backlog *out);

/* Waits until all frames that were given so far are committed; false: timeout_ns is over. */
bool loader_drain(struct loader *l, int64_t timeout_ns);

struct loader_stats {
    uint64_t frames, rows, kernels, commits;
    uint64_t damaged;     /* lines that were accepted and that the decoder could not read */
    uint64_t lost_frames; /* unreadable in the journal */
    uint64_t set_aside;   /* frames of sessions that cannot be loaded */
    uint64_t retries;     /* of sessions whose store failed */
    uint64_t waiting;     /* frames that no thread has taken */
    unsigned open;        /* sessions that a thread has in its list */
    unsigned columns;     /* of these, with open columns */
    int64_t lag;          /* ns */
    /* The backlog: frames that are acknowledged and not committed, for whatever reason. */
    uint64_t backlog_sessions, failing_sessions; /* failing: are tried again */
    int64_t backlog_bytes, backlog_age;          /* ns since the oldest frame came */
    int64_t stuck_age; /* backlog_age, without sessions that fail while others are committed */
    uint64_t aside_sessions; /* with frames set aside, now */
};

void loader_stats(struct loader *l, struct loader_stats *out);

#endif
