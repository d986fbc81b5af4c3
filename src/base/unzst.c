/* unzst.c - see unzst.h. */
#include "base/unzst.h"

#include "base/alloc.h"
#include "base/dl.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { PACKED = 64 << 10 };

/* libzstd's interface in our own words; it is stable since 1.0. */
struct zstd_in {
    const void *data;
    size_t size, at;
};

struct zstd_out {
    void *data;
    size_t size, at;
};

static struct {
    void *(*ZSTD_createDStream)(void);
    size_t (*ZSTD_freeDStream)(void *stream);
    size_t (*ZSTD_decompressStream)(void *stream, struct zstd_out *out, struct zstd_in *in);
    unsigned (*ZSTD_isError)(size_t code);
} zstd; /* constant after load */

static bool has_zstd;

struct unzst {
    void *stream; /* owned: libzstd's */
    struct zstd_in in;
    int64_t consumed;
    bool inside;  /* of a frame */
    bool held;    /* libzstd may have more without more input: the room was full */
    bool damaged; /* nothing more comes */
    unsigned char packed[PACKED];
};

static void load(void)
{
    static const char *const names[] = {"libzstd.so.1", NULL};
    static const struct dl_symbol symbols[] = {
        {"ZSTD_createDStream", 0, true},
        {"ZSTD_freeDStream", sizeof(void *), true},
        {"ZSTD_decompressStream", 2 * sizeof(void *), true},
        {"ZSTD_isError", 3 * sizeof(void *), true},
    };
    void *handle = dl_open_first(names, NULL, 0, NULL);
    has_zstd = handle && dl_fill(handle, symbols, 4, &zstd, NULL) == 0;
}

bool unzst_is(const unsigned char m[UNZST_MAGIC])
{
    bool frame = m[0] == 0x28 && m[1] == 0xb5 && m[2] == 0x2f && m[3] == 0xfd;
    bool skippable = (m[0] & 0xf0) == 0x50 && m[1] == 0x2a && m[2] == 0x4d && m[3] == 0x18;
    return frame || skippable;
}

int unzst_open(struct unzst **out, const char *path, struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    pthread_once(&once, load);
    if (!has_zstd)
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "cannot read %s: libzstd.so.1 is not on this machine: install it, or unpack the "
            "file with `zstd -d`",
            path);
    struct unzst *u = mem_zalloc(sizeof *u);
    if (u)
        u->stream = zstd.ZSTD_createDStream();
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
        zstd.ZSTD_freeDStream(u->stream);
    mem_free(u);
}

/* More packed bytes; false at the end, or where the file cannot be read. */
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
    struct zstd_out to = {out, room, 0};
    while (!u->damaged && to.at < room) {
        if (u->in.at == u->in.size && !u->held && !refill(u, fd))
            break;
        size_t rc = zstd.ZSTD_decompressStream(u->stream, &to, &u->in);
        u->damaged = zstd.ZSTD_isError(rc) != 0;
        u->inside = !u->damaged && rc != 0;
        u->held = u->inside && to.at == room;
    }
    return to.at ? (ssize_t)to.at : u->damaged ? -1 : 0;
}

int64_t unzst_consumed(const struct unzst *u)
{
    return u->consumed;
}
