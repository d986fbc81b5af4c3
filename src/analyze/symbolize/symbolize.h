/* symbolize.h - names and lines for the native frames of a session, and the texts of the sources
 * that its stacks go through.
 *
 * A traced program writes addresses. A reader of its session on the same host looks them up
 * (symbol/symbolizer.h) and appends the answers to the session's `code` channel, so that they
 * remain when the program's files are gone. What the session has already is not looked up again.
 *
 * It is used together with another reader (load.c), which passes on what it decodes, or alone.
 * The answers are lines of a log, written or not: the reader decodes them after the session's
 * own. They are written only where that can do no harm:
 *   - the session is over: its log ends with an `end` row, or the caller knows, or its program is
 *     gone and has written nothing for a while;
 *   - this is the host that wrote it;
 *   - no other process is writing answers: an advisory lock on the directory, never waited for;
 *   - libdw is available, else the frames would stay without lines for ever. Owner's thread. */
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
    uint64_t known;     /* of them: looked up before */
    uint64_t lines;     /* looked up now: with a line */
    uint64_t functions; /* with a function only */
    uint64_t unknown;   /* with neither */
    uint64_t sources;   /* files kept now */
    bool unwritten;     /* something that was found is not in the session */
    char note[384];     /* why there are no lines, or why nothing was written; "": no reason to say
                           anything */
    /* Why functions of device code have no instructions; "": all have them, or there are none. */
    char code_note[384];
};

/* b into a. */
void symbolize_stats_add(struct symbolize_stats *a, const struct symbolize_stats *b);

struct symbolize;

/* Begins before a session is read; s is needed until close. over: its program has ended, whatever
 * the log says. 0 or GPUFL_E_NOMEM. */
int symbolize_open(struct symbolize **out, const struct discover_session *s, bool over);
void symbolize_close(struct symbolize *z);

/* Says on stderr, where that is a terminal, how far symbolize_finish is; it does so from its first
 * second on. */
void symbolize_progress(struct symbolize *z);

/* The session's decoder calls these. */
int symbolize_header(struct symbolize *z, const struct wire_header *h);
int symbolize_name(struct symbolize *z, uint32_t id, const char *text, size_t len);
int symbolize_batch(struct symbolize *z, const struct wire_batch *b);

/* Called after the last line: looks up, writes. *lines: what to decode after the session's own
 * lines, valid until close. 0 or GPUFL_E_NOMEM; failing to write is no failure. */
int symbolize_finish(struct symbolize *z, struct symbolize_stats *stats, const struct buf **lines);

/* Code of the message that says how the program of a session without an end ended. */
#define SYMBOLIZE_ENDING "process_end"

/* Does all of this for a session that nobody else reads. flags: see gpufl_symbolize. */
int symbolize_session(const struct discover_session *s, int flags, struct symbolize_stats *stats);

#endif
