/* compressor.c - see compressor.h for the order of the steps, which makes a crash
 * after any of them harmless. */
#include "capture/log/compressor.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/fd_thread.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LEVEL = 4, /* 53 MB/s at 6.7 bytes a kernel row; 1: 95 at 7.2, 6: 12 at 6.4 (bench_writer) */
    NICE = 19,
};

struct job {
    struct queue_node node; /* first */
    char name[];            /* of the plain part */
};

static int sync_file(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = fsync(fd);
    close(fd);
    return rc;
}

static void pack(struct compressor *c, const char *name)
{
    char packed[NAME_MAX + 1];
    struct err e = {0};
    int at = log_dir_at(c->spool->dir);
    if (at < 0 || snprintf(packed, sizeof packed, "%s.gz", name) >= (int)sizeof packed)
        return;
    if (file_gzip_at(at, name, packed, c->level, &c->stop, &e))
        return; /* the part stays plain */
    if (c->durable && (sync_file(at, packed) || fsync(at)))
        return;
    spool_replaced(c->spool, name, packed);
}

static void pack_list(struct compressor *c, struct queue_node *n)
{
    while (n) {
        struct job *job = (struct job *)n;
        n = n->next;
        if (!atomic_load_explicit(&c->stop, memory_order_acquire))
            pack(c, job->name);
        mem_free(job);
    }
}

static void *compressor_main(void *arg)
{
    struct compressor *c = arg;
    while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
        wakeup_wait(&c->wake, -1);
        pack_list(c, queue_take(&c->jobs));
    }
    return NULL;
}

int compressor_init(struct compressor *c, struct spool *spool, bool durable, int level)
{
    memset(c, 0, sizeof *c);
    c->spool = spool;
    c->durable = durable;
    c->level = level ? level : LEVEL;
    return wakeup_init(&c->wake);
}

/* Runs in fd_thread_run: the new thread shares the descriptor table of the one that starts it. */
static void start(void *arg)
{
    struct compressor *c = arg;
    (void)thread_start(&c->thread, "gpufl-gzip", NICE, compressor_main, c);
}

void compressor_add(struct compressor *c, const char *name)
{
    size_t size = strlen(name) + 1;
    struct job *job = mem_alloc(sizeof *job + size);
    if (!job)
        return; /* the part stays plain */
    memcpy(job->name, name, size);
    queue_push(&c->jobs, &job->node);
    if (!c->thread.running)
        fd_thread_run(start, c);
    if (c->thread.running) /* else the part waits in the queue for the next try */
        wakeup_signal(&c->wake);
}

void compressor_stop(struct compressor *c)
{
    atomic_store_explicit(&c->stop, true, memory_order_release);
    wakeup_signal(&c->wake);
    thread_join(&c->thread);
    pack_list(c, queue_take(&c->jobs)); /* frees them */
    wakeup_fini(&c->wake);
}
