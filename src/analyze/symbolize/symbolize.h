/* symbolize.h - names and lines for the native frames of a session, and the texts of the source
 * files in its stacks.
 *
 * A traced program writes addresses. A reader of its session on the host that wrote it looks them
 * up (symbol/symbolizer.h) and appends the answers to the session's `code` channel, so that they
 * remain when the program's files are gone. Answers that the session has are not looked up again.
 *
 * These functions serve another reader (load.c), which passes on what it decodes, or
 * symbolize_session alone. The answers are lines of a log: the reader decodes them after the
 * session's own lines, whether they are written to the session or not. They are written only if
 * that is safe:
 *   - the session has ended: its log ends with an `end` row, or the caller says so, or its program
 *     is gone and has written nothing for a while;
 *   - this host wrote the session;
 *   - no other process is writing answers: we take an advisory lock on the directory, without
 *     waiting;
 *   - libdw is available, since without it the frames would stay without lines for ever. Owner's
 *     thread. */
#ifndef GPUFL_ANALYZE_SYMBOLIZE_SYMBOLIZE_H
#define GPUFL_ANALYZE_SYMBOLIZE_SYMBOLIZE_H

#include "analyze/read/discover.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/decode.h"

#include <stdbool.h>
#include <stdint.h>

struct symbolize_stats {
    uint64_t frames;    /* native frames of the session */
    uint64_t known;     /* frames that were looked up before */
    uint64_t lines;     /* frames looked up now: with a line */
    uint64_t functions; /* with a function only */
    uint64_t unknown;   /* with neither */
    uint64_t sources;   /* files kept now */
    bool unwritten;     /* some answers were not written to the session */
    char note[384];     /* why there are no lines, or why nothing was written; "": no reason */
    /* Says why functions of device code have no instructions; "": all have them, or there are none.
     * */
    char code_note[384];
};

/* Adds b to a. */
void symbolize_stats_add(struct symbolize_stats *a, const struct symbolize_stats *b);

struct symbolize;

/* Call this function before a session is read; s must live until close. over: the program has
 * ended, whatever the log says. 0 or GPUFL_E_NOMEM. */
int symbolize_open(struct symbolize **out, const struct discover_session *s, bool over);
void symbolize_close(struct symbolize *z);

/* Lets symbolize_finish show its progress on stderr, if that is a terminal and the work takes over
 * a second. */
void symbolize_progress(struct symbolize *z);

/* The session's decoder calls these. */
int symbolize_header(struct symbolize *z, const struct wire_header *h);
int symbolize_name(struct symbolize *z, uint32_t id, const char *text, size_t len);
int symbolize_batch(struct symbolize *z, const struct wire_batch *b);

/* This is called after the last line: looks up and writes. *lines gets the lines to decode after
 * the session's own, valid until close. 0 or GPUFL_E_NOMEM; a failure to write is not an error. */
int symbolize_finish(struct symbolize *z, struct symbolize_stats *stats, const struct buf **lines);

/* This is the code of the message that says how the program of a session without an end ended. */
#define SYMBOLIZE_ENDING "process_end"

/* Does all of this for a session that no other reader reads. flags: see gpufl_symbolize. */
int symbolize_session(const struct discover_session *s, int flags, struct symbolize_stats *stats);

#endif
