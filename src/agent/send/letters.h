/* letters.h - dead letters: lines and windows that the server refuses, kept with the reason.
 *
 * A folder, a file a session and channel: <session>.<channel>.letters. A letter is a line of JSON
 * (place, status, reason, time, bytes) and then the refused bytes as they stand in the log, and a
 * line feed. A letter that `gpufl-agent retry` delivered loses its bytes and keeps its place: the
 * place stays empty in the channel. A letter is on the disk before the agent goes on. A file that
 * a crash cut off loses its last letter at most, which the agent then makes again.
 *
 * A letter is known by the offset of its first byte in the channel; a window by its number, and a
 * line of a window by its offset in that, too.
 * Owner's thread. */
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
    int64_t length; /* plain bytes in the channel; a window: of its file */
    int64_t bytes;  /* kept here; 0: delivered since */
    int64_t at;     /* ns since the Unix epoch */
    int64_t place;  /* of the kept bytes in the file */
    int status;     /* of HTTP */
    bool window;
    int64_t from; /* a line of a window: its plain offset in that; -1: the window as a whole */
    char host[PART_TEXT_MAX];
    char reason[LETTER_REASON];
};

struct letters;

/* Creates the folder and counts what is there. */
int letters_open(struct letters **out, const char *folder, struct err *e);
void letters_close(struct letters *l); /* NULL: none */

uint64_t letters_count(const struct letters *l); /* that hold bytes */
int64_t letters_bytes(const struct letters *l);

/* The letters of a channel in the order of their places: owned by the caller (mem_free). Cuts off
 * what a crash left of one. */
int letters_list(struct letters *l, const char *session, const char *channel, struct letter **out,
                 size_t *count, struct err *e);

/* Where a letter's bytes are: a part of a log, and the plain offset in it; whole: the file as it
 * stands. */
struct letter_source {
    const char *path;
    struct file_id id;
    int64_t from;
    bool whole;
};

/* Adds one, with a->bytes of the source. The caller has listed the channel's letters before, and
 * knows that this is a new one. */
int letters_add(struct letters *l, const char *session, const char *channel, const struct letter *a,
                const struct letter_source *from, struct err *e);
/* Syncs a channel: the letters added to it are on the disk when this returns 0. */
int letters_sync(struct letters *l, const char *session, const char *channel, struct err *e);

/* Gives each letter that holds bytes to try, as a file descriptor that stands at its first byte;
 * true: it was delivered. Non-zero from try ends the walk. */
struct letters_retry {
    void *arg;
    int (*try)(void *arg, const char *session, const char *channel, const struct letter *a, int fd,
               bool *delivered);
};

int letters_retry(struct letters *l, const struct letters_retry *r, struct err *e);

#endif
