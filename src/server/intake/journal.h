/* journal.h - keeps append-only segments of frames, which have everything that the server has
 * acknowledged.
 *
 * A frame is a piece of a session's log, or a mark, with its session, its place in the channel's
 * uncompressed text, and a checksum. Frames are numbered without gaps from the first one in the
 * folder's life. An appender may wait until a frame is durable; one thread syncs for all that wait.
 * Durable frames are given to the loader in order, which reads them back and releases them when
 * they are in the store. A segment is deleted when all its frames have been released.
 *
 * At the start all frames in the folder are given out again. Reading ends at a tail that a crash
 * tore. Damaged bytes before intact frames are copied to <segment>.damaged, counted and logged, and
 * the frames after them are read.
 *
 * After a failed sync it is unknown what is on the disk, so the journal refuses everything until
 * the server is started again (ADR 5).
 *
 * Called by any thread, except journal_open and journal_close. */
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
    int64_t offset;    /* LINES: uncompressed bytes of the channel before the frame */
    int64_t length;    /* LINES: uncompressed bytes of the frame, with lines that were left out */
    uint64_t body;     /* PIECE, SEAL: number of the body's first frame; 0: this is the first */
    uint64_t identity; /* SEAL: of the body, unique in its session */
    int64_t received;  /* ns since the Unix epoch */
    uint32_t lines;    /* in the payload */
    uint32_t damaged, too_long; /* lines left out */
    uint32_t plain;             /* bytes of the payload, uncompressed */
};

/* This is a frame's place in a segment. */
struct journal_place {
    uint64_t segment; /* number of its first frame */
    int64_t at;       /* bytes into it */
    uint32_t size;    /* bytes of the whole frame */
};

struct journal_config {
    const char *folder;    /* created */
    int64_t segment_bytes; /* 0: 64 MiB */
    int64_t most_bytes;    /* on disk; more is refused; 0: 4 GiB */
    int64_t keep_free;     /* bytes of the disk that stay free; 0: 256 MiB */
    void *arg;
    /* Takes a durable frame, in order of numbers; called by journal_open, later by one thread. */
    void (*durable)(void *arg, const struct journal_frame *f, struct journal_place p);
};

struct journal_stats {
    int64_t bytes; /* on disk */
    unsigned segments;
    uint64_t frames;       /* appended since the start */
    uint64_t syncs;        /* since the start */
    uint64_t unreleased;   /* frames that are not released yet */
    uint64_t damaged;      /* places that were damaged, found at the start */
    int64_t damaged_bytes; /* bytes of these that were copied to another file */
    int64_t torn_bytes;    /* cut off at the end */
    bool failed;
};

struct journal;

int journal_open(struct journal **out, const struct journal_config *c, struct err *e);
void journal_close(struct journal *j); /* syncs what was written */

/* Returns a random number that identifies the journal and is stored with it. */
uint64_t journal_id(const struct journal *j);

/* Appends a frame with its payload (f->plain bytes); f->number is set. Does not wait. GPUFL_E_FULL:
 * the journal has its maximal size until the loader has loaded some frames. GPUFL_E_IO: the disk is
 * full or failed: nothing was appended. GPUFL_E_STATE: a sync has failed before. */
int journal_append(struct journal *j, struct journal_frame *f, const void *payload, struct err *e);

/* Waits until the frame with that number and all before it are durable. number 0: all frames. */
int journal_wait(struct journal *j, uint64_t number, struct err *e);

/* Returns the number of the last appended frame; 0: there has been none. */
uint64_t journal_last(struct journal *j);

void journal_release(struct journal *j, struct journal_place p);

void journal_stats(struct journal *j, struct journal_stats *out);

/* Returns the free bytes of the journal's disk (-1: unknown); *needs gets the bytes that appending
 * requires. */
int64_t journal_free_bytes(struct journal *j, int64_t *needs);

/* Returns how full the journal is, from 0 to 1; at 1 appends are refused. */
double journal_fill(struct journal *j);

/* ---- reading back: a reader for each thread -------------------------------------------------- */

struct journal_reader;

int journal_reader_open(struct journal_reader **out, struct journal *j);
void journal_reader_close(struct journal_reader *r);

/* Reads a frame; the payload is valid until the next call. GPUFL_E_CORRUPT: the checksum is
 * wrong. */
int journal_read(struct journal_reader *r, struct journal_place p, struct journal_frame *f,
                 char **payload, struct err *e);

#endif
