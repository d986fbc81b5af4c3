/* journal_inside.h - has what the two files of the journal share: journal.c appends and syncs,
 * journal_replay.c reads the existing frames at the start. */
#ifndef GPUFL_SERVER_INTAKE_JOURNAL_INSIDE_H
#define GPUFL_SERVER_INTAKE_JOURNAL_INSIDE_H

#include "base/process/thread.h"
#include "server/intake/frame.h"
#include "server/intake/journal.h"

#include <limits.h>

struct segment {
    uint64_t first; /* number of its first frame; its name */
    int64_t bytes;  /* written */
    uint64_t frames, released;
    int fd;     /* owned; -1: complete, synced and closed */
    bool dirty; /* written to since the last sync */
};

/* This is a frame that is not durable yet. */
struct pending {
    struct journal_frame frame;
    struct journal_place place;
};

enum { JOURNAL_PACKERS = 64 };

struct journal {
    struct journal_config config;
    char folder[PATH_MAX];
    uint64_t id;
    pthread_mutex_t lock;     /* guards all members below */
    pthread_cond_t work;      /* for the syncing thread */
    pthread_cond_t moved;     /* for journal_wait: durable or failed has changed */
    struct segment *segments; /* owned; by first; the last one is appended to */
    size_t segment_count, segment_cap;
    int64_t bytes;           /* of all segments */
    uint64_t next;           /* number of the next frame */
    uint64_t durable;        /* number of the last durable frame */
    struct pending *pending; /* owned; frames after durable, in order */
    size_t pending_count, pending_cap;
    struct pending *handing; /* owned by the syncing thread: frames that it gives out */
    size_t handing_cap;
    int64_t unsynced; /* bytes */
    unsigned waiting; /* in journal_wait */
    bool failed, closing;
    struct frame_packer *packers[JOURNAL_PACKERS]; /* owned: packers that are not in use */
    unsigned packer_count;
    struct journal_stats stats; /* counters; bytes and segments are above */
    struct thread thread;
};

void journal_segment_path(const struct journal *j, uint64_t first, const char *suffix, char *out);

/* Reads the folder: gives out the frames, and fills in segments, id, next and stats. */
int journal_replay(struct journal *j, struct err *e);

#endif
