/* journal_replay.c - reads the segments: at the start, and when the loader asks.
 *
 * A place that is no frame is either the torn tail of the last segment, where nothing follows,
 * or damage, where a whole frame follows or another segment does. Damaged bytes are copied to a
 * file before anything else happens to the segment. Bytes that the disk does not return are
 * neither: they may be readable the next time, so the start fails and nothing is touched. */
#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "server/intake/journal_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 1 << 20, SEARCH = 1 << 20, FRAME_MOST = 2 * JOURNAL_PAYLOAD_MAX };

/* Returns the number of bytes read, fewer at the end of the file; negative errno. */
static ssize_t read_at(int fd, char *data, size_t n, int64_t at)
{
    size_t got = 0;
    while (got < n) {
        ssize_t now = pread(fd, data + got, n - got, at + (int64_t)got);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return -errno;
        if (now == 0)
            break;
        got += (size_t)now;
    }
    return (ssize_t)got;
}

/* This is a segment that is being read. */
struct replay {
    struct journal *journal;
    int fd;
    int64_t size;
    bool last;      /* segment */
    int error;      /* errno of a read that failed; 0: none did */
    int64_t failed; /* where that was */
    struct buf bytes;
};

/* Returns the number of bytes read, fewer at the end of the file; -1: r->error. */
static ssize_t replay_read(struct replay *r, char *data, size_t n, int64_t at)
{
    ssize_t got = read_at(r->fd, data, n, at);
    if (got >= 0)
        return got;
    r->error = (int)-got;
    r->failed = at;
    return -1;
}

/* Returns GPUFL_OK where a whole frame is at a place, GPUFL_E_CORRUPT if none is. GPUFL_E_NOMEM
 * and GPUFL_E_IO mean neither: bytes that could not be read are never taken for damage. */
static int frame_at(struct replay *r, int64_t at, struct journal_frame *f, uint32_t *size)
{
    buf_clear(&r->bytes);
    if (at + FRAME_HEAD > r->size)
        return GPUFL_E_CORRUPT;
    if (buf_reserve(&r->bytes, FRAME_HEAD))
        return GPUFL_E_NOMEM;
    if (replay_read(r, r->bytes.data, FRAME_HEAD, at) != FRAME_HEAD)
        return r->error ? GPUFL_E_IO : GPUFL_E_CORRUPT;
    *size = frame_size(r->bytes.data);
    if (!*size || at + *size > r->size)
        return GPUFL_E_CORRUPT;
    int rc = buf_reserve(&r->bytes, *size);
    if (rc)
        return rc == GPUFL_E_NOMEM ? rc : GPUFL_E_CORRUPT;
    ssize_t n = replay_read(r, r->bytes.data, *size, at);
    if (n < 0)
        return GPUFL_E_IO;
    return n == (ssize_t)*size && frame_check(r->bytes.data, *size, f) ? GPUFL_OK : GPUFL_E_CORRUPT;
}

static int unread(const struct replay *r, uint64_t first, struct err *e)
{
    return err_set_vendor(
        e, GPUFL_E_IO, r->error,
        "segment %llu of the journal cannot be read at byte %lld: nothing was changed; check the "
        "disk and start again, or move the file out of %s to start without its frames",
        (unsigned long long)first, (long long)r->failed, r->journal->folder);
}

/* Searches for a frame. *found: the next place after `at` that has a whole frame; -1: none.
 * Returns 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
static int search_frame(struct replay *r, int64_t at, int64_t *found)
{
    const uint32_t magic = FRAME_MAGIC;
    struct journal_frame f;
    uint32_t size;
    char *chunk = mem_alloc(SEARCH);
    int rc = chunk ? GPUFL_E_CORRUPT : GPUFL_E_NOMEM;
    *found = -1;
    for (at++; rc == GPUFL_E_CORRUPT && at + FRAME_HEAD <= r->size; at += SEARCH - FRAME_HEAD) {
        ssize_t n = replay_read(r, chunk, SEARCH, at);
        const char *p = chunk, *end = chunk + (n > 0 ? n : 0);
        rc = n < 0 ? GPUFL_E_IO : rc;
        while (rc == GPUFL_E_CORRUPT && (p = memmem(p, (size_t)(end - p), &magic, sizeof magic))) {
            rc = frame_at(r, at + (p - chunk), &f, &size);
            *found = rc ? -1 : at + (p - chunk);
            p++;
        }
    }
    mem_free(chunk);
    return rc == GPUFL_E_CORRUPT ? 0 : rc;
}

/* Copies damaged bytes to a file in the segment's folder. */
static int keep_aside(struct replay *r, uint64_t first, int64_t from, int64_t to, struct err *e)
{
    char path[PATH_MAX], chunk[1 << 16];
    int out, error = 0;
    journal_segment_path(r->journal, first, ".damaged", path);
    int rc = file_open_append(path, 0600, &out, e);
    if (rc)
        return rc;
    for (int64_t at = from; at < to && !error;) {
        size_t want = to - at < (int64_t)sizeof chunk ? (size_t)(to - at) : sizeof chunk;
        ssize_t n = replay_read(r, chunk, want, at);
        if (n <= 0)
            break;
        error = file_write_all(out, chunk, (size_t)n);
        at += n;
    }
    if (!error && fsync(out))
        error = -errno;
    close(out);
    if (r->error)
        return unread(r, first, e);
    if (error)
        return err_set_vendor(e, GPUFL_E_IO, -error, "%s: damaged frames cannot be set aside",
                              path);
    r->journal->stats.damaged++;
    r->journal->stats.damaged_bytes += to - from;
    log_warn("journal: %lld damaged bytes of segment %llu were put into %s and skipped",
             (long long)(to - from), (unsigned long long)first, path);
    return 0;
}

