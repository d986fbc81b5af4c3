/* feed.c - turns parts into lines, on one thread or two.
 *
 * The threads share a ring of blocks: `filled` and `emptied` count all blocks that were passed on,
 * guarded by the lock, so that a block belongs to exactly one thread. A block is a sequence of
 * (length, line, NUL); it grows only if a single line does not fit. */
#include "analyze/read/feed.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/packed/lines.h"
#include "base/process/thread.h"
#include "wire/encode.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCKS = 4,
    BLOCK_BYTES = 1 << 20,
    THREADS_FROM = 4 << 20, /* bytes on disk from which a second thread reads */
    UNFINISHED = 1u << 31,  /* flag in a line's length: the line has no end yet */
};

struct block {
    char *data; /* owned */
    size_t len, cap;
    int64_t done;                  /* bytes on disk read when the block was full */
    enum discover_channel channel; /* the channel of all its lines */
};

struct pipe {
    const struct discover_session *session;
    struct feed_stats *stats; /* used by the reader until it has ended */
    struct block blocks[BLOCKS];
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t filled, emptied; /* guarded by lock */
    bool ended;               /* guarded by lock: nothing more will be filled */
    bool stop;                /* guarded by lock: the consumer wants no more */
    int code;                 /* set by the reader before `ended` */
};

/* ---- one part -------------------------------------------------------------------------- */

typedef int line_fn(void *arg, char *line, size_t len, bool complete);

static int read_part(const struct discover_part *p, line_fn *fn, void *arg,
                     struct feed_stats *stats)
{
    struct lines *l;
    struct err e = {0};
    char *line;
    size_t len;
    bool complete;
    int rc = lines_open(&l, p->path, WIRE_MAX_LINE, &e);
    if (rc) {
        if (rc == GPUFL_E_NOMEM)
            return rc;
        stats->unreadable++;
        stats->damaged |= 1u << p->channel;
        if (!*stats->first_error)
            snprintf(stats->first_error, sizeof stats->first_error, "%s", e.text);
        return 0;
    }
    stats->parts++;
    /* A packed file without the bytes of a packed one has been overwritten. In a damaged file, the
     * last line is not one that is still being written. */
    bool spoilt = file_is_named_packed(p->path) && !lines_packed(l);
    while (!rc && lines_next(l, &line, &len, &complete)) {
        complete |= spoilt || lines_truncated(l);
        stats->unfinished += !complete;
        rc = fn(arg, line, len, complete);
    }
    stats->too_long += lines_too_long(l);
    stats->cut += spoilt || lines_truncated(l);
    if (spoilt || lines_too_long(l) || lines_truncated(l))
        stats->damaged |= 1u << p->channel;
    lines_close(l);
    return rc;
}

static int feed_here(const struct discover_session *s, const struct feed *f,
                     struct feed_stats *stats)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < s->count; i++) {
        if (f->channel)
            f->channel(f->arg, s->parts[i].channel);
        rc = read_part(&s->parts[i], f->line, f->arg, stats);
    }
    return rc;
}

/* ---- the reader's side ----------------------------------------------------------------- */

/* Returns the block to fill; NULL if the consumer has stopped. [reader] */
static struct block *pipe_free(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->filled - p->emptied == BLOCKS)
        pthread_cond_wait(&p->moved, &p->lock);
    struct block *b = p->stop ? NULL : &p->blocks[p->filled % BLOCKS];
    pthread_mutex_unlock(&p->lock);
    return b;
}

