/* row_writer.h - writes the rows of one session, from its frames to a commit. loader.h has the
 * threads; loader/session.c decides when to commit, to try again and to set aside.
 *
 * A session is *open* while its writer has a decoder. A transaction is *begun* by its first frame
 * and ended by row_writer_commit. An error undoes the transaction, and all its frames have to be
 * given again, in order. Used by the loader thread that owns the session. */
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

/* This is a frame in the loader's queues. */
struct queued_frame {
    uint64_t number;
    enum journal_kind kind;
    uint64_t body;
    int64_t queued; /* CLOCK_MONOTONIC ns */
    struct journal_place place;
    uint32_t lines; /* of the sender: in the frame, and left out */
};

struct frame_list {
    struct queued_frame *items; /* owned */
    size_t count, cap;
};

/* This is a window whose pieces wait for their seal. */
struct row_writer_window {
    uint64_t body;
    struct frame_list pieces;
    bool sealed; /* in the transaction */
};

/* Holds the counts of a transaction, which are committed with it. */
struct row_writer_counts {
    uint64_t lines, damaged, unknown_records, unknown_columns, foreign, foreign_unmapped,
        foreign_orphans, too_long, rejected;
};

struct row_writer_totals { /* of one thread; others read them: relaxed */
    _Atomic uint64_t rows, kernels, commits, damaged, lost_frames;
};

/* Holds what the row writers of a thread share. */
struct row_writer_tools {
    struct sessions *sessions;
    struct journal *journal;
    struct journal_reader *reader;
    struct decode_room *room;
    struct row_writer_totals totals;
};

struct row_writer {
    struct intake_session *s; /* reference */
    struct sessions *sessions;
    struct journal *journal;
    struct row_writer_tools *tools; /* the thread's */
    bool open, begun;
    struct decoder *decoder;
    struct decode_stats counted; /* the decoder's counts when they were last written */
    struct tiles *tiles;
    struct session_frames *frames; /* for the public client's sessions */
    struct registry registry;
    struct newest_samples samples;
    struct store_position positions[STORE_POSITIONS_MAX]; /* as of the last frame */
    unsigned position_count;
    uint64_t watermark;      /* number of the last frame committed */
    uint64_t reached;        /* number of the last frame given */
    struct frame_list taken; /* frames of the transaction */
    /* Committed frames that end the session, until the end is written. */
    struct frame_list ends;
    struct row_writer_window *windows; /* owned */
    size_t window_count, window_cap;
    struct row_writer_counts counts; /* of the transaction */
    uint64_t rows, kernels;          /* of the transaction */
    int64_t begun_at;                /* CLOCK_MONOTONIC ns */
    const char *channel;             /* of the present frame */
    bool more;                       /* the transaction has something new */
    bool complete, finished;         /* the sender said so; decoder_finish was called */
    bool silent;                     /* the session was ended because it was silent for long */
    struct err *err;                 /* of the present call */
    /* For the scheduler in loader.c. */
    struct row_writer *next;
    bool end_asked;            /* a frame that ends the session has been appended */
    struct frame_list backlog; /* frames that wait for a retry */
    unsigned failures;
    bool lacks_memory; /* the last failure: memory was short */
    bool own_failure;  /* the last failure was not a lack of room or a store out of reach */
    bool turn;         /* the last failure: another server writes the session */
    int64_t retry_at, used, failing_since;
    uint64_t aside_upto; /* frames up to this one are set aside, too; 0: none */
    bool announce_end;   /* the session has ended, which is not written and reported yet */
};

/* Initializes; opens nothing. */
void row_writer_init(struct row_writer *l, struct intake_session *s,
                     struct row_writer_tools *tools);
void row_writer_fini(struct row_writer *l);

/* Gives a frame. 0: the frame is in the transaction, or was loaded before. Otherwise the
 * transaction was undone, and all its frames are in l->backlog, this one last. GPUFL_E_NOENT: the
 * session was deleted. */
int row_writer_give(struct row_writer *l, const struct queued_frame *f, struct err *e);

/* Commits the transaction and releases its frames, except a frame that ends the session, which is
 * in l->ends until the end is written (announce_end). A failure is like that of row_writer_give. */
int row_writer_commit(struct row_writer *l, struct err *e);

/* These are the parts of row_writer_commit in order, for committing several sessions together: the
 * last rows; the session's entry in the small tables, if that is new; the transaction for the
 * store; and what follows its commit. An error of one part undoes the transaction. */
int row_writer_prepare(struct row_writer *l, struct err *e);
int row_writer_enter(struct row_writer *l, struct err *e);
void row_writer_ready(struct row_writer *l, struct store_commit *out);
int row_writer_conclude(struct row_writer *l, int rc, struct err *e);

/* Returns true if row_writer_enter has something to write. */
bool loading_has_entry(const struct row_writer *l);

/* Closes what is open. Call only without a transaction. */
void row_writer_shut(struct row_writer *l);

/* Adds a piece to its window. 0 or GPUFL_E_NOMEM. */
int row_writer_piece(struct row_writer *l, const struct queued_frame *f);

/* Releases the pieces of a window that will not be sealed. body 0: of all windows that are not
 * sealed. */
void row_writer_abandon(struct row_writer *l, uint64_t body);

/* Releases the frames of a list, and empties it. */
void row_writer_release(struct row_writer *l, struct frame_list *list);

int frame_list_push(struct frame_list *list, const struct queued_frame *f);

/* ---- between row_writer.c and row_writer_open.c ---------------------------------------------- */

int row_writer_open(struct row_writer *l, struct err *e);
/* Gives the lines of a frame to the session's decoder. */
int row_writer_feed(struct row_writer *l, const char *text, size_t n, const struct wire_visitor *v);
/* Returns the position of a channel, or of the journal under its name in the session. */
struct store_position *row_writer_position(struct row_writer *l, const char *name);
void row_writer_journal_name(const struct row_writer *l, char *out, size_t size);

#endif
