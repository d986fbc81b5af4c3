/* courier.h - sends one body of a channel, and acts on the answer.
 *
 * A body begins after the last byte that was handled (the server has it, or it is a dead letter),
 * and ends after a whole line. A table of statuses decides the next step: continue, wait (408, 425,
 * 429, 5xx, no answer), pause with an alarm (401, 403), send less (413, 400, 422), store the
 * smallest refused piece as a dead letter, or skip the channel for now. Nothing is dropped: bytes
 * that cannot be sent wait on disk. Called by the owner's thread only; other threads read the
 * counts under the lock. */
#ifndef GPUFL_AGENT_SEND_COURIER_H
#define GPUFL_AGENT_SEND_COURIER_H

#include "agent/options/options.h"
#include "agent/send/view.h"
#include "net/client/backoff.h"

#include <pthread.h>
#include <signal.h>

/* Says why nothing is sent at the moment. */
enum courier_hold { HOLD_NONE, HOLD_WAIT, HOLD_KEY, HOLD_DISK };

/* Lists counters for status and metrics; they only grow. */
#define COURIER_COUNTS(N)                                                                          \
    N(bodies, "Bodies that the server took")                                                       \
    N(lines, "Lines that the server took, without those it had")                                   \
    N(sent_bytes, "Bytes of bodies that went out, packed")                                         \
    N(plain_bytes, "Plain bytes of the log that were dealt with")                                  \
    N(answers_wait, "Requests answered with 408, 425, 429 or 5xx")                                 \
    N(answers_key, "Requests answered with 401 or 403")                                            \
    N(answers_large, "Requests answered with 413")                                                 \
    N(answers_refused, "Requests answered with 400 or 422")                                        \
    N(answers_other, "Requests answered with another status that is no success")                   \
    N(unanswered, "Requests without an answer")                                                    \
    N(dead_lines, "Lines and windows set aside as dead letters")                                   \
    N(unnamed_lines, "Lines of windows that the server left out and did not name")                 \
    N(completed, "Sessions called complete")                                                       \
    N(lost, "Sessions that the server had lost, and that are sent again")                          \
    N(blocked, "Times that a channel could not go on")                                             \
    N(disk_errors, "Times that the state could not be written")

struct courier_counts {
#define COURIER_FIELD(name, help) uint64_t name;
    COURIER_COUNTS(COURIER_FIELD)
#undef COURIER_FIELD
};

struct courier {
    const struct options *options;
    struct remote *remote; /* owned */
    struct cursor *cursor;
    struct letters *letters;
    struct backoff backoff;
    enum part_pack pack;
    int64_t held;     /* CLOCK_MONOTONIC ns: nothing is sent before */
    int64_t in_state; /* since when it is held, or not held */
    int64_t tokens, filled;
    bool doubt; /* the server has less of a session than before: it may have lost others, too */
    const volatile sig_atomic_t *stop;

    pthread_mutex_t lock;
    struct courier_counts counts; /* guarded by lock, with the next four */
    enum courier_hold hold;
    char why[416];   /* of hold */
    int64_t until;   /* of hold: like held */
    int64_t success; /* CLOCK_REALTIME ns of the last good answer; 0: none yet */
};

/* Counts under the lock. */
#define COURIER_COUNT(c, field, n)                                                                 \
    do {                                                                                           \
        pthread_mutex_lock(&(c)->lock);                                                            \
        (c)->counts.field += (uint64_t)(n);                                                        \
        pthread_mutex_unlock(&(c)->lock);                                                          \
    } while (0)

int courier_open(struct courier *c, const struct options *o, struct cursor *cursor,
                 struct letters *letters, const volatile sig_atomic_t *stop, struct err *e);
void courier_close(struct courier *c);
/* Opens a separate connection to the server of the options, with the present key. [any] */
int courier_dial(const struct options *o, const volatile sig_atomic_t *stop, struct remote **out,
                 struct err *e);