/* Skips bytes at `at` that are no frame: *at becomes the place where reading continues. */
static int pass_damage(struct replay *r, struct segment *s, int64_t *at, struct err *e)
{
    int64_t next;
    int rc = search_frame(r, *at, &next);
    if (rc)
        return rc == GPUFL_E_IO ? unread(r, s->first, e) : err_set(e, rc, "%s", err_text(rc));
    if (next < 0 && r->last) {
        r->journal->stats.torn_bytes += r->size - *at;
        r->size = *at;
        if (ftruncate(r->fd, *at))
            return err_set_vendor(e, GPUFL_E_IO, errno, "%s: a torn tail cannot be cut off",
                                  r->journal->folder);
        return 0;
    }
    next = next < 0 ? r->size : next;
    rc = keep_aside(r, s->first, *at, next, e);
    *at = next;
    return rc;
}

static int replay_frames(struct replay *r, struct segment *s, struct err *e)
{
    struct journal *j = r->journal;
    struct journal_frame f;
    uint32_t size;
    int rc = 0;
    for (int64_t at = SEGMENT_HEAD; !rc && at < r->size;) {
        int there = frame_at(r, at, &f, &size);
        if (there == GPUFL_E_IO)
            return unread(r, s->first, e);
        if (there == GPUFL_E_NOMEM)
            return err_set(e, there, "%s", err_text(there));
        if (there) {
            rc = pass_damage(r, s, &at, e);
            continue;
        }
        if (f.kind == JOURNAL_PIECE && !f.body)
            f.body = f.number;
        s->frames++;
        j->stats.unreleased++;
        j->next = f.number >= j->next ? f.number + 1 : j->next;
        j->config.durable(j->config.arg, &f, (struct journal_place){s->first, at, size});
        at += size;
    }
    s->bytes = r->size;
    return rc;
}

/* Renames a file that does not begin like a segment; removes it if it was just being made. */
static int put_aside(struct replay *r, uint64_t first, const char *path, struct err *e)
{
    char aside[PATH_MAX];
    if (r->last && r->size < SEGMENT_HEAD) { /* it was just being made */
        r->journal->stats.torn_bytes += r->size;
        unlink(path);
        return 0;
    }
    journal_segment_path(r->journal, first, ".damaged", aside);
    if (rename(path, aside))
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s: cannot be set aside", path);
    r->journal->stats.damaged++;
    r->journal->stats.damaged_bytes += r->size;
    log_warn("journal: %s is no segment: renamed to %s", path, aside);
    return 0;
}

