/* part.h - one channel's file: appending whole lines, ending a part, telling
 * that somebody deleted it.
 *
 * The file is created when the session starts, and the next part's before the one before it ends: a
 * program that may open no more files later keeps its log. A file in which nothing was written is
 * removed when the channel is closed.
 *
 * The file ends with a complete line after every part_write, whatever write(2)
 * did: what a failed write left is cut off again; where even that fails, the next
 * write starts a new line, so that only the torn line is lost.
 *
 * [collector] */
#ifndef GPUFL_CAPTURE_LOG_PART_H
#define GPUFL_CAPTURE_LOG_PART_H

#include "capture/log/dir.h"
#include "wire/record.h"

#include <stdbool.h>

enum { PART_NAME = 64 };

struct part {
    struct log_dir *dir; /* not owned */
    const char *name;    /* of the channel */
    int fd;              /* -1: not created yet, or over */
    struct file_id id;   /* of the file of fd */
    int64_t number;      /* 1, 2, …: of the active part */
    int64_t offset;      /* plain bytes of the channel before it */
    int64_t bytes;       /* in the file */
    int64_t reserve;     /* bytes of the disk to keep for writes with PART_LAST; 0: none */
    int64_t
        allocated; /* bytes of the file that have their place on the disk, if more than it has */
    bool started;  /* the header is in the file */
    bool created;  /* the file is new, and the debug output has not said so */
    bool torn;     /* the file ends in a broken line that could not be cut off */
    uint64_t rows[RECORD_COUNT]; /* in the file: lost when it is deleted */
};

void part_init(struct part *p, struct log_dir *dir, enum channel c);

/* Creates the file. 0 or a negative errno: part_write tries again then. */
int part_open(struct part *p);

/* How part_write is to write; bits. */
enum {
    PART_DURABLE = 1, /* on the disk before it returns */
    PART_LAST = 2,    /* may use up the reserve */
};

/* Appends complete lines. Where the program has closed the descriptor, as daemons do, the file is
 * opened again. 0 or a negative errno, with nothing of the data in the file; -EBADF where
 * the file of that name is not ours any more. */
int part_write(struct part *p, const void *data, size_t n, int how);

/* Ends the part: <channel>.log becomes <channel>.<N>.log, whose name goes to name (PART_NAME
 * bytes), and unless it is the last one the next part's file is there. 0 or a negative errno:
 * -ENOENT when the name is gone and the part over all the same, else the part goes on. */
int part_finish(struct part *p, bool last, char *name);

/* The file has no name any more. */
bool part_deleted(const struct part *p);

/* Closes the file without renaming it: the next write opens a new one, which is part
 * number + 1 where the one before held something. Nothing when there is no file. */
void part_leave(struct part *p);

#endif
