/* row_writer.h - loads one session: from frames to a commit.
 *
 * The loader's threads call this for their sessions. A session is *open* while it has a decoder;
 * a transaction is *begun* by its first frame and ended by loading_commit, or undone by
 * loading_undo: then all frames since are to be given again, in order. One thread. */
#ifndef GPUFL_SERVER_INTAKE_LOADING_H
#define GPUFL_SERVER_INTAKE_LOADING_H

#include "analyze/model/tiles.h"
#include "server/intake/journal.h"
#include "server/intake/newest_samples.h"
#include "server/intake/registry.h"
#include "server/intake/session_frames.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

/* A frame on its way. */
struct loading_frame {
    uint64_t number;
    enum journal_kind kind;
    uint64_t body;
    int64_t queued; /* CLOCK_MONOTONIC ns */
    struct journal_place place;
    uint32_t lines; /* of the sender, in it and left out */
};

struct loading_list {
    struct loading_frame *items; /* owned */
    size_t count, cap;
};

/* A window whose pieces wait for their seal. */
struct loading_window {
    uint64_t body;
    struct loading_list pieces;
    bool sealed; /* in the transaction */
};

/* Deltas of a transaction, kept with it. */
struct loading_counts {
    uint64_t lines, damaged, unknown_records, unknown_columns, foreign, foreign_unmapped,
        foreign_orphans, too_long, rejected;
};

struct loading_totals { /* of one thread; read by others: relaxed */
    _Atomic uint64_t rows, kernels, commits, damaged, lost_frames;
};

struct loading {
    struct intake_session *s; /* reference */
    struct sessions *sessions;
    struct journal *journal;
    struct journal_reader *reader; /* the thread's */
    struct loading_totals *totals; /* the thread's */
    bool open, begun;
    struct decoder *decoder;
    struct decode_stats counted; /* of the decoder, when they were last put */
    struct tiles *tiles;
    struct session_frames *frames; /* of the public client's sessions */
    struct registry registry;
    struct newest_samples samples;
    struct store_position positions[STORE_POSITIONS_MAX]; /* as of the last frame */
    unsigned position_count;
    uint64_t watermark;             /* number of the last frame committed */
    uint64_t reached;               /* of the last frame given */
    struct loading_list taken;      /* frames of the transaction */
    struct loading_list ends;       /* frames that end it, committed: until that is written */
    struct loading_window *windows; /* owned */
    size_t window_count, window_cap;
    struct loading_counts counts; /* of the transaction */
    uint64_t rows, kernels;       /* of the transaction */
    int64_t begun_at;             /* CLOCK_MONOTONIC ns */
    const char *channel;          /* of the frame under way */
    bool more;                    /* the transaction has what was not there */
    bool complete, finished;      /* its sender said so; decoder_finish was called */
    bool silent;                  /* it was ended because it was silent for long */
    struct err *err;              /* of the call under way */
    /* The scheduler's, loader.c. */
    struct loading *next;
    bool end_asked;              /* a frame that ends it is on its way */
    struct loading_list backlog; /* frames that wait for a retry */
    unsigned failures;
    bool turn; /* the last one: another server is writing it */
    int64_t retry_at, used, failing_since;
    uint64_t aside_upto; /* frames up to this one follow those that were set aside; 0: none were */
    bool announce_end;   /* it has ended, which the small tables and others do not know yet */
};

/* Prepares; opens nothing. */
void loading_init(struct loading *l, struct intake_session *s, struct sessions *sessions,
                  struct journal *journal, struct journal_reader *reader,
                  struct loading_totals *totals);
void loading_fini(struct loading *l);

/* Gives a frame. 0: it is in the transaction, or was before. Else the transaction was undone, and
 * all its frames are in l->backlog, this one last. NOENT: the session was deleted. */
int loading_give(struct loading *l, const struct loading_frame *f, struct err *e);

/* Ends the transaction and releases the frames, except one that ends the session: that one is in
 * l->ends until its end is written (announce_end). A failure is as in loading_give. */
int loading_commit(struct loading *l, struct err *e);

/* loading_commit in two halves, for several sessions together (store_ops.commit_all): what comes
 * before the store's commit, and what follows it. After an error of the first half there is no
 * second one. */
int loading_prepare(struct loading *l, struct store_commit *out, struct err *e);
int loading_conclude(struct loading *l, int rc, struct err *e);

/* Closes what is open; only where nothing is begun. */
void loading_shut(struct loading *l);

/* Adds a piece to its window: 0 or NOMEM. */
int loading_piece(struct loading *l, const struct loading_frame *f);

/* Pieces of a window that will not be sealed: released. body 0: of all that are not. */
void loading_abandon(struct loading *l, uint64_t body);

/* Releases the frames of a list, and empties it. */
void loading_release(struct loading *l, struct loading_list *list);

int loading_push(struct loading_list *list, const struct loading_frame *f);

/* ---- between row_writer.c and row_writer_open.c ---------------------------------------------- */

int loading_open(struct loading *l, struct err *e);
/* Lines of a frame to the session's decoder. */
int loading_feed(struct loading *l, const char *text, size_t n, const struct wire_visitor *v);
/* The position of a channel, or of the journal under the name by which the session knows it. */
struct store_position *loading_position(struct loading *l, const char *name);
void loading_journal_name(const struct loading *l, char *out, size_t size);

#endif
