/* folders.h - the folders below the sources: which of them are sessions, and in which something
 * happened.
 *
 * A folder that has parts of a log is a session's, and is not looked into further; any other one
 * may hold sessions, up to FOLDERS_DEPTH levels below a source. Links are not followed, so that
 * nothing outside the sources is read. Each folder is watched (watch.h) and looked at from time
 * to time besides. Memory: about 250 bytes a folder. Owner's thread. */
#ifndef GPUFL_AGENT_SEND_FOLDERS_H
#define GPUFL_AGENT_SEND_FOLDERS_H

#include "agent/send/watch.h"

enum { FOLDERS_DEPTH = 3, FOLDERS_MAX = 1 << 20 };

enum folder_kind { FOLDER_FREE, FOLDER_GROUP, FOLDER_SESSION };

struct folder {
    char *path; /* owned */
    enum folder_kind kind;
    int depth;          /* below its source */
    int watch;          /* -1: none */
    int32_t next;       /* of the same hash; of free ones; -1: none */
    int64_t stamp;      /* its time of change at the last look, ns; -1: never; -2: it failed */
    int64_t due;        /* CLOCK_MONOTONIC ns: when it is looked at next, whatever is reported */
    int64_t touched;    /* since when something is reported that was not looked at; 0: nothing */
    bool done;          /* all of the session is on the server */
    int64_t kept;       /* the stamp with which it was offered to the keeper; 0: it was not */
    unsigned char said; /* bit per kind of entry that is left out, and of which that was said */
};

struct folders {
    struct folder *items; /* owned; an index stays its folder's */
    size_t count, cap;
    int32_t *slots; /* owned: first of a hash; -1: none */
    size_t slot_count;
    int32_t free; /* first free item; -1: none */
    struct watch watch;
    int64_t scan; /* ns between looks */
    uint64_t sessions, unreadable;
};

int folders_open(struct folders *f, const char *const *sources, size_t count, int64_t scan,
                 bool no_inotify, struct err *e);
void folders_close(struct folders *f);

/* Takes what was reported, and looks at the folders that may hold sessions where that is due. */
int folders_look(struct folders *f, int64_t now, struct err *e);

/* A folder's time of change, ns since the Unix epoch; -1: it is gone. [any] */
int64_t folders_time(const char *path);
/* When the folder is looked at next. */
void folders_plan(struct folders *f, struct folder *at, int64_t now);
/* The folder is gone. */
void folders_remove(struct folders *f, int32_t index);

/* The earliest time at which a folder is due, or its lines were collected for long enough. */
int64_t folders_next(const struct folders *f, int64_t delay);

#endif
