/* writer.h - writes the session log on disk: channels, parts, dictionaries, limits.
 *
 * Rows go in, files come out:
 *   <dir>/<channel>.log            the part being written
 *   <dir>/<channel>.<N>.log        a finished part, N from 1, oldest first
 *   <dir>/<channel>.<N>.log.gz     the same, compressed by a low-priority thread
 * Every part starts with a header line and is readable alone: before a batch, the
 * dictionary rows and names that the batch refers to and that the part lacks are
 * written (found by the columns' ref in schema/records.def, transitively). The files
 * are created when the log is opened and stay empty until
 * their channel's first row; writer_close removes those that are still empty.
 *
 * Readers find these names: parts are 1 to the highest N, then <channel>.log. A crash can
 * leave a part both plain and packed. Both are whole then, and readers take the .gz,
 * which gets its name only when it is complete. *.part is to be ignored. If a plain part is
 * gone by the time it is opened, its .gz is there. The header has the part's number,
 * so that a <channel>.log that is renamed meanwhile is not read twice.
 *
 * Rows are written with write(2) to an O_APPEND descriptor: once writer_flush has
 * returned, they are in the kernel and survive SIGKILL. A write that fails in the middle of
 * a line is cut off again. When the spool limit, the disk reserve or a full disk
 * ends the capture, rows are dropped and counted, but room is kept (256 KiB, or a
 * quarter of a smaller limit, within the limit) for message, end and the final
 * ledger, and half of it for clock, option, capability and other ledgers. 64 KiB of this room
 * are allocated on the disk from the start, if the file system supports that. Any other write error
 * ends only its channel. If the next part cannot be created, the active part goes on. The next
 * flush notices a deleted file: its rows count as lost, and the channel goes on in part
 * N + 1. If the directory is gone, the capture ends.
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
    WRITER_WRITE_ERROR,  /* no more can be written: see writer_stop_text */
};

struct writer_config {
    const char *dir;           /* the session's directory; exists */
    struct wire_header header; /* template: the writer sets channel, part, offset and clock */
    int64_t rotate_bytes;      /* plain size at which a part ends; 0: never */
    int64_t max_spool_bytes;   /* bytes of the session on disk; 0: no limit */
    int64_t min_free_bytes;    /* 0: no limit */
    bool compress;             /* finished parts, in a thread of nice 19 */
    int level;                 /* of the compression, 1 to 9; 0: a quick one */
    bool fsync_always;
    bool gpuflight; /* write the public client's rows instead of our batches: parts of that
                       format do not stand alone; kernel names stay mangled */
};

/* For an EVENT record rows + lost_disk + lost_memory is the number of rows given, without those
 * still in the batches and those for which the public client's format has no line. */
struct writer_counts {
    uint64_t rows[RECORD_COUNT];      /* taken by write(2); for a DICT with every repetition */
    uint64_t lost_disk[RECORD_COUNT]; /* dropped: limit or write error */
    uint64_t lost_memory[RECORD_COUNT];
    uint64_t bytes; /* plain bytes written, all channels */
};

struct writer;

/* Opens the log. names: the string dictionary of every `name` column; outlives the writer. The
 * configuration and its strings are copied. If the capture has to end at once (disk reserve), that
 * is no failure: see writer_stopped. */
int writer_open(struct writer **out, const struct writer_config *c, struct intern *names,
                struct err *e);

/* Defines (or redefines) a dictionary row. The first cell is its id; ids are dense from 1, except
 * those of `thread`, which are arbitrary. The row is kept for the session's life. If its content
 * has changed, it is written again, also in the parts that have it. 0, GPUFL_E_INVAL, _FULL (2^26
 * entries) or _NOMEM. */
int writer_define(struct writer *w, enum record_type type, const int64_t *row);

/* Writes a row that was defined, in its record's channel, even if no other row refers to it. Does
 * nothing in the public client's format. */
void writer_mention(struct writer *w, enum record_type type, int64_t id);

/* Returns true if a scope_open row is wanted for every scope that begins, not only for scopes that
 * stay open: the public client's format writes begins, and a kernel's row there names its
 * scopes. */
bool writer_wants_begins(const struct writer *w);

/* Adds a row of an EVENT record to its pending batch, and encodes the batch when it is full. */
void writer_row(struct writer *w, enum record_type type, const int64_t *row);

/* Encodes and writes all pending rows, and checks the limits. 0, or why the capture has ended. */
int writer_flush(struct writer *w);

/* Writes a separate file next to the log, once. False if the file exists, if there is no room
 * below the session's limit or on the disk, or if writing fails; then no file is left. */
bool writer_keep(struct writer *w, const char *file, const void *bytes, size_t size);

enum writer_stop writer_stopped(const struct writer *w);
const char *writer_stop_text(const struct writer *w); /* sentence; "" while it runs */

/* Describes, for a message, what happened to a channel since the last call of writer_event. */
struct writer_event {
    bool ended;     /* true: the channel has ended; false: its part grows on */
    char text[400]; /* sentence */
};

bool writer_event(struct writer *w, struct writer_event *out);

void writer_counts(const struct writer *w, struct writer_counts *out);

/* Flushes, closes the files, and stops the compressor at once: the part that is being packed stays
 * plain. The active part stays <channel>.log and is not compressed; in the public client's format
 * it gets its number. */
void writer_close(struct writer *w);

/* Drops everything in a forked child without writing, and leaks what cannot be freed safely. */
void writer_abandon(struct writer *w);

#endif
