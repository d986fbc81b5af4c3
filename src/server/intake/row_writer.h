/* row_writer.h - writes the rows of one session: from its frames to a commit. loader.h has the
 * threads, and loader_session.c what a thread does when: when to commit, try again, set aside.
 *
 * A session is *open* while its writer has a decoder. A transaction is *begun* by its first frame
 * and ended by row_writer_commit; an error undoes the transaction, and all its frames are to be
 * given again, in order. Used by one thread, the loader's that owns the session. */
#ifndef GPUFL_SERVER_INTAKE_ROW_WRITER_H
#define GPUFL_SERVER_INTAKE_ROW_WRITER_H

#include "analyze/model/tiles.h"
#include "server/intake/journal.h"
#include "server/intake/newest_samples.h"
#include "server/intake/registry.h"
#include "server/intake/session_frames.h"
#include "server/intake/sessions.h"

#include <stdbool.h>
#include <stdint.h>

/* A frame on its way. */
struct queued_frame {
    uint64_t number;
    enum journal_kind kind;
    uint64_t body;
    int64_t queued; /* CLOCK_MONOTONIC ns */
    struct journal_place place;
    uint32_t lines; /* of the sender, in it and left out */
};

struct frame_list {
    struct queued_frame *items; /* owned */
    size_t count, cap;
};

/* A window whose pieces wait for their seal. */
struct row_writer_window {
    uint64_t body;
    struct frame_list pieces;
    bool sealed; /* in the transaction */
};

/* Deltas of a transaction, kept with it. */
struct row_writer_counts {
    uint64_t lines, damaged, unknown_records, unknown_columns, foreign, foreign_unmapped,
        foreign_orphans, too_long, rejected;
};

struct row_writer_totals { /* of one thread; read by others: relaxed */
    _Atomic uint64_t rows, kernels, commits, damaged, lost_frames;
};

struct row_writer {
    struct intake_session *s; /* reference */
    struct sessions *sessions;
    struct journal *journal;
    struct journal_reader *reader;    /* the thread's */
    struct row_writer_totals *totals; /* the thread's */
    bool open, begun;
    struct decoder *decoder;
    struct decode_stats counted; /* of the decoder, when they were last put */
    struct tiles *tiles;
    struct session_frames *frames; /* of the public client's sessions */
    struct registry registry;
    struct newest_samples samples;
    struct store_position positions[STORE_POSITIONS_MAX]; /* as of the last frame */
    unsigned position_count;
    uint64_t watermark;                /* number of the last frame committed */
    uint64_t reached;                  /* of the last frame given */
    struct frame_list taken;           /* frames of the transaction */
    struct frame_list ends;            /* frames that end it, committed: until that is written */
    struct row_writer_window *windows; /* owned */
    size_t window_count, window_cap;
    struct row_writer_counts counts; /* of the transaction */
    uint64_t rows, kernels;          /* of the transaction */
    int64_t begun_at;                /* CLOCK_MONOTONIC ns */
    const char *channel;             /* of the frame under way */
    bool more;                       /* the transaction has what was not there */
    bool complete, finished;         /* its sender said so; decoder_finish was called */
    bool silent;                     /* it was ended because it was silent for long */
    struct err *err;                 /* of the call under way */
    /* The scheduler's, loader.c. */
    struct row_writer *next;
    bool end_asked;            /* a frame that ends it is on its way */
    struct frame_list backlog; /* frames that wait for a retry */
    unsigned failures;
    bool turn; /* the last one: another server is writing it */
    int64_t retry_at, used, failing_since;
    uint64_t aside_upto; /* frames up to this one follow those that were set aside; 0: none were */
    bool announce_end;   /* it has ended, which the small tables and others do not know yet */
};

/* Prepares; opens nothing. */
void row_writer_init(struct row_writer *l, struct intake_session *s, struct sessions *sessions,
                     struct journal *journal, struct journal_reader *reader,
                     struct row_writer_totals *totals);
void row_writer_fini(struct row_writer *l);

/* Gives a frame. 0: it is in the transaction, or was before. Else the transaction was undone, and
 * all its frames are in l->backlog, this one last. NOENT: the session was deleted. */
int row_writer_give(struct row_writer *l, const struct queued_frame *f, struct err *e);

/* Ends the transaction and releases the frames, except one that ends the session: that one is in
 * l->ends until its end is written (announce_end). A failure is as in row_writer_give. */
int row_writer_commit(struct row_writer *l, struct err *e);

/* The parts of row_writer_commit in their order, for several sessions together: the last rows; the
 * session's entry in the small tables, where that is new; what the store commits; what follows its
 * commit. An error of one of them undoes the transaction, and ends it. */
int row_writer_prepare(struct row_writer *l, struct err *e);
int row_writer_enter(struct row_writer *l, struct err *e);
void row_writer_ready(struct row_writer *l, struct store_commit *out);
int row_writer_conclude(struct row_writer *l, int rc, struct err *e);

/* Says whether row_writer_enter has something to write. */
bool loading_has_entry(const struct row_writer *l);

/* Closes what is open; only where nothing is begun. */
void row_writer_shut(struct row_writer *l);

/* Adds a piece to its window: 0 or NOMEM. */
int row_writer_piece(struct row_writer *l, const struct queued_frame *f);

/* Pieces of a window that will not be sealed: released. body 0: of all that are not. */
void row_writer_abandon(struct row_writer *l, uint64_t body);

/* Releases the frames of a list, and empties it. */
void row_writer_release(struct row_writer *l, struct frame_list *list);

int frame_list_push(struct frame_list *list, const struct queued_frame *f);

/* ---- between row_writer.c and row_writer_open.c ---------------------------------------------- */

int row_writer_open(struct row_writer *l, struct err *e);
/* Lines of a frame to the session's decoder. */
int row_writer_feed(struct row_writer *l, const char *text, size_t n, const struct wire_visitor *v);
/* The position of a channel, or of the journal under the name by which the session knows it. */
struct store_position *row_writer_position(struct row_writer *l, const char *name);
void row_writer_journal_name(const struct row_writer *l, char *out, size_t size);

#endif