static int replay_segment(struct journal *j, uint64_t first, bool last, struct err *e)
{
    char path[PATH_MAX], bytes[SEGMENT_HEAD];
    struct segment_head head = {0};
    struct replay r = {.journal = j, .last = last};
    journal_segment_path(j, first, ".journal", path);
    r.fd = open(path, O_RDWR | O_CLOEXEC);
    if (r.fd < 0)
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s", path);
    buf_init(&r.bytes, FRAME_MOST);
    r.size = lseek(r.fd, 0, SEEK_END);
    ssize_t n = replay_read(&r, bytes, sizeof bytes, 0);
    int rc = 0;
    if (r.error) {
        rc = unread(&r, first, e);
    } else if (n != SEGMENT_HEAD || !segment_head_get(bytes, &head) || head.first != first) {
        rc = put_aside(&r, first, path, e);
    } else if (mem_grow(&j->segments, &j->segment_cap, j->segment_count + 1, sizeof *j->segments,
                        SEGMENTS_MAX)) {
        rc = err_nomem(e);
    } else {
        struct segment *s = &j->segments[j->segment_count++];
        *s = (struct segment){.first = first, .fd = -1};
        j->id = head.journal;
        j->next = first > j->next ? first : j->next;
        rc = replay_frames(&r, s, e);
        j->bytes += s->bytes;
    }
    buf_fini(&r.bytes);
    close(r.fd);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Lists the numbers of the segments in the folder, ascending. */
static int list_segments(const struct journal *j, uint64_t **firsts, size_t *count, struct err *e)
{
    size_t cap = 0;
    const struct dirent *entry;
    DIR *dir = opendir(j->folder);
    *firsts = NULL;
    *count = 0;
    if (!dir)
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s", j->folder);
    int rc = 0;
    while (!rc && (entry = readdir(dir))) {
        char *end;
        unsigned long long first = strtoull(entry->d_name, &end, 10);
        if (end == entry->d_name + 20 && strcmp(end, ".new") == 0)
            unlinkat(dirfd(dir), entry->d_name, 0); /* a segment that was just being made */
        if (end != entry->d_name + 20 || strcmp(end, ".journal") != 0)
            continue;
        rc = mem_grow(firsts, &cap, *count + 1, sizeof **firsts, SEGMENTS_MAX);
        if (!rc)
            (*firsts)[(*count)++] = first;
    }
    closedir(dir);
    if (rc)
        return err_set(e, rc, "%s: %s", j->folder, err_text(rc));
    if (*count)
        qsort(*firsts, *count, sizeof **firsts, by_number);
    return 0;
}

int journal_replay(struct journal *j, struct err *e)
{
    uint64_t *firsts;
    size_t count;
    int rc = list_segments(j, &firsts, &count, e);
    for (size_t i = 0; !rc && i < count; i++)
        rc = replay_segment(j, firsts[i], i + 1 == count, e);
    mem_free(firsts);
    if (!rc && !j->id && getrandom(&j->id, sizeof j->id, 0) != sizeof j->id)
        rc = err_set_vendor(e, GPUFL_E_IO, errno, "no random numbers");
    j->id |= 1; /* never 0 */
    /* An empty last segment gives way to the new one, which has the same number. */
    if (!rc && j->segment_count && j->segments[j->segment_count - 1].first == j->next) {
        j->segment_count--;
        j->bytes -= j->segments[j->segment_count].bytes;
    }
    return rc;
}

/* ---- reading back ---------------------------------------------------------------------------- */

struct journal_reader {
    struct journal *journal;
    struct frame_packer *packer;
    struct buf bytes, payload;
    uint64_t segment; /* of fd */
    int fd;           /* owned; -1: none */
};

int journal_reader_open(struct journal_reader **out, struct journal *j)
{
    struct journal_reader *r = mem_zalloc(sizeof *r);
    *out = r;
    if (!r)
        return GPUFL_E_NOMEM;
    r->journal = j;
    r->fd = -1;
    buf_init(&r->bytes, FRAME_MOST);
    buf_init(&r->payload, JOURNAL_PAYLOAD_MAX);
    if (!frame_packer_open(&r->packer))
        return 0;
    journal_reader_close(r);
    *out = NULL;
    return GPUFL_E_NOMEM;
}

void journal_reader_close(struct journal_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    frame_packer_close(r->packer);
    buf_fini(&r->bytes);
    buf_fini(&r->payload);
    mem_free(r);
}

static int reader_segment(struct journal_reader *r, uint64_t segment, struct err *e)
{
    char path[PATH_MAX];
    if (r->fd >= 0 && r->segment == segment)
        return 0;
    if (r->fd >= 0)
        close(r->fd);
    journal_segment_path(r->journal, segment, ".journal", path);
    r->segment = segment;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    return r->fd < 0 ? err_set_vendor(e, GPUFL_E_IO, errno, "%s", path) : 0;
}

int journal_read(struct journal_reader *r, struct journal_place p, struct journal_frame *f,
                 char **payload, struct err *e)
{
    int rc = reader_segment(r, p.segment, e);
    if (rc)
        return rc;
    buf_clear(&r->bytes);
    if (buf_reserve(&r->bytes, p.size))
        return err_nomem(e);
    ssize_t n = read_at(r->fd, r->bytes.data, p.size, p.at);
    if (n < 0)
        return err_set_vendor(e, GPUFL_E_IO, -n, "segment %llu of the journal",
                              (unsigned long long)p.segment);
    bool whole = n == (ssize_t)p.size && frame_size(r->bytes.data) == p.size &&
                 frame_check(r->bytes.data, p.size, f);
    rc = whole ? frame_unpack(r->packer, r->bytes.data, p.size, f, &r->payload) : GPUFL_E_CORRUPT;
    if (rc)
        return err_set(e, rc, "segment %llu of the journal, byte %lld: %s",
                       (unsigned long long)p.segment, (long long)p.at, err_text(rc));
    if (f->kind == JOURNAL_PIECE && !f->body)
        f->body = f->number;
    *payload = r->payload.data;
    return 0;
}
