/* ungz.c - see ungz.h.
 *
 * If ISA-L finds damage, it withholds up to 64 KiB that it has inflated before the damage; zlib
 * withholds nothing. So zlib reads a damaged file again from its beginning, and delivers bytes from
 * where ISA-L stopped.
 *
 * Invariants: `in` points into packed[]. A library may hold plain bytes for which there was no
 * room, so it is called without new input as long as it fills the room that it is given
 * (`held`). */
#include "base/packed/ungz.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/zmem.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>
#include <zlib.h>
#ifdef GPUFL_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
    PACKED = 64 << 10,   /* bytes read at once */
    ROOM_MAX = 64 << 20, /* for the 32 bits that the libraries count in */
};

enum step { STEP_ON, STEP_MEMBER_ENDED, STEP_DAMAGE };

struct ungz {
    enum step (*step)(struct ungz *u); /* takes from in, puts to out */
    const unsigned char *in;
    unsigned in_len, room;
    unsigned char *out;
    bool inside;          /* of a member */
    bool held;            /* see above */
    bool damaged;         /* nothing more comes */
    uint64_t given, skip; /* plain bytes: delivered; still to be read again */
    z_stream z;           /* where step is by_zlib */
#ifdef GPUFL_ISAL
    struct inflate_state isal; /* elsewhere */
#endif
    unsigned char packed[PACKED];
};

bool ungz_is(const unsigned char magic[UNGZ_MAGIC])
{
    return magic[0] == 0x1f && magic[1] == 0x8b;
}

static enum step by_zlib(struct ungz *u)
{
    z_stream *z = &u->z;
    z->next_in = (unsigned char *)(uintptr_t)u->in;
    z->avail_in = u->in_len;
    z->next_out = u->out;
    z->avail_out = u->room;
    int rc = inflate(z, Z_NO_FLUSH);
    u->in = z->next_in;
    u->in_len = z->avail_in;
    u->out = z->next_out;
    u->room = z->avail_out;
    if (rc == Z_STREAM_END)
        return inflateReset(z) == Z_OK ? STEP_MEMBER_ENDED : STEP_DAMAGE;
    return rc == Z_OK || rc == Z_BUF_ERROR ? STEP_ON : STEP_DAMAGE;
}

#ifdef GPUFL_ISAL
static void isal_begin(struct ungz *u)
{
    isal_inflate_init(&u->isal);
    u->isal.crc_flag = ISAL_GZIP;
}

static enum step by_isal(struct ungz *u)
{
    struct inflate_state *s = &u->isal;
    s->next_in = (unsigned char *)(uintptr_t)u->in;
    s->avail_in = u->in_len;
    s->next_out = u->out;
    s->avail_out = u->room;
    int rc = isal_inflate(s);
    u->in = s->next_in;
    u->in_len = s->avail_in;
    u->out = s->next_out;
    u->room = s->avail_out;
    if (rc < 0)
        return STEP_DAMAGE;
    if (s->block_state != ISAL_BLOCK_FINISH)
        return STEP_ON;
    isal_begin(u);
    return STEP_MEMBER_ENDED;
}
#endif

/* Returns false if there is no memory; u->step then stays. */
static bool zlib_begin(struct ungz *u)
{
    u->z.zalloc = zmem_alloc;
    u->z.zfree = zmem_free;
    if (inflateInit2(&u->z, 15 + 16 /* gzip only */) != Z_OK)
        return false;
    u->step = by_zlib;
    return true;
}

int ungz_open(struct ungz **out, enum ungz_by by)
{
    struct ungz *u = *out = mem_zalloc(sizeof *u);
    if (!u)
        return GPUFL_E_NOMEM;
#ifdef GPUFL_ISAL
    if (by == UNGZ_BEST) {
        u->step = by_isal;
        isal_begin(u);
        return 0;
    }
#endif
    (void)by;
    if (zlib_begin(u))
        return 0;
    mem_free(u);
    *out = NULL;
    return GPUFL_E_NOMEM;
}

void ungz_close(struct ungz *u)
{
    if (u && u->step == by_zlib)
        inflateEnd(&u->z);
    mem_free(u);
}

/* Reads more packed bytes; false at the end, or if the file cannot be read. */
static bool refill(struct ungz *u, int fd)
{
    ssize_t got;
    do
        got = read(fd, u->packed, PACKED);
    while (got < 0 && errno == EINTR);
    u->damaged |= got < 0 || (got == 0 && u->inside);
    u->in = u->packed;
    u->in_len = got > 0 ? (unsigned)got : 0;
    return got > 0;
}

/* Writes at most room plain bytes to out. Returns their number; 0: the end, or damage. */
static unsigned inflate_some(struct ungz *u, int fd, void *out, unsigned room)
{
    u->out = out;
    u->room = room;
    while (!u->damaged && u->room == room) {
        if (u->in_len == 0 && !u->held && !refill(u, fd))
            break;
        enum step step = u->step(u);
        u->inside = step == STEP_ON;
        u->damaged = step == STEP_DAMAGE;
        u->held = u->inside && u->room == 0;
    }
    return room - u->room;
}

/* Lets zlib begin the file again, after ISA-L found damage. False if that is not possible. */
static bool begin_again(struct ungz *u, int fd)
{
    if (u->step == by_zlib || lseek(fd, 0, SEEK_SET) || !zlib_begin(u))
        return false;
    u->in_len = 0;
    u->inside = u->held = u->damaged = false;
    u->skip = u->given;
    return true;
}

ssize_t ungz_read(struct ungz *u, int fd, void *out, size_t room)
{
    unsigned asked = room < ROOM_MAX ? (unsigned)room : ROOM_MAX;
    for (;;) {
        unsigned want = u->skip && u->skip < asked ? (unsigned)u->skip : asked;
        unsigned got = inflate_some(u, fd, out, want);
        if (got && u->skip) {
            u->skip -= got;
        } else if (got) {
            u->given += got;
            return (ssize_t)got;
        } else if (!u->damaged || !begin_again(u, fd)) {
            return u->damaged ? -1 : 0;
        }
    }
}

bool ungz_is_fast(void)
{
#ifdef GPUFL_ISAL
    return true;
#else
    return false;
#endif
}

const char *ungz_library(void)
{
    return ungz_is_fast() ? "ISA-L" : "zlib";
}
