/* part.h - writes one channel's file: appends whole lines, ends a part, and notices when the file
 * was deleted.
 *
 * The file is created when the session starts, and the file of each further part before the part in
 * front of it ends, so that a program that may open no more files later keeps its log. A file in
 * which nothing was written is removed when the channel is closed.
 *
 * After every part_write the file ends with a complete line: the rest of a failed write
 * is cut off again. If the cut fails, too, the next write starts a new line, so that only
 * the torn line is lost.
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
    int fd;              /* -1: not created yet, or closed for good */
    struct file_id id;   /* of the file of fd */
    int64_t number;      /* of the active part: 1, 2, … */
    int64_t offset;      /* plain bytes of the channel before the active part */
    int64_t bytes;       /* in the file */
    int64_t reserve;     /* bytes of the disk to keep for writes with PART_LAST; 0: none */
    int64_t allocated;   /* bytes allocated on the disk for the file, if more than `bytes` */
    bool started;        /* the header is in the file */
    bool created;        /* the file is new, and the debug output has not said so */
    bool torn;           /* the file ends in a broken line that could not be cut off */
    uint64_t rows[RECORD_COUNT]; /* in the file: lost when the file is deleted */
};

void part_init(struct part *p, struct log_dir *dir, enum channel c);

/* Creates the file. 0, or a negative errno, after which part_write tries again. */
int part_open(struct part *p);

/* Says how part_write is to write; bits. */
enum {
    PART_DURABLE = 1, /* on the disk before it returns */
    PART_LAST = 2,    /* may use up the reserve */
};

/* Appends complete lines. If the program has closed the descriptor, as daemons do, the file is
 * opened again. 0, or a negative errno, and then none of the data is in the file; -EBADF: the file
 * of that name is not ours any more. */
int part_write(struct part *p, const void *data, size_t n, int how);

/* Ends the part: <channel>.log becomes <channel>.<N>.log, and that name is written to name
 * (PART_NAME bytes). Unless this is the last part, the next part's file is created. 0 or a negative
 * errno; -ENOENT: the file's name was gone, and the part has ended; otherwise the part goes on. */
int part_finish(struct part *p, bool last, char *name);

/* Returns true if the file has no name any more. */
bool part_deleted(const struct part *p);

/* Closes the file without renaming it. The next write opens a new file, which is part
 * number + 1 if the file before held something. Does nothing if there is no file. */
void part_leave(struct part *p);

#endif
