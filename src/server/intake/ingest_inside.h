/* ingest_inside.h - has the state of a body, for ingest.c (its begin and end) and ingest_lines.c
 * (its lines). */
#ifndef GPUFL_SERVER_INTAKE_INGEST_INSIDE_H
#define GPUFL_SERVER_INTAKE_INGEST_INSIDE_H

#include "server/intake/inflate.h"
#include "server/intake/ingest.h"
#include "wire/decode.h"

#include <stdatomic.h>

enum {
    INGEST_PIECE = 256 << 10,       /* bytes of lines in a frame; more if one line is longer */
    INGEST_ROOM = INGEST_PIECE * 2, /* bytes of text at first */
};

struct ingest {
    struct ingest_config config;
    atomic_uint_fast64_t bodies, refused, bytes, plain, accepted, rejected, repeated; /* relaxed */
};

enum ingest_mode {
    INGEST_UNDECIDED, /* before the first valid line */
    INGEST_BY_OFFSET,
    INGEST_WINDOW,
    INGEST_DRAIN, /* the session has the window already: lines are only checked */
};

struct ingest_body {
    struct ingest *in;
    struct ingest_request request;
    struct ingest_answer answer;
    struct intake_session *session; /* reference; NULL: not known yet */
    struct inflate *inflate;
    struct decoder *decoder; /* checks whether lines are valid */
    enum ingest_mode mode;
    bool stopped; /* refused: the answer says why */

    /* Text: [0, kept) has lines for the next frame, [line, end) is not cut into lines yet. */
    char *text; /* owned */
    size_t kept, line, end, cap;
    size_t searched; /* in [line, end): there is no LF before */
    bool skipping;   /* inside a line that is too long */
    uint64_t number; /* of the present line */
    int64_t at;      /* uncompressed bytes of the body before the line */
    int64_t base;    /* by offset: bytes of the channel before the body */
    int64_t from;    /* by offset: where the next frame begins in the channel */
    /* By offset: bytes of the channel that were accepted before. */
    int64_t there;
    uint32_t lines, damaged, too_long; /* for the next frame */
    bool sound;                        /* a line was accepted and is new */
    bool blind;                        /* draining: the rest cannot be inflated */
    size_t drained;                    /* draining: bytes that the decoder has seen */
    uint64_t window;                   /* number of the first piece; 0: none yet */
    uint64_t last;                     /* number of the last frame appended; 0: none */
    uint32_t crc_in, crc, adler;       /* crc_in: of the bytes as sent; crc, adler: of the text */

    /* The header line's content; set by the decoder's visitor. */
    bool header;
    char header_session[STORE_ID_MAX + 1]; /* full: longer than an id; likewise below */
    char header_channel[JOURNAL_CHANNEL_MAX + 1];
    char header_host[SESSION_HOST_MAX];
    size_t header_host_bytes; /* length in the header; header_host may have fewer */
    int64_t header_offset, header_pid, header_part;
};

/* Refuses the body and ignores its rest. Returns the status. */
int ingest_refuse(struct ingest_body *b, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuses the body for an error of the journal or the stores. */
int ingest_refuse_code(struct ingest_body *b, int rc, const struct err *e);
/* Refuses the body because what is stored of its session cannot be read. The log has the error: its
 * words may be those of a database. */
int ingest_refuse_stored(struct ingest_body *b, int rc, const struct err *e);

/* Returns the body's channel in its session, whose lock is held. */
struct session_channel *ingest_channel(struct ingest_body *b);

/* Finds the body's session and where it begins from the first valid line. Non-zero: refused. */
int ingest_decide(struct ingest_body *b, const char *line, size_t len);

/* Cuts the text into lines; non-zero: refused. last: nothing follows. */
int ingest_cut(struct ingest_body *b, bool last);

/* Appends the kept lines, if any, or the range of lines that were left out. */
int ingest_append_kept(struct ingest_body *b);

#endif
