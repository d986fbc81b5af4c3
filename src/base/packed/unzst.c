/* unzst.c - see unzst.h. */
#include "base/packed/unzst.h"

#include "base/alloc.h"
#include "base/packed/libzstd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PACKED = 64 << 10 };

struct unzst {
    void *stream; /* owned: libzstd's */
    struct libzstd_in in;
    int64_t consumed;
    bool inside;  /* of a frame */
    bool held;    /* libzstd may have more without more input: the room was full */
    bool damaged; /* nothing more comes */
    unsigned char packed[PACKED];
};

bool unzst_is(const unsigned char m[UNZST_MAGIC])
{
    bool frame = m[0] == 0x28 && m[1] == 0xb5 && m[2] == 0x2f && m[3] == 0xfd;
    bool skippable = (m[0] & 0xf0) == 0x50 && m[1] == 0x2a && m[2] == 0x4d && m[3] == 0x18;
    return frame || skippable;
}

int unzst_open(struct unzst **out, const char *path, struct err *e)
{
    *out = NULL;
    if (!libzstd())
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "cannot read %s: libzstd.so.1 is not on this machine: install it, or unpack the "
            "file with `zstd -d`",
            path);
    struct unzst *u = mem_zalloc(sizeof *u);
    if (u)
        u->stream = libzstd()->ZSTD_createDStream();
    if (!u || !u->stream) {
        unzst_close(u);
        return err_set(e, GPUFL_E_NOMEM, "cannot read %s: out of memory", path);
    }
    u->in.data = u->packed;
    *out = u;
    return 0;
}

void unzst_close(struct unzst *u)
{
    if (!u)
        return;
    if (u->stream)
        libzstd()->ZSTD_freeDStream(u->stream);
    mem_free(u);
}

/* Reads more packed bytes; false at the end, or if the file cannot be read. */
static bool refill(struct unzst *u, int fd)
{
    ssize_t got;
    do
        got = read(fd, u->packed, PACKED);
    while (got < 0 && errno == EINTR);
    u->damaged |= got < 0 || (got == 0 && u->inside);
    u->in.size = got > 0 ? (size_t)got : 0;
    u->in.at = 0;
    u->consumed += got > 0 ? got : 0;
    return got > 0;
}

ssize_t unzst_read(struct unzst *u, int fd, void *out, size_t room)
{
    struct libzstd_out to = {out, room, 0};
    while (!u->damaged && to.at < room) {
        if (u->in.at == u->in.size && !u->held && !refill(u, fd))
            break;
        size_t rc = libzstd()->ZSTD_decompressStream(u->stream, &to, &u->in);
        u->damaged = libzstd()->ZSTD_isError(rc) != 0;
        u->inside = !u->damaged && rc != 0;
        u->held = u->inside && to.at == room;
    }
    return to.at ? (ssize_t)to.at : u->damaged ? -1 : 0;
}

int64_t unzst_consumed(const struct unzst *u)
{
    return u->consumed;
}
