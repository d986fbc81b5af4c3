/* part_stream.c - see part_stream.h. zlib's gz functions read plain and compressed files alike,
 * also several members in one file. */
#include "agent/part_stream.h"

#include "agent/zst.h"
#include "base/alloc.h"
#include "base/packed/unzst.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* This is a level at which one core compresses as fast as a fast network sends. */
enum { LEVEL = 3, CHUNK = 128 << 10, GZIP_BITS = 15 + 16 };

struct part_stream {
    const char *path; /* the caller's, for messages */
    int fd;           /* of a part that goes unchanged; -1: none */
    int64_t size;     /* of the file when it was opened */
    int64_t at;       /* bytes of it that were sent unchanged */

    gzFile in;           /* owned; of any other part, unless zst is set */
    struct unzst *zst;   /* owned; of a part that is zstd, which fd reads; NULL: the part is not */
    bool packed;         /* the file is compressed */
    enum part_pack pack; /* the body's compression */
    int level;
    const struct part_gap *blank; /* the caller's; not passed yet */
    size_t blank_count;
    int64_t first;    /* of the channel: where the range begins */
    struct zst *zstd; /* owned; of a body that is to be zstd */
    int64_t left;     /* bytes that are wanted of an uncompressed file; else INT64_MAX */
    int64_t most;     /* uncompressed bytes after which a line ends the range; 0: no limit */
    int64_t plain;    /* read since skip */
    bool last;        /* nothing follows the bytes in chunk */
    bool more;        /* the range ended because of `most` */
    bool done;        /* the body is complete */
    z_stream z;
    bool deflating; /* z is initialized */
    struct err error;
    unsigned char chunk[CHUNK];
};

void part_stream_close(struct part_stream *s)
{
    if (!s)
        return;
    if (s->deflating)
        deflateEnd(&s->z);
    if (s->in)
        gzclose_r(s->in);
    unzst_close(s->zst);
    zst_close(s->zstd);
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s);
}

