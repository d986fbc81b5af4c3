/* journal.c - appends, syncs for all, and releases; see journal.h.
 *
 * Appending packs outside the lock and writes inside it, so that the file has frames in the
 * order of their numbers. The syncing thread takes everything that was written when it begins,
 * syncs without the lock, and hands those frames out: an append never waits for a disk's cache,
 * and a slow disk makes the groups larger. It begins when somebody waits, when much is unsynced,
 * or after a while.
 *
 * A segment's space is reserved when it is made, so that a full disk refuses a new segment and
 * not half a frame. Bytes that a failed write left after the last frame are overwritten by the
 * next write, or are a torn tail. */
#include "server/intake/journal.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "server/intake/journal_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT_BYTES ((int64_t)64 << 20)
#define MOST_BYTES    ((int64_t)4 << 30)
#define KEEP_FREE     ((int64_t)256 << 20)
/* Limits the unsynced bytes that may stay while nothing waits for them. */
#define SYNC_BYTES ((int64_t)4 << 20)
/* Says after how many ns frames are synced also when nothing waits for them. */
#define SYNC_AFTER 20000000

enum { SEGMENTS_MAX = 1 << 20, PENDING_MAX = 1 << 22, SYNC_AT_ONCE = 64 };

void journal_segment_path(const struct journal *j, uint64_t first, const char *suffix, char *out)
{
    char name[64];
    snprintf(name, sizeof name, "%020llu%s", (unsigned long long)first, suffix);
    if (path_join(out, PATH_MAX, j->folder, name))
        out[0] = '\0'; /* opening "" fails with a sentence */
}

/* ---- segments -------------------------------------------------------------------------------- */

static struct segment *last_segment(struct journal *j)
{
    return &j->segments[j->segment_count - 1];
}

