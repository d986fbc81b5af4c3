/* journal.h - append-only segments of frames, which hold what the server has acknowledged.
 *
 * A frame is a piece of a session's log, or a mark, with its session, its place in the channel's
 * plain text, and a checksum. Frames are numbered without gaps, from the first one the folder
 * ever held. An appender may wait until a frame is durable: one thread syncs for all who wait.
 * Frames that are durable are handed to the reader, in order; it reads them back, and releases
 * them when they are in the store. A segment is deleted when all its frames have been released.
 *
 * At the start all frames that are there are handed out again. Reading stops cleanly at a tail
 * that was torn by a crash. What is damaged before intact frames is copied to <segment>.damaged,
 * counted and logged; the frames after it are read.
 *
 * After a sync that failed nobody knows what is on disk: the journal refuses everything until
 * the server is started again (ADR 5).
 *
 * Any thread, except for journal_open and journal_close. */
#ifndef GPUFL_SERVER_INTAKE_JOURNAL_H
#define GPUFL_SERVER_INTAKE_JOURNAL_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_CHANNEL_MAX = 24, JOURNAL_PAYLOAD_MAX = 8 << 20 };

enum journal_kind {
    JOURNAL_LINES = 1, /* whole lines of a channel, by offset */
    JOURNAL_PIECE,     /* whole lines of a body that counts only when it is sealed */
    JOURNAL_SEAL,      /* the body's pieces count, once for its identity */
    JOURNAL_END,       /* the session is complete */
};

struct journal_frame {
    uint64_t number; /* set by journal_append */
    enum journal_kind kind;
    char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
    char channel[JOURNAL_CHANNEL_MAX];
    int64_t offset;    /* LINES: plain bytes of the channel before it */
    int64_t length;    /* LINES: plain bytes it covers, including lines that were left out */
    uint64_t body;     /* PIECE, SEAL: number of the body's first frame; 0: this is the first */
    uint64_t identity; /* SEAL: of the body, among its session's */
    int64_t received;  /* ns since the Unix epoch */
    uint32_t lines;    /* in the payload */
    uint32_t damaged, too_long; /* lines left out */
    uint32_t plain;             /* bytes of payload */
};

/* A frame's place in a segment. */
struct journal_place {
    uint64_t segment; /* number of its first frame */
    int64_t at;       /* bytes into it */
    uint32_t size;    /* bytes of the whole frame */
};

struct journal_config {
    const char *folder;    /* created */
    int64_t segment_bytes; /* 0: 64 MiB */
    int64_t most_bytes;    /* on disk; more is refused; 0: 4 GiB */
    int64_t keep_free;     /* bytes of the disk that are left to others; 0: 256 MiB */
    void *arg;
    /* A frame that is durable, in order of numbers; from journal_open, then from one thread. */
    void (*durable)(void *arg, const struct journal_frame *f, struct journal_place p);
};

struct journal_stats {
    int64_t bytes; /* on disk */
    unsigned segments;
    uint64_t frames;       /* appended since the start */
    uint64_t syncs;        /* since the start */
    uint64_t unreleased;   /* frames that are not in the store yet */
    uint64_t damaged;      /* places that were damaged, found at the start */
    int64_t damaged_bytes; /* copied to another file, of these */
    int64_t torn_bytes;    /* cut off at the end */
    bool failed;
};

struct journal;

int journal_open(struct journal **out, const struct journal_config *c, struct err *e);
void journal_close(struct journal *j); /* syncs what was written */

/* A number that distinguishes this journal from others, stored with it. */
uint64_t journal_id(const struct journal *j);

/* Appends a frame with its payload (f->plain bytes); f->number is set. Does not wait.
 * GPUFL_E_FULL: the journal is at its ceiling: the loader must get on first.
 * GPUFL_E_IO: the disk is full or failed: nothing was appended.
 * GPUFL_E_STATE: a sync has failed before. */
int journal_append(struct journal *j, struct journal_frame *f, const void *payload, struct err *e);

/* Waits until the frame of that number, and all before it, are durable. 0: all appended. */
int journal_wait(struct journal *j, uint64_t number, struct err *e);

/* The number of the last frame appended; 0: none ever was. */
uint64_t journal_last(struct journal *j);

void journal_release(struct journal *j, struct journal_place p);

void journal_stats(struct journal *j, struct journal_stats *out);

/* Bytes that are free on the journal's disk, -1: unknown, and those that it needs to go on. */
int64_t journal_free_bytes(struct journal *j, int64_t *needs);

/* Says whether the ceiling would refuse an append, and how full the journal is (0 to 1). */
double journal_fill(struct journal *j);

/* ---- reading back: one reader a thread ------------------------------------------------------- */

struct journal_reader;

int journal_reader_open(struct journal_reader **out, struct journal *j);
void journal_reader_close(struct journal_reader *r);

/* The payload of a frame, valid until the next call; CORRUPT where it is not what was written. */
int journal_read(struct journal_reader *r, struct journal_place p, struct journal_frame *f,
                 char **payload, struct err *e);

#endif
