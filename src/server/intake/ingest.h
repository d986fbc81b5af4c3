/* ingest.h - takes request bodies into the journal, and says what is answered.
 *
 * A body is NDJSON of one session, plain, gzip or zstd; it is pushed piece by piece
 * (ingest_open, ingest_data …, ingest_finish, ingest_close) and inflated, split into
 * lines and checked as it comes, in memory that does not grow with it. Lines that
 * are sound go to the journal; others are left out, and named in the answer. An
 * answer that accepts something is given when that is durable.
 *
 * Two kinds of bodies, both of which may be sent again without harm:
 *
 *   by offset   The body states its place in its channel: plain bytes since the
 *               session's start, from the caller, or from the header line that every
 *               part of our logs begins with. Bytes that the session has already are passed over;
 *               a gap is refused with the offset that is expected (409). Each piece
 *               counts as it comes: a body that breaks off continues at the offset in the answer.
 *   windows     Bodies without an offset, as the public client sends them: they count
 * as a whole, once for their identity: channel and sequence number where the request states
 * them, else a window id, else the content.
 *
 * A line longer than WIRE_MAX_LINE, one that is not JSON, or whose columns have different
 * lengths, is left out and counted; one of an unknown type is kept. A body of which nothing can
 * be accepted is refused (400). A line without its end at the end of a body by offset, that is
 * not whole, stays unaccepted: its rest may come.
 *
 * One thread at a time for a body; any number of bodies concurrently. */
#ifndef GPUFL_SERVER_INTAKE_INGEST_H
#define GPUFL_SERVER_INTAKE_INGEST_H

#include "base/buf.h"
#include "base/err.h"
#include "server/intake/journal.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

/* The backlog of all workspaces, and of the one that is asked about: acknowledged, not loaded. */
struct ingest_backlog {
    uint64_t sessions, own_sessions;
    int64_t bytes, own_bytes; /* in the journal */
    int64_t own_lag;          /* ns */
    bool waits;               /* the session that is asked about is among them */
};

struct ingest_config {
    struct journal *journal;
    struct sessions *sessions;
    int64_t body_max;   /* bytes of a body as it is sent; 0: 4 GiB */
    int64_t plain_max;  /* inflated; 0: 32 GiB */
    unsigned ratio_max; /* inflated bytes for one sent; 0: 400 */
    double fill_max;    /* part of the journal's ceiling above which bodies are refused; 0: 0.9 */
    /* What waits to be loaded; bodies are refused where that is too much for soon. NULL: never. */
    void (*backlog)(void *arg, const char *workspace, const char *session,
                    struct ingest_backlog *out);
    void *backlog_arg;
    unsigned backlog_sessions; /* that may wait; 0: 512 */
    int64_t backlog_bytes;     /* that may wait; 0: 1 GiB */
    int64_t lag_max;           /* ns that a workspace's oldest frame may have waited; 0: 30 s */
    /* The pieces of a window that will never be sealed. */
    void (*abandon)(void *arg, struct intake_session *s, uint64_t body);
    void *abandon_arg;
};

enum ingest_encoding { INGEST_PLAIN, INGEST_GZIP, INGEST_ZSTD };

enum { INGEST_NO_OFFSET = -1, INGEST_NO_SEQUENCE = -1, INGEST_ERRORS = 32 };

/* What the caller knows of a body before it arrives. Texts are the caller's until ingest_close. */
struct ingest_request {
    const char *workspace; /* decided by the caller */
    const char *session;   /* NULL: as the body's first line says */
    const char *channel;   /* NULL: as the header line says; windows: "window" */
    int64_t offset;        /* INGEST_NO_OFFSET */
    enum ingest_encoding encoding;
    int64_t size;            /* Content-Length; -1: unknown */
    const char *window_id;   /* NULL: none */
    int64_t window_sequence; /* INGEST_NO_SEQUENCE */
    int64_t window_crc32;    /* of the body as sent; -1: not stated */
    bool
        later; /* ingest_finish waits for no disk: the caller calls ingest_sync after some bodies */
};

struct ingest_error {
    uint64_t line;      /* from 1; in the body */
    char type[32];      /* as far as it is readable; "" */
    const char *reason; /* a literal */
};

struct ingest_answer {
    int status;     /* of HTTP: 200, 400, 409, 410, 413, 415, 429, 503 */
    char text[512]; /* a sentence, where it is no 200 */
    char session[STORE_ID_MAX], channel[JOURNAL_CHANNEL_MAX];
    uint64_t accepted; /* lines, including those that the session had already */
    uint64_t rejected; /* lines */
    int64_t offset;    /* by offset: plain bytes of the channel that are accepted; else -1 */
    bool window;       /* it counts as a whole, and does */
    bool repeated;     /* the session had all of it already */
    int retry_after;   /* s; 0: none */
    struct ingest_error errors[INGEST_ERRORS];
    unsigned error_count; /* of rejected ones, at most INGEST_ERRORS */
};

struct ingest;
struct ingest_body;

int ingest_start(struct ingest **out, const struct ingest_config *c, struct err *e);
void ingest_stop(struct ingest *in); /* after the last ingest_close */

/* Begins a body. Non-zero: it is refused, *a says how, and there is no body. */
int ingest_open(struct ingest *in, const struct ingest_request *r, struct ingest_body **out,
                struct ingest_answer *a);

/* The next bytes. Non-zero: the rest is not wanted; ask ingest_finish for the answer. */
int ingest_data(struct ingest_body *b, const void *data, size_t n);

/* The end of the body: waits until what was accepted is durable, and answers. May block. */
void ingest_finish(struct ingest_body *b, struct ingest_answer *a);
/* Makes durable what bodies with `later` brought. Non-zero: these count as not taken. */
int ingest_sync(struct ingest *in, struct err *e);
void ingest_close(struct ingest_body *b); /* without finish: the sender went */

/* The sender states that a session is complete. Durable when this returns; a repeated call does no
 * harm. */
void ingest_complete(struct ingest *in, const char *workspace, const char *session,
                     struct ingest_answer *a);

/* The answer's body: of a 200 {"accepted","rejected","errors",…}, with window_acknowledged for a
 * window; of others a problem (RFC 9457) with expected_offset where it is known. */
void ingest_answer_json(const struct ingest_answer *a, struct buf *out);

struct ingest_counts {
    uint64_t bodies, refused;              /* bodies finished; answered with a 4xx or 5xx */
    uint64_t bytes, plain;                 /* sent, inflated */
    uint64_t accepted, rejected, repeated; /* lines */
};

void ingest_counts(struct ingest *in, struct ingest_counts *out);

#endif