static int io_error(struct part_stream *s, int error)
{
    return err_set_vendor(&s->error, err_from_errno(error), error, "cannot read %s", s->path);
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Returns the number of bytes of a plain file up to and including its last LF; -1: it cannot be
 * read. */
static int64_t whole_lines(int fd, int64_t size, unsigned char *chunk)
{
    while (size > 0) {
        int64_t n = size < CHUNK ? size : CHUNK;
        if (pread(fd, chunk, (size_t)n, size - n) != n)
            return -1;
        const unsigned char *lf = memrchr(chunk, '\n', (size_t)n);
        if (lf)
            return size - n + (lf - chunk) + 1;
        size -= n;
    }
    return 0;
}

/* Returns true if a range is sent, and not the unchanged file. */
static bool is_range(const struct part_stream *s)
{
    return s->in || s->zst;
}

/* Reads uncompressed bytes of the file into the chunk, fewer than `want` at its end only; negative:
 * damage. *error is gzerror's: Z_BUF_ERROR if the file is cut off; the bytes before that are
 * returned. */
static int take(struct part_stream *s, int want, int *error)
{
    *error = Z_OK;
    if (s->zst) {
        ssize_t n = want ? unzst_read(s->zst, s->fd, s->chunk, (size_t)want) : 0;
        return (int)n;
    }
    int n = want ? gzread(s->in, s->chunk, (unsigned)want) : 0;
    if (n < want)
        (void)gzerror(s->in, error);
    return n;
}

/* Blanks the lines in the chunk's n bytes that must not be sent. */
static void blank_lines(struct part_stream *s, int n)
{
    int64_t at = s->first + s->plain, end = at + n;
    for (; s->blank_count && s->blank->from < end; s->blank++, s->blank_count--) {
        int64_t from = s->blank->from > at ? s->blank->from : at;
        int64_t to = s->blank->to < end ? s->blank->to : end;
        for (int64_t i = from; i < to; i++)
            s->chunk[i - at] = (unsigned char)part_blank(s->blank, i);
        if (s->blank->to > end)
            return;
    }
}

/* Fills the chunk with plain bytes. */
static int fill(struct part_stream *s)
{
    int want = s->left < CHUNK ? (int)s->left : CHUNK, error;
    int n = take(s, want, &error);
    bool cut = error == Z_BUF_ERROR || (s->zst && n > 0); /* the next call reports the end */
    if (n < 0 || (cut && n == 0)) {
        if (error == Z_ERRNO)
            return io_error(s, errno);
        return err_set(&s->error, GPUFL_E_CORRUPT, "%s is damaged: its compression breaks off",
                       s->path);
    }
    blank_lines(s, n);
    const unsigned char *lf = NULL;
    s->last = !cut && (n < want || n == 0);
    if (s->most && s->plain + n >= s->most) {
        int64_t from = s->most - s->plain - 1;
        from = from > 0 ? from : 0;
        lf = memchr(s->chunk + from, '\n', (size_t)(n - from));
    }
    if (lf) {
        n = (int)(lf - s->chunk) + 1;
        s->last = true;
        s->more = true;
    }
    s->left -= s->packed ? 0 : n;
    s->last |= s->left == 0;
    s->plain += n;
    s->z.next_in = s->chunk;
    s->z.avail_in = (unsigned)n;
    return 0;
}

/* Skips the uncompressed bytes before the range. */
static int pass_over(struct part_stream *s, int64_t skip)
{
    if (!s->packed)
        return gzseek(s->in, skip, SEEK_SET) < 0 ? io_error(s, errno) : 0;
    while (skip > 0) {
        int error, n = take(s, skip < CHUNK ? (int)skip : CHUNK, &error);
        if (n <= 0)
            break;
        skip -= n;
    }
    return 0;
}

static int open_range(struct part_stream *s, int fd, int64_t skip)
{
    int64_t lines = s->packed ? INT64_MAX : whole_lines(fd, s->size, s->chunk);
    if (lines < 0)
        return io_error(s, errno ? errno : EIO);
    if (!s->zst) {
        s->in = gzdopen(fd, "rb");
        if (!s->in)
            return err_nomem(&s->error);
        s->fd = -1; /* gzclose closes the descriptor */
        gzbuffer(s->in, CHUNK);
    }
    s->left = s->packed ? lines : lines > skip ? lines - skip : 0;
    int rc = pass_over(s, skip);
    if (!rc && s->pack == PART_ZSTD)
        rc = zst_open(&s->zstd, &s->error);
    if (!rc && s->pack == PART_GZIP &&
        deflateInit2(&s->z, s->level, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        rc = err_nomem(&s->error);
    s->deflating = !rc && s->pack == PART_GZIP;
    return rc ? rc : fill(s);
}

int part_stream_open(struct part_stream **out, const char *path, struct file_id id,
                     const struct part_range *range, struct err *e)
{
    struct part_stream *s = mem_zalloc(sizeof *s);
    struct stat st = {0};
    unsigned char magic[UNZST_MAGIC] = {0};
    *out = NULL;
    if (!s)
        return err_nomem(e);
    s->path = path;
    s->most = range->most;
    s->pack = range->pack;
    s->level = range->level ? range->level : LEVEL;
    s->first = range->base + range->skip;
    s->blank = range->blank;
    s->blank_count = range->blank_count;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = s->fd < 0 || fstat(s->fd, &st) ? io_error(s, errno) : 0;
    if (!rc && !S_ISREG(st.st_mode))
        rc = err_set(&s->error, GPUFL_E_INVAL, "%s is no regular file", path);
    if (!rc && !file_is(s->fd, id))
        rc = err_set(&s->error, GPUFL_E_NOENT, "%s has got another name", path);
    if (!rc) {
        s->size = st.st_size;
        ssize_t n = pread(s->fd, magic, sizeof magic, 0);
        if (n == (ssize_t)sizeof magic && unzst_is(magic))
            rc = unzst_open(&s->zst, path, &s->error);
        s->packed = s->zst || (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b);
        if (!rc && n >= 0 && !s->packed && file_is_named_packed(path))
            rc = err_set(&s->error, GPUFL_E_CORRUPT, "%s is damaged: it is no compressed file",
                         path);
        if (!rc && (!s->packed || s->zst || range->skip || range->most || range->blank_count))
            rc = open_range(s, s->fd, range->skip);
    }
    if (rc) {
        if (e)
            *e = s->error;
        part_stream_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static int64_t read_whole(struct part_stream *s, char *out, size_t size)
{
    int64_t left = s->size - s->at;
    ssize_t n = read(s->fd, out, (int64_t)size < left ? size : (size_t)left);
    if (n < 0)
        return io_error(s, errno);
    if (n == 0 && left)
        return err_set(&s->error, GPUFL_E_CORRUPT, "%s got shorter while it was read", s->path);
    s->at += n;
    return n;
}

/* Reads the plain bytes of a range. */
static int64_t read_plain(struct part_stream *s, char *out, size_t size)
{
    int rc = !s->z.avail_in && !s->last ? fill(s) : 0;
    if (rc)
        return rc;
    size_t n = size < s->z.avail_in ? size : s->z.avail_in;
    memcpy(out, s->z.next_in, n);
    s->z.next_in += n;
    s->z.avail_in -= (unsigned)n;
    return (int64_t)n;
}

static int64_t read_zstd(struct part_stream *s, char *out, size_t size)
{
    ptrdiff_t n = 0;
    while (!s->done && n == 0) {
        int rc = !s->z.avail_in && !s->last ? fill(s) : 0;
        if (rc)
            return rc;
        const unsigned char *next = s->z.next_in;
        n = zst_pack(s->zstd, &next, &s->z.avail_in, s->last, out, size, &s->done);
        if (n < 0)
            return err_set(&s->error, GPUFL_E_IO, "%s could not be packed with zstd", s->path);
        s->z.next_in += next - s->z.next_in;
    }
    return n;
}

int64_t part_stream_read(void *arg, char *out, size_t size)
{
    struct part_stream *s = arg;
    if (!is_range(s))
        return read_whole(s, out, size);
    if (s->pack == PART_PLAIN)
        return read_plain(s, out, size);
    if (s->pack == PART_ZSTD)
        return read_zstd(s, out, size);
    s->z.next_out = (unsigned char *)out;
    s->z.avail_out = (unsigned)(size < CHUNK ? size : CHUNK);
    unsigned room = s->z.avail_out;
    while (!s->done && s->z.avail_out == room) {
        int rc = !s->z.avail_in && !s->last ? fill(s) : 0;
        if (rc)
            return rc;
        s->done = deflate(&s->z, s->last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    }
    return room - s->z.avail_out;
}

/* ---- asking -------------------------------------------------------------------------------- */

bool part_stream_empty(const struct part_stream *s)
{
    return is_range(s) ? s->plain == 0 : s->size == 0;
}

bool part_stream_whole(const struct part_stream *s)
{
    return !is_range(s);
}

enum part_pack part_stream_pack(const struct part_stream *s)
{
    return is_range(s) ? s->pack : s->packed ? PART_GZIP : PART_PLAIN;
}

const char *part_stream_encoding(const struct part_stream *s)
{
    static const char *const names[] = {NULL, "gzip", "zstd"};
    return names[part_stream_pack(s)];
}

int64_t part_stream_size(const struct part_stream *s)
{
    return is_range(s) ? -1 : s->size;
}

const struct err *part_stream_error(const struct part_stream *s)
{
    return &s->error;
}

int64_t part_stream_consumed(const struct part_stream *s)
{
    int64_t at = s->zst ? unzst_consumed(s->zst) : s->in ? gzoffset(s->in) : s->at;
    return at < 0 ? 0 : at < s->size ? at : s->size;
}

int64_t part_stream_plain(const struct part_stream *s)
{
    return is_range(s) ? s->plain : -1;
}

bool part_stream_more(const struct part_stream *s)
{
    return s->more;
}
