/* session_frames.c - keeps frames of one session in a file; see session_frames.h. */
#include "server/intake/session_frames.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "server/intake/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct session_frames {
    char path[PATH_MAX];
    int fd; /* owned */
    int64_t size;
    struct frame_packer *packer;
    struct buf bytes, payload;
};

static int kept_path(char *out, const char *folder, const char *workspace, const char *session,
                     const char *suffix, struct err *e)
{
    int n = snprintf(out, PATH_MAX, "%s/%s/%s%s", folder, workspace, session, suffix);
    return n < PATH_MAX ? 0 : err_set(e, GPUFL_E_FULL, "%s: the path is too long", folder);
}

int session_frames_open(struct session_frames **out, const char *folder, const char *workspace,
                        const char *session, bool create, struct err *e)
{
    char dir[PATH_MAX];
    struct session_frames *k = mem_zalloc(sizeof *k);
    *out = NULL;
    if (!k)
        return err_nomem(e);
    k->fd = -1;
    buf_init(&k->bytes, 2 * (size_t)JOURNAL_PAYLOAD_MAX);
    buf_init(&k->payload, JOURNAL_PAYLOAD_MAX);
    int rc = kept_path(k->path, folder, workspace, session, ".frames", e);
    if (rc == 0)
        rc = kept_path(dir, folder, workspace, "", "", e);
    if (!rc && create)
        rc = file_mkdirs(dir, 0700, e);
    if (!rc) {
        k->fd = open(k->path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
        if (k->fd < 0)
            rc = err_set_vendor(e, errno == ENOENT ? GPUFL_E_NOENT : GPUFL_E_IO, errno, "%s",
                                k->path);
    }
    if (!rc && frame_packer_open(&k->packer))
        rc = err_nomem(e);
    if (rc) {
        session_frames_close(k);
        return rc;
    }
    k->size = lseek(k->fd, 0, SEEK_END);
    *out = k;
    return 0;
}

void session_frames_close(struct session_frames *k)
{
    if (!k)
        return;
    if (k->fd >= 0)
        close(k->fd);
    frame_packer_close(k->packer);
    buf_fini(&k->bytes);
    buf_fini(&k->payload);
    mem_free(k);
}

static int read_fully(int fd, char *data, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t got = pread(fd, data, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? GPUFL_E_IO : GPUFL_E_CORRUPT;
        data += got;
        n -= (size_t)got;
        at += got;
    }
    return 0;
}

/* Reads the bytes at a place into k->bytes: GPUFL_E_CORRUPT if there are fewer, or n is more
 * than a frame may have. */
static int read_bytes(struct session_frames *k, int64_t at, size_t n)
{
    buf_clear(&k->bytes);
    if (at + (int64_t)n > k->size)
        return GPUFL_E_CORRUPT;
    int rc = buf_reserve(&k->bytes, n);
    if (rc)
        return rc == GPUFL_E_NOMEM ? rc : GPUFL_E_CORRUPT;
    return read_fully(k->fd, k->bytes.data, n, at);
}

/* Reads the whole frame at a place into k->bytes. GPUFL_E_CORRUPT: there is none. After
 * GPUFL_E_NOMEM and GPUFL_E_IO it is unknown, and nothing may be cut off. */
static int read_frame(struct session_frames *k, int64_t at, struct journal_frame *f, uint32_t *size)
{
    int rc = read_bytes(k, at, FRAME_HEAD);
    if (rc)
        return rc;
    *size = frame_size(k->bytes.data);
    rc = *size ? read_bytes(k, at, *size) : GPUFL_E_CORRUPT;
    return rc || frame_check(k->bytes.data, *size, f) ? rc : GPUFL_E_CORRUPT;
}

static int fail(const struct session_frames *k, int rc, struct err *e)
{
    return err_set(e, rc, "%s: %s", k->path, err_text(rc));
}

/* Finds the end. *end: where the groups end that the store has; pieces belong to the seal that
 * follows them. */
static int find_end(struct session_frames *k, uint64_t upto, int64_t *end, struct err *e)
{
    struct journal_frame f;
    uint32_t size;
    int rc;
    *end = 0;
    for (int64_t at = 0; !(rc = read_frame(k, at, &f, &size));) {
        at += size;
        if (f.kind == JOURNAL_PIECE)
            continue;
        if (f.number > upto)
            break;
        *end = at;
    }
    return rc && rc != GPUFL_E_CORRUPT ? fail(k, rc, e) : 0;
}

static int visit(struct session_frames *k, int64_t end, bool payloads,
                 const struct session_frames_visitor *v, struct err *e)
{
    struct journal_frame f;
    uint32_t size;
    int rc = 0;
    for (int64_t at = 0; !rc && at < end; at += size) {
        rc = read_frame(k, at, &f, &size);
        if (rc == GPUFL_E_CORRUPT)
            return 0; /* a torn tail */
        if (rc)
            return fail(k, rc, e);
        rc = payloads ? frame_unpack(k->packer, k->bytes.data, size, &f, &k->payload) : 0;
        if (rc)
            return fail(k, rc, e);
        rc = v->frame(v->arg, &f, payloads ? k->payload.data : NULL);
    }
    return rc;
}

int session_frames_read(struct session_frames *k, uint64_t upto,
                        const struct session_frames_visitor *v, struct err *e)
{
    int64_t end;
    int rc = find_end(k, upto, &end, e);
    if (rc)
        return rc;
    if (end < k->size && ftruncate(k->fd, end))
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s", k->path);
    k->size = end;
    return visit(k, end, true, v, e);
}

int session_frames_list(struct session_frames *k, const struct session_frames_visitor *v,
                        struct err *e)
{
    return visit(k, k->size, false, v, e);
}

int session_frames_append(struct session_frames *k, const struct journal_frame *f,
                          const void *payload, struct err *e)
{
    char *bytes;
    size_t size;
    int rc = frame_pack(k->packer, f, payload, &bytes, &size);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    frame_number(bytes, size, f->number);
    if (lseek(k->fd, k->size, SEEK_SET) < 0 || (rc = file_write_all(k->fd, bytes, size)))
        return err_set_vendor(e, GPUFL_E_IO, rc ? -rc : errno, "%s", k->path);
    k->size += (int64_t)size;
    return 0;
}

int session_frames_sync(struct session_frames *k, struct err *e)
{
    return fdatasync(k->fd) ? err_set_vendor(e, GPUFL_E_IO, errno, "%s", k->path) : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int keep_seal(void *arg, const struct journal_frame *f, char *payload)
{
    (void)payload;
    return f->kind == JOURNAL_SEAL || f->kind == JOURNAL_END
               ? session_frames_append(arg, f, "", NULL)
               : 0;
}

/* Writes the file of what stays, in `small`; its packer and descriptor are the caller's to
 * close. */
static int write_small(struct session_frames *k, struct session_frames *small, struct err *e)
{
    const struct session_frames_visitor v = {small, keep_seal};
    small->fd = open(small->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (small->fd < 0)
        return err_set_vendor(e, GPUFL_E_IO, errno, "%s", small->path);
    if (frame_packer_open(&small->packer))
        return err_nomem(e);
    int rc = session_frames_list(k, &v, e);
    if (rc == 0)
        rc = session_frames_sync(small, e);
    if (!rc && rename(small->path, k->path))
        rc = err_set_vendor(e, GPUFL_E_IO, errno, "%s", k->path);
    return rc;
}

int session_frames_shrink(struct session_frames *k, struct err *e)
{
    struct session_frames small = {.fd = -1};
    if (snprintf(small.path, sizeof small.path, "%s.new", k->path) >= (int)sizeof small.path)
        return err_set(e, GPUFL_E_FULL, "%s: the path is too long", k->path);
    int rc = write_small(k, &small, e);
    frame_packer_close(small.packer);
    if (rc) {
        if (small.fd >= 0)
            close(small.fd);
        unlink(small.path);
        return rc;
    }
    close(k->fd);
    k->fd = small.fd;
    k->size = small.size;
    return 0;
}

int session_frames_remove(const char *folder, const char *workspace, const char *session,
                          struct err *e)
{
    char path[PATH_MAX];
    int rc = kept_path(path, folder, workspace, session, ".frames", e);
    if (!rc && unlink(path) && errno != ENOENT)
        rc = err_set_vendor(e, GPUFL_E_IO, errno, "%s", path);
    return rc;
}
