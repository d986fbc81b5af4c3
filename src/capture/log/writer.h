/* writer.h - the session log on disk: channels, parts, dictionaries, limits.
 *
 * Rows go in, files come out:
 *   <dir>/<channel>.log            the part being written
 *   <dir>/<channel>.<N>.log        a finished part, N from 1, oldest first
 *   <dir>/<channel>.<N>.log.gz     the same, compressed by a low-priority thread
 * Every part starts with a header line and is readable alone: before a batch is
 * written, the dictionary rows and names that it refers to and that this part
 * has not got yet are written (found by the columns' ref in schema/records.def,
 * transitively). The files are created when the log is opened and stay empty until
 * their channel's first row; writer_close removes those that are still empty.
 *
 * For readers: parts are 1 to the highest N, then <channel>.log. A crash can
 * leave a part both plain and packed; both are whole then, .gz wins, because it
 * gets its name when it is complete. *.part is to be ignored. A plain part can be gone
 * by the time it is opened: its .gz is there. The header says the part's number,
 * so that <channel>.log renamed in between is not taken twice.
 *
 * Writing is write(2) to an O_APPEND descriptor: what writer_flush returned is
 * in the kernel's hands and survives SIGKILL. A write that fails in the middle of
 * a line is cut off again. When the spool limit, the disk reserve or a full disk
 * ends the capture, rows are dropped and counted, but room is kept (256 KiB, or a
 * quarter of a smaller limit, within the limit) for message, end and the final
 * ledger, and half of it for clock, option, capability and other ledgers; of that, 64 KiB have
 * their place on the disk from the start, where the file system can promise it. Another write error
 * ends its channel alone. A part whose successor cannot be created grows on. A file
 * deleted under the writer is noticed by the next flush: its rows count as lost,
 * the channel goes on in part N + 1; without its directory the capture ends.
 *
 * [collector] unless a function says otherwise: one thread owns the writer. */
#ifndef GPUFL_CAPTURE_LOG_WRITER_H
#define GPUFL_CAPTURE_LOG_WRITER_H

#include "base/err.h"
#include "base/intern.h"
#include "wire/encode.h"

#include <stdbool.h>

enum writer_stop {
    WRITER_RUNS,
    WRITER_SPOOL_LIMIT,  /* max_spool_bytes reached */
    WRITER_DISK_RESERVE, /* less than min_free_bytes left on the disk */
    WRITER_WRITE_ERROR,  /* nothing can be written any more: see writer_stop_text */
};

struct writer_config {
    const char *dir;           /* the session's directory; exists */
    struct wire_header header; /* template: channel, part, offset and clock are the writer's */
    int64_t rotate_bytes;      /* plain size at which a part ends; 0: never */
    int64_t max_spool_bytes;   /* bytes of the session on disk; 0: no limit */
    int64_t min_free_bytes;    /* 0: no limit */
    bool compress;             /* finished parts, in a thread of nice 19 */
    int level;                 /* of that compression, 1 to 9; 0: a quick one */
    bool fsync_always;
    bool gpuflight; /* write the public client's rows instead of our batches: parts of that
                       format do not stand alone; kernel names stay mangled */
};

/* rows + lost_disk + lost_memory of an EVENT = rows given, except those in the batches and those
 * that the public client's format has no line for. */
struct writer_counts {
    uint64_t rows[RECORD_COUNT];      /* taken by write(2); of a DICT every repetition */
    uint64_t lost_disk[RECORD_COUNT]; /* dropped: limit or write error */
    uint64_t lost_memory[RECORD_COUNT];
    uint64_t bytes; /* plain bytes written, all channels */
};

struct writer;

/* names: the string dictionary of every `name` column; outlives the writer. The
 * configuration and its strings are copied. A capture that has to end at once (disk reserve) is
 * no failure: see writer_stopped. */
int writer_open(struct writer **out, const struct writer_config *c, struct intern *names,
                struct err *e);

/* Defines (or redefines) a dictionary row; the first cell is its id, from 1 and dense
 * except for `thread`, whose ids are arbitrary. Kept for the session's life; with other content
 * than before it is written again, also in the parts that have it. 0, GPUFL_E_INVAL, _FULL (2^26
 * entries) or _NOMEM. */
int writer_define(struct writer *w, enum record_type type, const int64_t *row);

/* Writes a row that was defined, in its record's channel, though no other row refers to it. The
 * public client's format has none such. */
void writer_mention(struct writer *w, enum record_type type, int64_t id);

/* True where scopes are to be given as `scope_open` when they begin, not only where they stay open:
 * the public client's format writes begins, and a kernel's row there names its scopes. */
bool writer_wants_begins(const struct writer *w);

/* Adds a row of an EVENT record to its channel's pending batch; encodes when full. */
void writer_row(struct writer *w, enum record_type type, const int64_t *row);

/* Encodes and writes everything pending; checks limits. 0, or why the capture has ended. */
int writer_flush(struct writer *w);

/* Writes a separate file next to the log, once. False where the file exists, where there is no room
 * below the session's limit or on the disk, or where writing fails; nothing is left then. */
bool writer_keep(struct writer *w, const char *file, const void *bytes, size_t size);

enum writer_stop writer_stopped(const struct writer *w);
const char *writer_stop_text(const struct writer *w); /* sentence; "" while it runs */

/* What happened to a channel since the last call, for a message: false where there is nothing
 * more. */
struct writer_event {
    bool ended;     /* the channel has ended; else its part grows on */
    char text[400]; /* sentence */
};

bool writer_event(struct writer *w, struct writer_event *out);

void writer_counts(const struct writer *w, struct writer_counts *out);

/* Flushes, closes the files, stops the compressor at once: the part in its hands stays plain.
 * The active part stays <channel>.log (in the public client's format it gets its number):
 * nothing is compressed on the way out. */
void writer_close(struct writer *w);

/* In a forked child: drops everything without writing a byte, leaks what cannot be freed safely. */
void writer_abandon(struct writer *w);

#endif
