/* view.h - keeps the open sessions of one folder: their parts, and how much of each channel was
 * sent.
 *
 * A view is read again when its folder changes (a part got another name, a new one came); while
 * lines are appended only the sizes are read. Links are ignored: nothing outside the folder is
 * sent. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_SEND_VIEW_H
#define GPUFL_AGENT_SEND_VIEW_H

#include "agent/remote.h"
#include "agent/send/cursor.h"
#include "agent/send/folders.h"
#include "agent/send/letters.h"
#include "agent/upload_sessions.h"

/* Describes a channel that is being sent. */
struct course {
    char channel[PART_CHANNEL_MAX];
    const struct ship_part *parts; /* of the view's session; by number */
    size_t count;
    int64_t at;       /* bytes before it were handled; -1: unknown. Windows: the number */
    int64_t server;   /* offset in the server's last answer; -1: none */
    int64_t tried;    /* end of the furthest body that this agent sent, as far as it knows */
    int64_t mark;     /* in the cursor; -1: none */
    int64_t piece;    /* uncompressed bytes of the next body */
    int64_t uncut;    /* uncompressed bytes that a body may have: longer ones were cut off */
    unsigned stuck;   /* bodies in a row without progress */
    unsigned cuts;    /* bodies in a row that were cut off */
    uint64_t unnamed; /* lines of the present window that the server left out and did not name */
    bool caught;      /* nothing was left to send at the last look */
    bool blocked;     /* cannot go on until the folder changes; said once */
    struct part_gap *gaps; /* owned: places of dead letters, in order */
    size_t gap_count, gap_cap;
};

/* Describes a session that is being sent. */
struct work {
    char id[PART_ID_MAX];
    const struct upload_session *session; /* the view's; NULL: gone from the folder */
    bool ours;                            /* of our format, when its parts were read last */
    struct course *courses;               /* owned */
    size_t course_count, course_cap;
    bool asked;        /* the server's positions are known */
    bool checked;      /* they were asked for again at the session's end */
    bool named;        /* names were looked up, or are not wanted */
    bool closed;       /* it is deleted on the server, or the server knows that it is complete */
    uint64_t rejected; /* lines that the server left out */
};

enum { VIEW_WORKS = 4096 };

struct view {
    unsigned empty; /* live parts that were empty when the folder was read */
    int32_t folder;
    char *path; /* owned */
    struct upload_sessions list;
    struct work *works; /* owned */
    size_t work_count, work_cap;
    int64_t stamp;     /* of the folder when it was read; -1: it had just changed */
    int64_t ended;     /* bytes of the system channel that were searched for the end */
    bool fresh;        /* the list must be read again */
    bool pending;      /* there may be something to send */
    bool settled;      /* noted as done: marks are no longer needed */
    bool naming;       /* a process looks up names */
    int64_t caught;    /* CLOCK_MONOTONIC ns: when last nothing was left to send; 0: never */
    bool said;         /* it was logged that a part is a link */
    bool said_special; /* it was logged that a log is a FIFO, a socket or a device */
    bool said_foreign; /* it was logged that a log belongs to no session */
};

/* Holds what a view needs. letters, cursor: where a session's dead letters and marks come from. */
struct view_context {
    struct cursor *cursor;
    struct letters *letters;
    int64_t batch;
};

int view_open(struct view **out, int32_t folder, const char *path, struct err *e);
/* Removes the marks of handled channels, or moves them where the cursor keeps marks; then frees. */
void view_close(struct view *v, struct cursor *cursor);

/* Reads the files' changes. GPUFL_E_NOENT: the folder has no session any more. */
int view_refresh(struct view *v, const struct view_context *c, struct err *e);

/* Returns true if a program writes to one of the sessions. */
bool view_is_live(const struct view *v);
/* Returns true if nothing is left to send. */
bool view_caught_up(const struct view *v);
/* Returns true if every session is over, complete and handled. */
bool view_is_done(const struct view *v);
/* Returns the approximate number of bytes on disk, compressed or not, that were not sent yet. */
int64_t view_waiting(const struct view *v);

/* Adds a range that is sent as blank lines from now on. */
int course_add_gap(struct course *c, int64_t from, int64_t to);
bool course_has_gap(const struct course *c, int64_t from, int64_t to);

#endif