/* Opens the connection again, with the present key. */
int courier_connect(struct courier *c, struct err *e);

enum courier_step {
    COURIER_ON,     /* there was progress: call again */
    COURIER_CAUGHT, /* nothing is left to send */
    COURIER_HELD,   /* not now: c->held says until when */
    COURIER_LEFT,   /* this channel or session cannot go on for now */
};

#define COURIER_UNWANTED INT64_MAX

/* Sends at most one body of each channel of the session. */
enum courier_step courier_step(struct courier *c, struct view *v, struct work *w);
/* Reports to the server that the session is complete, after it has asked once more what the server
 * has. */
enum courier_step courier_complete(struct courier *c, struct view *v, struct work *w);
/* Returns the number of uncompressed bytes that the server has of all of a session's channels;
 * COURIER_UNWANTED: the session was deleted on the server; -1: unknown. */
int64_t courier_has(struct courier *c, const char *session);
/* Sends a dead letter again; *delivered: it arrived. Non-zero: not now. */
int courier_letter(struct courier *c, const char *session, const char *channel,
                   const struct letter *a, int fd, bool *delivered);

/* ---- between courier.c, courier_answer.c, courier_body.c and courier_window.c --------------- */

/* Describes a body that is being sent. */
struct errand {
    struct work *work;
    struct course *course; /* NULL: no body, a question about the session */
    const struct ship_part *part;
    int64_t plain; /* bytes of the body */
    int rc;        /* of the request */
    struct err e;
    struct remote_answer answer;
};

/* Decides by the answer. It handles waiting, a refused key and a deleted session itself. */
enum courier_step courier_judge(struct courier *c, struct errand *x, bool *good);
/* Counts the result of a request. */
void courier_count(struct courier *c, int rc, int status);
/* Returns true if the status is about the body itself, so that the same body would get it again. */
bool courier_is_final(int status);
/* Stores the lines that the answer names as dead letters. */
int courier_put_aside(struct courier *c, struct errand *x, int64_t *end);
/* Lists the places of the window's lines that have letters, in order; the caller owns them
 * (mem_free). */
int courier_window_gaps(struct courier *c, struct errand *x, struct part_gap **out, size_t *count);
/* Stores the lines of a window that the answer names as dead letters; *added: lines that had none
 * before. */
int courier_put_lines_aside(struct courier *c, struct errand *x, const struct part_gap *gaps,
                            size_t gap_count, unsigned *added);
/* Stores the whole body as a dead letter: a line that is refused alone, or a window. */
int courier_put_body_aside(struct courier *c, struct errand *x);
/* Pauses sending because the state cannot be written. */
enum courier_step courier_disk(struct courier *c, const struct err *e);
void courier_hold_until(struct courier *c, enum courier_hold hold, int64_t until, const char *why);
/* Ends the pause: the next try is now. */
void courier_hold_no_longer(struct courier *c);
/* Sends one body of a channel by offset. */
enum courier_step courier_offsets(struct courier *c, struct view *v, struct errand *x);
/* Sends the stream's bytes. The result is in *x. */
void courier_send_stream(struct courier *c, struct errand *x, struct part_stream *s,
                         struct remote_body *b);
/* Handles a part that cannot be read: if it got another name, the folder is read again; else the
 * channel is blocked. */
enum courier_step courier_unreadable(struct courier *c, struct view *v, struct errand *x);
/* Handles a failure to store dead letters. */
enum courier_step courier_not_aside(struct courier *c, struct view *v, struct errand *x);
/* Sends one window. */
enum courier_step courier_windows(struct courier *c, struct view *v, struct errand *x);
/* Blocks a channel, and says so once. */
enum courier_step courier_block(struct courier *c, struct errand *x, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* courier_may_send waits until the bandwidth limit allows another body; false: *stop is set.
 * courier_paid counts the bytes of one. */
bool courier_may_send(struct courier *c);
void courier_paid(struct courier *c, int64_t bytes);

#endif
