/* journal.h - writes the monitor's session logs: a new one each day (UTC), and whenever the clock
 * of the host was set or the machine slept, because a session has one offset between its clock and
 * the world's.
 *
 * The sampling thread puts rows into a bounded box, between journal_enter and journal_leave; the
 * main thread moves them to the disk. A slow or full disk never stops the sampling: rows without
 * room, or without a session, are counted. A session whose log has ended (disk full) is closed, and
 * the monitor tries to begin a new one until it can.
 *
 * Ids of names belong to a session: the generation that journal_enter returns changes when another
 * session begins, and the caller then describes devices and processes again.
 *
 * Threads: journal_enter, _leave, _name, _row [sampling]; all else [main]. */
#ifndef GPUFL_MONITORD_JOURNAL_H
#define GPUFL_MONITORD_JOURNAL_H

#include "backend/backend.h"
#include "base/clock.h"
#include "base/intern.h"
#include "capture/log/writer.h"
#include "capture/options/process_info.h"
#include "monitord/options.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { JOURNAL_BOX_MOST = 128 << 10 }; /* cells of 8 bytes */

struct journal_box {
    int64_t *cells; /* owned: type, then the row, again and again */
    size_t used, cap;
};

struct journal_counts {
    /* For lack of room in the box, on the disk or in memory; all sessions. */
    uint64_t rows_lost;
    uint64_t sessions;      /* begun */
    uint64_t sessions_lost; /* times when none could be begun */
    uint64_t clock_steps;
    int64_t suspended; /* ns */
    uint64_t bytes;    /* written, before compression */
};

struct journal {
    const struct monitor_options *options;
    const char *backend, *caution; /* as given to journal_open */
    pthread_mutex_t lock;
    struct journal_box box;      /* guarded by lock, as all to the next blank line */
    struct intern *names;        /* owned */
    uint64_t generation;         /* of the session; 0: none yet */
    struct process_info process; /* of the session that is written */
    char dir[PATH_MAX];          /* of that session; "": none */
    struct journal_counts counts;

    struct journal_box taken;    /* owned; the main thread's, as all below */
    struct writer *writer;       /* NULL: no session */
    struct writer_counts before; /* of the writer, at the last flush */
    int64_t day;                 /* of the session, since the epoch */
    int64_t offset;              /* ns: real - monotonic when it began */
    int64_t asleep;              /* ns: boottime - monotonic when it was read last */
    int64_t begun;               /* steady ns of the last try to begin a session */
    int64_t clock_row_at;        /* steady ns of the next clock record */
    bool said;                   /* the log has said that nothing can be written */
};

/* Begins the first session; a folder that cannot be written is an error with a sentence. Every
 * session names the backend, and has the caution as a note (NULL: none); both texts must outlive
 * the journal. */
int journal_open(struct journal *l, const struct monitor_options *o, const char *backend,
                 const char *caution, struct err *e);

/* Makes the folder of the logs and checks that it can be used. 0 or a code with a sentence. */
int journal_check(const struct monitor_options *o, struct err *e);

/* Writes the rows of the box, and begins another session if one is due. roll: begins one in any
 * case. */
void journal_flush(struct journal *l, bool roll);

/* Adds a row of a record by the main thread, to the session that is written. */
void journal_write(struct journal *l, enum record_type type, const void *row);
void journal_counts(struct journal *l, struct journal_counts *out); /* [any] */

/* Returns the session that is written: its id and folder ("": none). [any] */
uint64_t journal_session(struct journal *l, char id[37], char *dir, size_t size);

/* Writes the rows of the box and ends the session. The sampling thread may continue; its later rows
 * are lost. */
void journal_end(struct journal *l, const char *reason);
void journal_close(struct journal *l, const char *reason); /* ends, and frees: no thread is left */

uint64_t journal_enter(struct journal *l); /* takes the lock; returns the generation */
void journal_leave(struct journal *l);
int64_t journal_name(struct journal *l, const char *text); /* id; 0: empty */
void journal_row(struct journal *l, enum record_type type, const void *row);

#endif
