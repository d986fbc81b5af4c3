/* lines.c - reads lines out of one large window that is refilled from the file.
 *
 * The window holds plain bytes. A line is returned as a pointer into the window, its LF
 * replaced by a NUL. Only the unfinished line at the end is moved when the window is
 * refilled. The window grows by doubling up to max_line, so that memory stays
 * bounded by the longest line allowed, and a longer one is skipped without
 * being kept.
 *
 * The first bytes of a file show whether it is gzip or zstd. Its name does not, because a log may
 * be compressed while somebody opens it. Several members may follow each other, as gzip allows;
 * zeros or other bytes after the last one are damage. */
#include "base/packed/lines.h"

#include "base/alloc.h"
#include "base/packed/ungz.h"
#include "base/packed/unzst.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1 << 18 }; /* first size, plain bytes: fits the second-level cache */

struct lines {
    int fd;
    bool eof;        /* no more plain bytes will come */
    bool truncated;  /* packed data broke off or are damaged, or read(2) failed */
    bool skipping;   /* inside a line that is too long */
    size_t max_line; /* bytes without the LF */
    uint64_t too_long;

    char *window;     /* owned; cap + 1 bytes, the last one for a NUL */
    size_t cap;       /* bytes */
    size_t from, to;  /* unread bytes: [from, to) */
    size_t seen;      /* [from, seen) holds no LF */
    uint64_t base;    /* plain offset of window[0] */
    uint64_t line_at; /* plain offset of the line last returned */

    struct ungz *gz;   /* owned; NULL except for gzip */
    struct unzst *zst; /* owned; NULL except for zstd */
};

static ssize_t read_some(int fd, void *data, size_t n)
{
    ssize_t got;
    do
        got = read(fd, data, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* The first bytes decide; reading starts at offset 0 in every case. */
static int lines_detect(struct lines *l, const char *path, struct err *e)
{
    unsigned char magic[UNZST_MAGIC];
    ssize_t got = pread(l->fd, magic, sizeof magic, 0);
    if (got < 0 && errno != ESPIPE) /* a pipe is read as plain text */
        return err_from_errno(errno);
    if (got == UNZST_MAGIC && unzst_is(magic))
        return unzst_open(&l->zst, path, e);
    return got >= UNGZ_MAGIC && ungz_is(magic) ? ungz_open(&l->gz, UNGZ_BEST) : 0;
}

static int lines_setup(struct lines *l, const char *path, struct err *e)
{
    l->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (l->fd < 0)
        return err_from_errno(errno);
    l->cap = WINDOW;
    l->window = mem_alloc(l->cap + 1);
    return l->window ? lines_detect(l, path, e) : GPUFL_E_NOMEM;
}

int lines_open(struct lines **out, const char *path, size_t max_line, struct err *e)
{
    *out = NULL;
    struct lines *l = mem_zalloc(sizeof *l);
    if (!l)
        return err_set(e, GPUFL_E_NOMEM, "cannot read %s: out of memory", path);
    l->max_line = max_line;
    int rc = lines_setup(l, path, e);
    if (rc) {
        int errnum = errno;
        lines_close(l);
        if (rc == GPUFL_E_UNAVAILABLE)
            return rc; /* *e has the sentence already */
        return rc == GPUFL_E_NOMEM ? err_set(e, rc, "cannot read %s: out of memory", path)
                                   : err_set_vendor(e, rc, errnum, "cannot read %s", path);
    }
    *out = l;
    return 0;
}

void lines_close(struct lines *l)
{
    if (!l)
        return;
    ungz_close(l->gz);
    unzst_close(l->zst);
    if (l->fd >= 0)
        close(l->fd);
    mem_free(l->window);
    mem_free(l);
}

/* Returns the number of plain bytes appended to the window; 0: none will follow. */
static size_t fill_plain(struct lines *l)
{
    ssize_t got = read_some(l->fd, l->window + l->to, l->cap - l->to);
    if (got < 0)
        l->truncated = true; /* a directory, or the disk failed: reported, but not fatal */
    return got > 0 ? (size_t)got : 0;
}

static size_t fill_packed(struct lines *l)
{
    char *to = l->window + l->to;
    size_t room = l->cap - l->to;
    ssize_t got = l->gz ? ungz_read(l->gz, l->fd, to, room) : unzst_read(l->zst, l->fd, to, room);
    l->truncated |= got < 0;
    return got > 0 ? (size_t)got : 0;
}

/* Makes room for at least one byte after `to`, by moving the rest to the front or growing. */
static bool window_make_room(struct lines *l)
{
    if (l->from > 0) {
        memmove(l->window, l->window + l->from, l->to - l->from);
        l->base += l->from;
        l->seen -= l->from;
        l->to -= l->from;
        l->from = 0;
    }
    if (l->to < l->cap)
        return true;
    size_t cap = l->cap > SIZE_MAX / 4 ? l->cap : l->cap * 2;
    char *grown = mem_realloc(l->window, cap + 1);
    if (!grown)
        return false;
    l->window = grown;
    l->cap = cap;
    return true;
}

/* Drops the bytes in the window of a line that is longer than allowed. */
static void line_give_up(struct lines *l)
{
    if (!l->skipping)
        l->too_long++;
    l->skipping = true;
    l->from = l->seen = l->to;
}

/* Reads more bytes after the unfinished line; false at the end. */
static bool lines_fill(struct lines *l)
{
    if (l->eof)
        return false;
    if (l->to - l->from > l->max_line)
        line_give_up(l);
    if (!window_make_room(l)) {
        line_give_up(l); /* out of memory: this line is lost, the file is read on */
        window_make_room(l);
    }
    size_t got = lines_packed(l) ? fill_packed(l) : fill_plain(l);
    l->to += got;
    l->eof = got == 0;
    return got > 0;
}

/* Takes [from, end) as a line and sets from to next. False: the line has to be skipped. */
static bool line_take(struct lines *l, size_t end, size_t next, char **line, size_t *len)
{
    bool skip = l->skipping;
    if (!skip && end - l->from > l->max_line) {
        l->too_long++;
        skip = true;
    }
    *line = l->window + l->from;
    *len = end - l->from;
    l->line_at = l->base + l->from;
    l->window[end] = '\0';
    l->from = l->seen = next;
    l->skipping = false;
    return !skip;
}

bool lines_next(struct lines *l, char **line, size_t *len, bool *complete)
{
    for (;;) {
        char *lf = memchr(l->window + l->seen, '\n', l->to - l->seen);
        if (lf) {
            size_t at = (size_t)(lf - l->window);
            if (!line_take(l, at, at + 1, line, len))
                continue;
            *complete = true;
            return true;
        }
        l->seen = l->to;
        if (lines_fill(l))
            continue;
        if (l->from == l->to || !line_take(l, l->to, l->to, line, len))
            return false;
        *complete = false;
        return true;
    }
}

uint64_t lines_offset(const struct lines *l)
{
    return l->line_at;
}

uint64_t lines_too_long(const struct lines *l)
{
    return l->too_long;
}

bool lines_truncated(const struct lines *l)
{
    return l->truncated;
}

bool lines_packed(const struct lines *l)
{
    return l->gz || l->zst;
}