static void pipe_hand_over(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    p->filled++;
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

struct reader {
    struct pipe *pipe;
    struct block *block;           /* being filled; NULL: none */
    enum discover_channel channel; /* the channel of the part that is read */
    int64_t done;                  /* bytes on disk of the parts before this one */
};

static int reader_flush(struct reader *r)
{
    if (r->block && r->block->len) {
        r->block->done = r->done;
        pipe_hand_over(r->pipe);
        r->block = NULL;
    }
    return 0;
}

static int reader_line(void *arg, char *line, size_t len, bool complete)
{
    struct reader *r = arg;
    size_t need = sizeof(uint32_t) + len + 1;
    if (r->block && r->block->len + need > BLOCK_BYTES)
        reader_flush(r);
    if (!r->block) {
        r->block = pipe_free(r->pipe);
        if (!r->block)
            return GPUFL_E_STATE;
        r->block->len = 0;
        r->block->channel = r->channel;
    }
    struct block *b = r->block;
    if (b->len + need > b->cap) {
        size_t cap = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        char *more = mem_realloc(b->data, cap);
        if (!more)
            return GPUFL_E_NOMEM;
        b->data = more;
        b->cap = cap;
    }
    uint32_t head = (uint32_t)len | (complete ? 0 : UNFINISHED);
    memcpy(b->data + b->len, &head, sizeof head);
    memcpy(b->data + b->len + sizeof head, line, len + 1);
    b->len += need;
    return 0;
}

static void *reader_main(void *arg)
{
    struct pipe *p = arg;
    struct reader r = {.pipe = p};
    int rc = 0;
    for (size_t i = 0; !rc && i < p->session->count; i++) {
        const struct discover_part *part = &p->session->parts[i];
        if (part->channel != r.channel)
            reader_flush(&r);
        r.channel = part->channel;
        rc = read_part(part, reader_line, &r, p->stats);
        r.done += part->bytes > 0 ? part->bytes : 0;
    }
    if (!rc)
        reader_flush(&r);
    pthread_mutex_lock(&p->lock);
    p->code = rc == GPUFL_E_STATE ? 0 : rc;
    p->ended = true;
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the consumer's side --------------------------------------------------------------- */

/* Returns the oldest filled block, NULL at the end. [consumer] */
static struct block *pipe_filled(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->ended && p->filled == p->emptied)
        pthread_cond_wait(&p->moved, &p->lock);
    struct block *b = p->filled == p->emptied ? NULL : &p->blocks[p->emptied % BLOCKS];
    pthread_mutex_unlock(&p->lock);
    return b;
}

static void pipe_give_back(struct pipe *p, bool stop)
{
    pthread_mutex_lock(&p->lock);
    p->emptied++;
    p->stop |= stop;
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

static int consume(struct block *b, const struct feed *f)
{
    int rc = 0;
    if (f->channel)
        f->channel(f->arg, b->channel);
    for (size_t at = 0; !rc && at < b->len;) {
        uint32_t head;
        memcpy(&head, b->data + at, sizeof head);
        size_t len = head & ~UNFINISHED;
        rc = f->line(f->arg, b->data + at + sizeof head, len, !(head & UNFINISHED));
        at += sizeof head + len + 1;
    }
    return rc;
}

static int feed_piped(const struct discover_session *s, const struct feed *f,
                      struct feed_stats *stats)
{
    struct pipe p = {.session = s, .stats = stats};
    struct thread reader = {0};
    struct block *b;
    int rc = 0;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    if (thread_start(&reader, "gpufl-read", 0, reader_main, &p)) {
        rc = feed_here(s, f, stats);
    } else {
        while (!rc && (b = pipe_filled(&p))) {
            rc = consume(b, f);
            if (f->progress)
                f->progress(f->arg, b->done, s->bytes);
            pipe_give_back(&p, rc != 0);
        }
        thread_join(&reader);
        rc = rc ? rc : p.code;
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        mem_free(p.blocks[i].data);
    pthread_cond_destroy(&p.moved);
    pthread_mutex_destroy(&p.lock);
    return rc;
}

int feed_session(const struct discover_session *s, const struct feed *f, struct feed_stats *stats)
{
    int64_t from = f->threads_from ? f->threads_from : THREADS_FROM;
    memset(stats, 0, sizeof *stats);
    return s->bytes >= from ? feed_piped(s, f, stats) : feed_here(s, f, stats);
}
