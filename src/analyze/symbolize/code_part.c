/* code_part.c - finds the part of the code channel for new lines, and appends them. */
#include "analyze/symbolize/code_part.h"

#include "base/file/file.h"
#include "base/packed/lines.h"
#include "wire/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0644, HEADER_MAX = 64 << 10 };

int code_part_lock(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- which part ------------------------------------------------------------------------ */

/* Returns true for a part of the code channel in our layout; in the public client's the channel is
 * called sass. */
static bool is_code(const struct discover_part *p)
{
    return p->channel == DISCOVER_CODE && !p->left &&
           !strncmp(path_base(p->path), "code.", strlen("code."));
}

/* Returns the number of uncompressed bytes of the channel up to the end of a part; -1: the part
 * cannot be read. */
static int64_t offset_after(const struct discover_part *p)
{
    struct lines *l;
    struct err e;
    char *line;
    const char *key = "\"offset\":";
    size_t len;
    bool complete;
    int64_t offset = -1, bytes = 0;
    if (lines_open(&l, p->path, WIRE_MAX_LINE, &e))
        return -1;
    while (lines_next(l, &line, &len, &complete)) {
        bytes = (int64_t)(lines_offset(l) + len) + complete;
        const char *at =
            offset < 0 && !strncmp(line, "{\"type\":\"header\"", 16) ? strstr(line, key) : NULL;
        if (at)
            offset = strtoll(at + strlen(key), NULL, 10);
    }
    bool whole = !lines_truncated(l);
    lines_close(l);
    return whole && offset >= 0 ? offset + bytes : -1;
}

struct place {
    char path[PATH_MAX]; /* path of code.log */
    bool exists;
    int64_t part, offset; /* for the header of a new part */
};

static int find_place(const struct discover_session *s, struct place *p)
{
    const struct discover_part *last = NULL;
    *p = (struct place){.part = 1};
    for (size_t i = 0; i < s->count; i++) {
        if (!is_code(&s->parts[i]))
            continue;
        p->exists |= s->parts[i].number == DISCOVER_LIVE;
        if (s->parts[i].number == DISCOVER_LIVE && s->parts[i].packed)
            return -ENOTSUP;
        if (s->parts[i].number != DISCOVER_LIVE && (!last || s->parts[i].number > last->number))
            last = &s->parts[i];
    }
    if (path_join(p->path, sizeof p->path, s->dir, "code.log"))
        return -ENAMETOOLONG;
    if (!last)
        return 0;
    p->part = last->number + 1;
    p->offset = offset_after(last);
    return p->offset < 0 && !p->exists ? -EIO : 0;
}

/* ---- writing --------------------------------------------------------------------------- */

/* Opens the part. *size is the end of its last whole line; *first gets the text that must come
 * before new lines. */
static int open_part(const struct place *p, const struct wire_header *header, struct buf *first,
                     int64_t *size)
{
    struct stat st;
    char end;
    int fd = open(p->path,
                  O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                      (p->exists ? 0 : O_CREAT | O_EXCL),
                  FILE_MODE);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
        close(fd);
        return -ENOTSUP;
    }
    *size = st.st_size;
    if (st.st_size == 0) {
        struct wire_header h = *header;
        h.channel = channel_names[CHANNEL_CODE];
        h.part = p->part;
        h.offset = p->offset;
        encode_header(first, &h);
    } else if (pread(fd, &end, 1, st.st_size - 1) == 1 && end != '\n') {
        buf_char(first, '\n'); /* ends a line that its program could not finish */
    }
    return fd;
}

int code_part_append(const struct discover_session *s, const struct wire_header *header,
                     const struct buf *lines, size_t from, const size_t *ends, size_t count)
{
    struct place p;
    struct buf batch;
    int64_t size = 0;
    int rc = find_place(s, &p);
    if (rc)
        return rc;
    buf_init(&batch, lines->len + HEADER_MAX);
    int fd = open_part(&p, header, &batch, &size);
    rc = fd < 0 ? fd : 0;
    for (size_t i = 0; i < count && !rc; from = ends[i++]) {
        buf_put(&batch, lines->data + from, ends[i] - from);
        rc = buf_error(&batch) ? -ENOMEM : file_write_shielded(fd, batch.data, batch.len);
        if (rc && ftruncate(fd, size) == 0 && size == 0 && !p.exists)
            unlink(p.path);
        size += (int64_t)batch.len;
        buf_clear(&batch);
    }
    if (fd >= 0)
        close(fd);
    buf_fini(&batch);
    return rc;
}
