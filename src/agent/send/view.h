/* view.h - the sessions of one folder at work: their parts, and how far each channel is.
 *
 * A view is read anew when its folder changes (a part got another name, a new one came); while
 * lines are appended only the sizes are looked at. Links are left out: nothing outside the folder
 * is sent. Owner's thread. */
#ifndef GPUFL_AGENT_SEND_VIEW_H
#define GPUFL_AGENT_SEND_VIEW_H

#include "agent/remote.h"
#include "agent/send/cursor.h"
#include "agent/send/folders.h"
#include "agent/send/letters.h"
#include "agent/upload_sessions.h"

/* A channel under way. */
struct course {
    char channel[PART_CHANNEL_MAX];
    const struct ship_part *parts; /* of the view's session; by number */
    size_t count;
    int64_t at;       /* what is before was dealt with; -1: not known yet. Windows: the number */
    int64_t server;   /* what the server said last that it has; -1: nothing */
    int64_t tried;    /* end of the furthest body that this agent sent, as far as it knows */
    int64_t mark;     /* in the cursor; -1: none */
    int64_t piece;    /* plain bytes of the next body */
    int64_t uncut;    /* plain bytes that a body may have: longer ones were cut off */
    unsigned stuck;   /* bodies in a row that brought nothing on */
    unsigned cuts;    /* bodies in a row that were cut off */
    uint64_t unnamed; /* lines of the window under way that the server left out and did not name */
    bool caught;      /* nothing is left to send, as far as it was looked */
    bool blocked;     /* cannot go on until the folder changes; said once */
    struct part_gap *gaps; /* owned: places of dead letters, in order */
    size_t gap_count, gap_cap;
};

/* A session under way. */
struct work {
    char id[PART_ID_MAX];
    const struct upload_session *session; /* the view's; NULL: gone from the folder */
    bool ours;                            /* what the session was when its parts were read last */
    struct course *courses;               /* owned */
    size_t course_count, course_cap;
    bool asked;        /* the server's positions are known */
    bool checked;      /* and were asked for once more at the session's end */
    bool named;        /* names were looked up, or are not wanted */
    bool closed;       /* the server called it deleted, or knows that it is complete */
    uint64_t rejected; /* lines that the server left out */
};

enum { VIEW_WORKS = 4096 };

struct view {
    unsigned empty; /* live parts without a byte when the folder was read */
    int32_t folder;
    char *path; /* owned */
    struct upload_sessions list;
    struct work *works; /* owned */
    size_t work_count, work_cap;
    int64_t stamp;     /* of the folder when it was read; -1: it had just changed */
    int64_t ended;     /* bytes of the system channel in which no end was found */
    bool fresh;        /* the list must be read anew */
    bool pending;      /* there may be something to send */
    bool settled;      /* noted as done: no mark is needed any more */
    bool naming;       /* a process looks up names */
    int64_t caught;    /* CLOCK_MONOTONIC ns: when nothing was left to send last; 0: never */
    bool said;         /* that a part is a link */
    bool said_special; /* that a log is a FIFO, a socket or a device */
    bool said_foreign; /* that a log belongs to no session */
};

/* letters, cursor: where a session's dead letters and marks come from. */
struct view_context {
    struct cursor *cursor;
    struct letters *letters;
    int64_t batch;
};

int view_open(struct view **out, int32_t folder, const char *path, struct err *e);
/* Removes the marks of what is dealt with; or moves them, where the cursor keeps marks. */
void view_close(struct view *v, struct cursor *cursor);

/* Looks at what became of the files. NOENT: the folder has no session any more. */
int view_refresh(struct view *v, const struct view_context *c, struct err *e);

/* Says whether a program writes to one of the sessions. */
bool view_is_live(const struct view *v);
/* Says whether nothing is left to send. */
bool view_caught_up(const struct view *v);
/* Says whether each session is over, complete and dealt with. */
bool view_is_done(const struct view *v);
/* Plain or packed bytes on disk that come after what was sent, roughly. */
int64_t view_waiting(const struct view *v);

/* Keeps the range empty from now on. */
int course_add_gap(struct course *c, int64_t from, int64_t to);
bool course_has_gap(const struct course *c, int64_t from, int64_t to);

#endif
