/* spool.h - decides when the capture has to end: by the session's size, the disk's
 * free space, or a failed write.
 *
 * Bytes are counted as they are written; the directory is read only when the
 * limit seems reached, because an agent may have taken finished parts away. A
 * stop is final. Some room is kept for the records that say why: half of it for the
 * records that may come many times, all of it for the last ones. The limit includes
 * that room, so the session never gets larger than the limit.
 *
 * [collector], except spool_replaced, which the compressor's thread calls. */
#ifndef GPUFL_CAPTURE_LOG_SPOOL_H
#define GPUFL_CAPTURE_LOG_SPOOL_H

#include "capture/log/dir.h"
#include "capture/log/writer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SPOOL_CLOSING_BYTES = 256 << 10 };

enum spool_class {
    SPOOL_ROWS,    /* not written any more after the stop */
    SPOOL_CLOSING, /* may use half of the room kept */
    SPOOL_LAST,    /* may use all of the room kept */
};

struct spool {
    struct log_dir *dir;   /* not owned */
    int64_t limit;         /* bytes for rows; 0: none */
    int64_t min_free;      /* 0: none */
    int64_t closing;       /* bytes of room kept */
    int64_t closing_used;  /* written since the stop */
    int64_t checked;       /* ns: when free space was last asked for */
    pthread_mutex_t lock;  /* keeps the compressor's unlink and a walk of the directory apart */
    _Atomic int64_t bytes; /* of the session on disk; relaxed: a sum, which orders nothing */
    enum writer_stop stop; /* WRITER_RUNS, or why the capture ended */
    char text[512];        /* the sentence that says why */
};

/* Counts the files that are in the directory already. The limit may be reached at once. */
int spool_init(struct spool *s, struct log_dir *dir, int64_t max_bytes, int64_t min_free);
void spool_fini(struct spool *s);

/* Returns true if n more bytes may be written, false if the capture has ended for that class. */
bool spool_admit(struct spool *s, enum spool_class k, int64_t n);

/* Counts n bytes that were written, or, if n is negative, that are gone. */
void spool_add(struct spool *s, enum spool_class k, int64_t n);

/* Asks for the disk's free space, once a second at most; true if it was asked for. */
bool spool_check(struct spool *s);

/* Ends the capture with a sentence; the first one counts. */
void spool_end(struct spool *s, enum writer_stop why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes the plain part after its compressed part is complete, and counts the bytes. Names are
 * relative to the directory. [compressor] */
void spool_replaced(struct spool *s, const char *plain, const char *packed);

#endif