static int sync_folder(const struct journal *j)
{
    int fd = open(j->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int write_at(int fd, const char *data, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t done = pwrite(fd, data, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        data += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

/* Makes the file of a new segment, with its head and its space. It gets its name when its head is
 * in it: an empty one of that name, the only one to know the journal's id and number, may be
 * there. */
static int segment_file(struct journal *j, int *out, struct err *e)
{
    char path[PATH_MAX], made[PATH_MAX], head[SEGMENT_HEAD];
    journal_segment_path(j, j->next, ".journal", path);
    journal_segment_path(j, j->next, ".new", made);
    int64_t room = file_free_bytes(j->folder);
    if (room >= 0 && room < j->config.keep_free + j->config.segment_bytes)
        return err_set_vendor(
            e, GPUFL_E_IO, ENOSPC,
            "%s: the journal needs %lld MiB free, of which it leaves %lld to others; %lld are",
            j->folder, (long long)((j->config.keep_free + j->config.segment_bytes) >> 20),
            (long long)(j->config.keep_free >> 20), (long long)(room >> 20));
    int fd = open(made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s", made);
    segment_head_put(head, &(struct segment_head){j->id, j->next});
    int error = write_at(fd, head, sizeof head, 0);
    if (!error && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, j->config.segment_bytes) &&
        errno != EOPNOTSUPP && errno != ENOSYS)
        error = errno;
    error = !error && fdatasync(fd) ? errno : error;
    error = !error && rename(made, path) ? errno : error;
    error = error ? error : -sync_folder(j);
    if (error) {
        close(fd);
        unlink(made);
        return err_set_vendor(e, GPUFL_E_IO, error, "%s", path);
    }
    *out = fd;
    return 0;
}

/* Begins a new segment to append to. Caller holds the lock, or is alone. */
static int begin_segment(struct journal *j, struct err *e)
{
    int fd;
    if (mem_grow(&j->segments, &j->segment_cap, j->segment_count + 1, sizeof *j->segments,
                 SEGMENTS_MAX))
        return err_nomem(e);
    int rc = segment_file(j, &fd, e);
    if (rc)
        return rc;
    j->segments[j->segment_count++] =
        (struct segment){.first = j->next, .bytes = SEGMENT_HEAD, .fd = fd};
    j->bytes += SEGMENT_HEAD;
    return 0;
}

/* Deletes segments whose frames are all released, except the last segment. Caller holds the
 * lock. */
static void drop_released(struct journal *j)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->segment_count; i++) {
        struct segment *s = &j->segments[i];
        char path[PATH_MAX];
        if (i + 1 < j->segment_count && s->released == s->frames && s->fd < 0) {
            journal_segment_path(j, s->first, ".journal", path);
            if (unlink(path) && errno != ENOENT)
                log_warn("%s: %s", path, strerror(errno));
            j->bytes -= s->bytes;
        } else {
            j->segments[kept++] = *s;
        }
    }
    j->segment_count = kept;
}

static struct segment *find_segment(struct journal *j, uint64_t first)
{
    for (size_t i = 0; i < j->segment_count; i++)
        if (j->segments[i].first == first)
            return &j->segments[i];
    return NULL;
}

void journal_release(struct journal *j, struct journal_place p)
{
    pthread_mutex_lock(&j->lock);
    struct segment *s = find_segment(j, p.segment);
    if (s) {
        s->released++;
        j->stats.unreleased--;
        if (s->released == s->frames)
            drop_released(j);
    }
    pthread_mutex_unlock(&j->lock);
}

/* ---- packers --------------------------------------------------------------------------------- */

static struct frame_packer *take_packer(struct journal *j)
{
    struct frame_packer *p = NULL;
    pthread_mutex_lock(&j->lock);
    if (j->packer_count)
        p = j->packers[--j->packer_count];
    pthread_mutex_unlock(&j->lock);
    if (!p && frame_packer_open(&p))
        return NULL;
    return p;
}

static void give_packer(struct journal *j, struct frame_packer *p)
{
    pthread_mutex_lock(&j->lock);
    if (j->packer_count < JOURNAL_PACKERS) {
        j->packers[j->packer_count++] = p;
        p = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    frame_packer_close(p);
}

/* ---- appending ------------------------------------------------------------------------------- */

static int refuse_failed(struct err *e)
{
    return err_set(e, GPUFL_E_STATE,
                   "the journal could not be synced to the disk, so nothing can be accepted until "
                   "the server is started again");
}

/* Caller holds the lock. */
static int append_packed(struct journal *j, struct journal_frame *f, char *bytes, size_t size,
                         struct err *e)
{
    if (j->failed)
        return refuse_failed(e);
    if (j->bytes + (int64_t)size > j->config.most_bytes)
        return err_set(e, GPUFL_E_FULL, "the journal holds %lld MiB that are not loaded yet",
                       (long long)(j->bytes >> 20));
    if (mem_grow(&j->pending, &j->pending_cap, j->pending_count + 1, sizeof *j->pending,
                 PENDING_MAX))
        return err_nomem(e);
    struct segment *s = last_segment(j);
    if (s->frames && s->bytes + (int64_t)size > j->config.segment_bytes) {
        int rc = begin_segment(j, e);
        if (rc)
            return rc;
        s = last_segment(j);
    }
    f->number = j->next;
    if (f->kind == JOURNAL_PIECE && !f->body)
        f->body = f->number;
    frame_number(bytes, size, f->number);
    int error = write_at(s->fd, bytes, size, s->bytes);
    if (error)
        return err_set_vendor(e, GPUFL_E_IO, error, "%s: the journal cannot be written", j->folder);
    j->pending[j->pending_count++] = (struct pending){*f, {s->first, s->bytes, (uint32_t)size}};
    s->bytes += (int64_t)size;
    s->frames++;
    s->dirty = true;
    j->bytes += (int64_t)size;
    j->unsynced += (int64_t)size;
    j->next++;
    j->stats.frames++;
    j->stats.unreleased++;
    if (j->unsynced >= SYNC_BYTES || j->pending_count == 1)
        pthread_cond_signal(&j->work);
    return 0;
}

int journal_append(struct journal *j, struct journal_frame *f, const void *payload, struct err *e)
{
    char *bytes;
    size_t size;
    struct frame_packer *p = take_packer(j);
    int rc = p ? frame_pack(p, f, payload, &bytes, &size) : GPUFL_E_NOMEM;
    if (rc)
        err_set(e, rc, "%s", err_text(rc));
    if (!rc) {
        pthread_mutex_lock(&j->lock);
        rc = append_packed(j, f, bytes, size, e);
        pthread_mutex_unlock(&j->lock);
    }
    if (p)
        give_packer(j, p);
    return rc;
}

int journal_wait(struct journal *j, uint64_t number, struct err *e)
{
    pthread_mutex_lock(&j->lock);
    if (!number)
        number = j->next - 1;
    j->waiting++;
    pthread_cond_signal(&j->work);
    while (j->durable < number && !j->failed)
        pthread_cond_wait(&j->moved, &j->lock);
    j->waiting--;
    bool durable = j->durable >= number;
    pthread_mutex_unlock(&j->lock);
    return durable ? 0 : refuse_failed(e);
}

/* ---- syncing --------------------------------------------------------------------------------- */

/* Waits until there is something to sync; false: the journal is closing and all is synced.
 * Caller holds the lock. */
static bool wait_for_work(struct journal *j)
{
    while (true) {
        bool some = j->pending_count > 0 && !j->failed;
        if (some && (j->waiting || j->closing || j->unsynced >= SYNC_BYTES))
            return true;
        if (j->closing)
            return false;
        if (!some) {
            pthread_cond_wait(&j->work, &j->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += SYNC_AFTER;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&j->work, &j->lock, &until) == ETIMEDOUT)
            return j->pending_count > 0;
    }
}

/* Syncs what was written, of the oldest segments first; the lock is released meanwhile. *upto: the
 * last frame that is durable then. 0 or errno. */
static int sync_segments(struct journal *j, uint64_t *upto)
{
    int fds[SYNC_AT_ONCE], error = 0;
    uint64_t firsts[SYNC_AT_ONCE];
    size_t n = 0;
    *upto = j->next - 1;
    for (size_t i = 0; i < j->segment_count; i++) {
        struct segment *s = &j->segments[i];
        if (s->fd < 0 || (!s->dirty && i + 1 == j->segment_count))
            continue;
        if (n == SYNC_AT_ONCE) { /* the others come next */
            *upto = s->first - 1;
            break;
        }
        s->dirty = false;
        firsts[n] = s->first;
        fds[n++] = s->fd;
    }
    pthread_mutex_unlock(&j->lock);
    for (size_t i = 0; i < n && !error; i++)
        error = fdatasync(fds[i]) ? errno : 0;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < n && !error; i++) {
        struct segment *s = find_segment(j, firsts[i]);
        if (s != last_segment(j) && !s->dirty) { /* complete */
            close(s->fd);
            s->fd = -1;
        }
    }
    return error;
}

/* Gives the frames of pending up to this number to the reader, without the lock. */
static void hand_out(struct journal *j, uint64_t upto)
{
    size_t n = 0;
    while (n < j->pending_count && j->pending[n].frame.number <= upto)
        n++;
    if (mem_grow(&j->handing, &j->handing_cap, n, sizeof *j->handing, PENDING_MAX)) {
        j->failed = true; /* they are durable, but the reader cannot get them */
        return;
    }
    memcpy(j->handing, j->pending, n * sizeof *j->handing);
    memmove(j->pending, j->pending + n, (j->pending_count - n) * sizeof *j->pending);
    j->pending_count -= n;
    pthread_mutex_unlock(&j->lock);
    for (size_t i = 0; i < n; i++)
        j->config.durable(j->config.arg, &j->handing[i].frame, j->handing[i].place);
    pthread_mutex_lock(&j->lock);
}

static void *sync_main(void *arg)
{
    struct journal *j = arg;
    pthread_mutex_lock(&j->lock);
    while (wait_for_work(j)) {
        uint64_t upto;
        j->unsynced = 0;
        int error = sync_segments(j, &upto);
        if (error) {
            j->failed = true;
            log_error("%s: the journal cannot be synced: %s", j->folder, strerror(error));
        } else {
            j->stats.syncs++;
            j->durable = upto;
            hand_out(j, upto);
        }
        pthread_cond_broadcast(&j->moved);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* ---- opening, closing ------------------------------------------------------------------------ */

static int init_conds(struct journal *j)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return GPUFL_E_NOMEM;
    int failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    failed = failed ? failed : pthread_cond_init(&j->work, &attr);
    pthread_condattr_destroy(&attr);
    if (failed)
        return GPUFL_E_NOMEM;
    pthread_cond_init(&j->moved, NULL);
    pthread_mutex_init(&j->lock, NULL);
    return 0;
}

static void journal_free(struct journal *j)
{
    for (size_t i = 0; i < j->segment_count; i++)
        if (j->segments[i].fd >= 0)
            close(j->segments[i].fd);
    for (unsigned i = 0; i < j->packer_count; i++)
        frame_packer_close(j->packers[i]);
    pthread_cond_destroy(&j->work);
    pthread_cond_destroy(&j->moved);
    pthread_mutex_destroy(&j->lock);
    mem_free(j->segments);
    mem_free(j->pending);
    mem_free(j->handing);
    mem_free(j);
}

int journal_open(struct journal **out, const struct journal_config *c, struct err *e)
{
    *out = NULL;
    int rc = file_mkdirs(c->folder, 0700, e);
    if (rc)
        return rc;
    struct journal *j = mem_zalloc(sizeof *j);
    if (!j || init_conds(j)) {
        mem_free(j);
        return err_nomem(e);
    }
    j->config = *c;
    j->config.segment_bytes = c->segment_bytes > 0 ? c->segment_bytes : SEGMENT_BYTES;
    j->config.most_bytes = c->most_bytes > 0 ? c->most_bytes : MOST_BYTES;
    j->config.keep_free = c->keep_free > 0 ? c->keep_free : KEEP_FREE;
    j->next = 1;
    snprintf(j->folder, sizeof j->folder, "%s", c->folder);
    rc = journal_replay(j, e);
    if (rc == 0)
        rc = begin_segment(j, e);
    if (rc)
        goto done;
    j->durable = j->next - 1;
    pthread_mutex_lock(&j->lock);
    drop_released(j); /* the empty ones */
    pthread_mutex_unlock(&j->lock);
    rc = thread_start(&j->thread, "gpufl-journal", 0, sync_main, j);
    if (rc) {
        err_set(e, rc, "the journal's thread cannot be started");
        goto done;
    }
done:
    if (rc)
        journal_free(j);
    else
        *out = j;
    return rc;
}

/* Leaves an empty journal if everything is in the store, so that the next start has nothing to
 * read. */
static void leave_empty(struct journal *j)
{
    struct segment *s = last_segment(j);
    if (j->failed || !s->frames || s->released != s->frames || begin_segment(j, NULL))
        return;
    s = &j->segments[j->segment_count - 2];
    close(s->fd);
    s->fd = -1;
    drop_released(j);
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->closing = true;
    pthread_cond_signal(&j->work);
    pthread_mutex_unlock(&j->lock);
    thread_join(&j->thread);
    leave_empty(j);
    journal_free(j);
}

uint64_t journal_id(const struct journal *j)
{
    return j->id;
}

uint64_t journal_last(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    uint64_t last = j->next - 1;
    pthread_mutex_unlock(&j->lock);
    return last;
}

int64_t journal_free_bytes(struct journal *j, int64_t *needs)
{
    *needs = j->config.keep_free + j->config.segment_bytes;
    return file_free_bytes(j->folder);
}

void journal_stats(struct journal *j, struct journal_stats *out)
{
    pthread_mutex_lock(&j->lock);
    *out = j->stats;
    out->bytes = j->bytes;
    out->segments = (unsigned)j->segment_count;
    out->failed = j->failed;
    pthread_mutex_unlock(&j->lock);
}

double journal_fill(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    double fill = (double)j->bytes / (double)j->config.most_bytes;
    pthread_mutex_unlock(&j->lock);
    return fill;
}
