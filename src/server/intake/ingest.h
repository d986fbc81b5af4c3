/* ingest.h - takes request bodies into the journal, and makes the answer.
 *
 * A body is NDJSON of one session, plain, gzip or zstd. The caller gives it piece by piece
 * (ingest_open, ingest_data …, ingest_finish, ingest_close). It is inflated, split into lines and
 * checked as it comes, in memory that does not grow with the body. Valid lines go to the journal;
 * others are left out and listed in the answer. The answer comes when all accepted lines are
 * durable.
 *
 * There are two kinds of bodies, both of which may be sent again without harm:
 *
 *   by offset   The body states its place in its channel: uncompressed bytes since the session's
 *               start, from the caller, or from the header line that every part of our logs begins
 *               with. Bytes that the session has already are skipped; a gap is refused with the
 *               offset that is expected (409). Each piece counts as it comes: a body that breaks
 *               off continues at the offset in the answer.
 *   windows     Bodies without an offset, as the public client sends them: they count as a whole,
 *               once for their identity: channel and sequence number where the request states
 *               them, else a window id, else the content.
 *
 * A line that is longer than WIRE_MAX_LINE, is not JSON, or has columns of different lengths is
 * left out and counted; a line of an unknown type is kept. A body without any acceptable line is
 * refused (400). An incomplete line at the end of a body by offset is not accepted, since its rest
 * may come.
 *
 * One thread at a time uses a body; any number of bodies may be used concurrently. */
#ifndef GPUFL_SERVER_INTAKE_INGEST_H
#define GPUFL_SERVER_INTAKE_INGEST_H

#include "base/buf.h"
#include "base/err.h"
#include "server/intake/journal.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

/* Counts acknowledged lines that are not loaded yet, of all workspaces and of the given one
 * (own). */
struct ingest_backlog {
    uint64_t sessions, own_sessions;
    int64_t bytes, own_bytes; /* in the journal */
    uint64_t own_lack_memory; /* sessions that are not loaded because memory was short */
    int64_t own_lag;          /* ns */
    bool waits;               /* the given session is being loaded, or waits for that */
};

struct ingest_config {
    struct journal *journal;
    struct sessions *sessions;
    int64_t body_max;   /* most bytes of a body as sent; 0: 4 GiB */
    int64_t plain_max;  /* most bytes inflated; 0: 32 GiB */
    unsigned ratio_max; /* inflated bytes for one sent; 0: 400 */
    double fill_max;    /* part of the journal's ceiling above which bodies are refused; 0: 0.9 */
    /* Reports the backlog; bodies are refused if it is too large. NULL: there is no limit. */
    void (*backlog)(void *arg, const char *workspace, const char *session,
                    struct ingest_backlog *out);
    void *backlog_arg;
    unsigned backlog_sessions; /* most sessions that may wait; 0: 512 */
    int64_t backlog_bytes;     /* most bytes that may wait; 0: 1 GiB */
    int64_t lag_max;           /* ns that a workspace's oldest frame may have waited; 0: 30 s */
    /* Called for a window that will not be sealed. */
    void (*abandon)(void *arg, struct intake_session *s, uint64_t body);
    void *abandon_arg;
};

enum ingest_encoding { INGEST_PLAIN, INGEST_GZIP, INGEST_ZSTD };

enum { INGEST_NO_OFFSET = -1, INGEST_NO_SEQUENCE = -1, INGEST_ERRORS = 32 };

/* Holds what the caller knows of a body before it arrives. Texts must live until ingest_close. */
struct ingest_request {
    const char *workspace; /* decided by the caller */
    const char *session;   /* NULL: from the body's first line */
    const char *channel;   /* NULL: from the header line; for windows "window" */
    int64_t offset;        /* INGEST_NO_OFFSET */
    enum ingest_encoding encoding;
    int64_t size;            /* Content-Length; -1: unknown */
    const char *window_id;   /* NULL: none */
    int64_t window_sequence; /* INGEST_NO_SEQUENCE */
    int64_t window_crc32;    /* of the body as sent; -1: not stated */
    /* Asked once, before anything of the body is kept: may the session's host send? The host is the
     * header's, else the one that the session's first header named; "": unknown. 0, or
     * GPUFL_E_TIMEOUT with a sentence, and the seconds to wait. NULL: every host may. */
    int (*admit)(void *arg, const char *session, const char *host, int64_t *wait, struct err *e);
    void *admit_arg;
    bool later; /* ingest_finish does not sync: the caller calls ingest_sync after some bodies */
};

struct ingest_error {
    uint64_t line;      /* from 1; in the body */
    char type[32];      /* as far as readable; else "" */
    const char *reason; /* a literal */
};

struct ingest_answer {
    int status;     /* of HTTP: 200, 400, 409, 410, 413, 415, 429, 503 */
    char text[512]; /* a sentence, unless the status is 200 */
    char session[STORE_ID_MAX], channel[JOURNAL_CHANNEL_MAX];
    char host[SESSION_HOST_MAX]; /* the session's, from its header; "": unknown */
    uint64_t accepted;           /* lines, including those that the session had already */
    uint64_t rejected;           /* lines */
    int64_t offset;  /* by offset: accepted uncompressed bytes of the channel; else -1 */
    bool window;     /* the body was a window, and is accepted */
    bool repeated;   /* the session had all of it already */
    int retry_after; /* s; 0: none */
    struct ingest_error errors[INGEST_ERRORS];
    unsigned error_count; /* of rejected ones, at most INGEST_ERRORS */
};

struct ingest;
struct ingest_body;

int ingest_start(struct ingest **out, const struct ingest_config *c, struct err *e);
void ingest_stop(struct ingest *in); /* after the last ingest_close */

/* Begins a body. Non-zero: the body is refused; *a is the answer, and *out is not set. */
int ingest_open(struct ingest *in, const struct ingest_request *r, struct ingest_body **out,
                struct ingest_answer *a);

/* Takes the next bytes. Non-zero: the rest is not needed; get the answer from ingest_finish. */
int ingest_data(struct ingest_body *b, const void *data, size_t n);

/* Ends the body: waits until what was accepted is durable, and fills in the answer. May block. */
void ingest_finish(struct ingest_body *b, struct ingest_answer *a);
/* Makes the lines of bodies with `later` durable. Non-zero: these bodies count as not taken. */
int ingest_sync(struct ingest *in, struct err *e);
void ingest_close(struct ingest_body *b); /* without ingest_finish: the sender disconnected */

/* Notes that the sender says a session is complete. Durable on return; a repeated call does no
 * harm. */
void ingest_complete(struct ingest *in, const char *workspace, const char *session,
                     struct ingest_answer *a);

/* Puts the answer's body: for 200 {"accepted","rejected","errors",…}, with window_acknowledged for
 * a window; otherwise a problem (RFC 9457), with expected_offset if it is known. */
void ingest_answer_json(const struct ingest_answer *a, struct buf *out);

struct ingest_counts {
    uint64_t bodies, refused;              /* bodies finished; answered with a 4xx or 5xx */
    uint64_t bytes, plain;                 /* sent, inflated */
    uint64_t accepted, rejected, repeated; /* lines */
};

void ingest_counts(struct ingest *in, struct ingest_counts *out);

#endif
