/* folders.h - watches the folders below the sources: which of them are sessions, and which have
 * changed.
 *
 * A folder with parts of a log is a session's, and its subfolders are not read; any other folder
 * may have sessions, up to FOLDERS_DEPTH levels below a source. Links are not followed, so that
 * nothing outside the sources is read. Each folder is watched (watch.h) and also read from time to
 * time. Memory: about 250 bytes for each folder. Called by the owner's thread only, except where a
 * tag says otherwise. */
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
    int64_t due;        /* CLOCK_MONOTONIC ns: the next look, also without a report */
    int64_t touched;    /* time of the first report since the last look; 0: none */
    bool done;          /* all of the session is on the server */
    int64_t kept;       /* the stamp when it was offered to the keeper; 0: it was not */
    unsigned char said; /* a bit for each kind of ignored entry that was logged */
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

/* Takes the reports of changes, and reads the folders that are due. */
int folders_look(struct folders *f, int64_t now, struct err *e);

/* Returns a folder's time of change, ns since the Unix epoch; -1: it is gone. [any] */
int64_t folders_time(const char *path);
/* Plans the next look at the folder. */
void folders_plan(struct folders *f, struct folder *at, int64_t now);
/* Removes a folder that is gone. */
void folders_remove(struct folders *f, int32_t index);

/* Returns the earliest time at which a folder is due, or at which delay has passed since its first
 * report. */
int64_t folders_next(const struct folders *f, int64_t delay);

#endif
