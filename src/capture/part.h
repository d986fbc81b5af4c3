/* part.h - one channel's file: appending whole lines, ending a part, telling
 * that somebody deleted it.
 *
 * The file ends behind a complete line after every part_write, whatever write(2)
 * did: what a failed one left is cut off again; where even that fails, the next
 * write starts a new line, so that the torn one stands alone.
 *
 * [collector] */
#ifndef GPUFL_CAPTURE_PART_H
#define GPUFL_CAPTURE_PART_H

#include "base/file.h"
#include "wire/record.h"

#include <stdbool.h>

struct part {
    const char *dir;             /* absolute; not owned */
    const char *name;            /* of the channel */
    int fd;                      /* -1: not created yet */
    struct file_id id;           /* of the file behind fd */
    int64_t number;              /* 1, 2, …: of the active part */
    int64_t offset;              /* plain bytes of the channel before it */
    int64_t bytes;               /* in the file */
    bool started;                /* the header is in the file */
    bool torn;                   /* the file ends in a broken line that could not be cut off */
    uint64_t rows[RECORD_COUNT]; /* in the file: lost when it is deleted */
};

void part_init(struct part *p, const char *dir, enum channel c);

/* Appends complete lines, creating the file where needed; durable: on the disk
 * before it returns. Where the program has closed the descriptor, as daemons do, the file is
 * opened again. 0 or a negative errno, with nothing of the data in the file; -EBADF where
 * the file of that name is not ours any more. */
int part_write(struct part *p, const void *data, size_t n, bool durable);

/* Ends the part: <channel>.log becomes <channel>.<N>.log, whose path goes to path
 * (PATH_MAX bytes). 0 or a negative errno: -ENOENT when the name is gone and the
 * part over all the same, else the part goes on. */
int part_finish(struct part *p, char *path);

/* The file has no name any more. */
bool part_deleted(const struct part *p);

/* Closes the file without renaming it and starts over behind it: the next write
 * opens part number + 1. Nothing when there is no file. */
void part_leave(struct part *p);

#endif
