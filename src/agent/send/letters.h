/* letters.h - keeps dead letters: lines and windows that the server refuses, with the reason.
 *
 * The folder has a file for each session and channel: <session>.<channel>.letters. A letter is a
 * line of JSON (place, status, reason, time, bytes), then the refused bytes as they are in the log,
 * and a line feed. A letter that `gpufl-agent retry` delivered loses its bytes and keeps its place:
 * the place stays empty in the channel. A letter is on the disk before the agent continues. A file
 * that a crash cut off loses its last letter at most, which the agent then makes again.
 *
 * A letter is identified by the offset of its first byte in the channel; a window by its number,
 * and a line of a window also by its offset in the window. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_SEND_LETTERS_H
#define GPUFL_AGENT_SEND_LETTERS_H

#include "agent/part_head.h"
#include "agent/part_stream.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LETTER_REASON = 256 };

struct letter {
    int64_t offset; /* of the channel; a window: its number */
    int64_t length; /* uncompressed bytes in the channel; a window: bytes of its file */
    int64_t bytes;  /* kept here; 0: delivered since */
    int64_t at;     /* ns since the Unix epoch */
    int64_t place;  /* of the kept bytes in the file */
    int status;     /* of HTTP */
    bool window;
    int64_t from; /* a line of a window: its uncompressed offset there; -1: the whole window */
    char host[PART_TEXT_MAX];
    char reason[LETTER_REASON];
};

struct letters;

/* Creates the folder and counts the letters in it. */
int letters_open(struct letters **out, const char *folder, struct err *e);
void letters_close(struct letters *l); /* NULL: none */

uint64_t letters_count(const struct letters *l); /* that hold bytes */
int64_t letters_bytes(const struct letters *l);

/* Lists the letters of a channel in the order of their places; the caller owns the list (mem_free).
 * Cuts off the remains that a crash left of a letter. */
int letters_list(struct letters *l, const char *session, const char *channel, struct letter **out,
                 size_t *count, struct err *e);

/* Says where a letter's bytes are: a part of a log, and the uncompressed offset in it; whole: the
 * file itself, unchanged. */
struct letter_source {
    const char *path;
    struct file_id id;
    int64_t from;
    bool whole;
};

/* Adds a letter, with a->bytes of the source. The caller has listed the channel's letters before,
 * so that it adds none twice. */
int letters_add(struct letters *l, const char *session, const char *channel, const struct letter *a,
                const struct letter_source *from, struct err *e);
/* Syncs a channel: the letters added to it are on the disk when this returns 0. */
int letters_sync(struct letters *l, const char *session, const char *channel, struct err *e);

/* Calls try for each letter that has bytes, with a file descriptor positioned at the first of them.
 * *delivered: the letter was delivered. Non-zero from try ends the walk. */
struct letters_retry {
    void *arg;
    int (*try)(void *arg, const char *session, const char *channel, const struct letter *a, int fd,
               bool *delivered);
};

int letters_retry(struct letters *l, const struct letters_retry *r, struct err *e);

#endif
