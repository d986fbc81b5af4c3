/* compressor.h - runs the low-priority thread that packs finished parts.
 *
 * <channel>.<N>.log is packed into <channel>.<N>.log.gz.part, which is renamed to
 * <channel>.<N>.log.gz when it is complete; only then the plain part is removed. So at
 * every moment at least one of the two is whole, and a .gz is always whole. The thread
 * starts with the first part, and shares the descriptor table of base/process/fd_thread.h, in
 * which the session's directory is open. A part that cannot be packed stays plain.
 *
 * compressor_add and _stop: [collector]; only the queue, the wake-up and the
 * spool's count are shared. */
#ifndef GPUFL_CAPTURE_LOG_COMPRESSOR_H
#define GPUFL_CAPTURE_LOG_COMPRESSOR_H

#include "base/process/thread.h"
#include "base/queue.h"
#include "capture/log/spool.h"

struct compressor {
    struct spool *spool; /* not owned */
    bool durable;        /* fsync the packed part before the plain one is removed */
    int level;           /* of gzip */
    struct thread thread;
    struct queue jobs;  /* of struct job */
    struct wakeup wake; /* after a push, and after stop */
    _Atomic bool stop;  /* release in compressor_stop, acquire in the thread */
};

/* Prepares a compressor. level: of gzip, 1 to 9; 0: a quick one. */
int compressor_init(struct compressor *c, struct spool *spool, bool durable, int level);

/* Queues a finished part, by its name below the session's directory. */
void compressor_add(struct compressor *c, const char *name);

/* Ends the thread within milliseconds. The part that is being packed and those in the queue stay
 * plain. */
void compressor_stop(struct compressor *c);

#endif
