/* inflate.c - unpacks three formats with one loop; see inflate.h. */
#include "server/intake/inflate.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/zmem.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW = 15 + 16, ZSTD_WINDOW_LOG = 23, FREE_BYTES = 1 << 20 };

struct inflate {
    enum inflate_format format;
    struct inflate_limits limits;
    int64_t in, out;
    bool whole; /* at the end of a member or frame, or before the first byte */
    bool zlib_open;
    z_stream zlib;
    ZSTD_DCtx *zstd; /* owned */
};

int inflate_open(struct inflate **out, enum inflate_format format, const struct inflate_limits *l)
{
    struct inflate *f = mem_zalloc(sizeof *f);
    *out = f;
    if (!f)
        return GPUFL_E_NOMEM;
    f->format = format;
    f->limits = *l;
    f->whole = true;
    int rc = 0;
    if (format == INFLATE_GZIP) {
        f->zlib.zalloc = zmem_alloc;
        f->zlib.zfree = zmem_free;
        rc = inflateInit2(&f->zlib, GZIP_WINDOW) == Z_OK ? 0 : GPUFL_E_NOMEM;
        f->zlib_open = !rc;
    } else if (format == INFLATE_ZSTD) {
        f->zstd = ZSTD_createDCtx();
        if (!f->zstd ||
            ZSTD_isError(ZSTD_DCtx_setParameter(f->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
            rc = GPUFL_E_NOMEM;
    }
    if (rc) {
        inflate_close(f);
        *out = NULL;
    }
    return rc;
}

void inflate_close(struct inflate *f)
{
    if (!f)
        return;
    if (f->zlib_open)
        inflateEnd(&f->zlib);
    ZSTD_freeDCtx(f->zstd);
    mem_free(f);
}

/* Holds bytes in, room for bytes out, and what of both was used. */
struct piece {
    const char *data;
    size_t n;
    char *out;
    size_t room;
    size_t took, made;
};

static int some_plain(struct piece *p)
{
    p->took = p->made = p->n < p->room ? p->n : p->room;
    memcpy(p->out, p->data, p->made);
    return 0;
}

static int some_gzip(struct inflate *f, struct piece *p)
{
    z_stream *z = &f->zlib;
    if (f->whole && p->n && inflateReset(z) != Z_OK)
        return GPUFL_E_CORRUPT;
    f->whole = f->whole && !p->n;
    if (f->whole)
        return 0;
    const uInt in = p->n < UINT32_MAX ? (uInt)p->n : UINT32_MAX;
    z->next_in = (Bytef *)(uintptr_t)p->data;
    z->avail_in = in;
    z->next_out = (Bytef *)p->out;
    z->avail_out = (uInt)p->room;
    int rc = inflate(z, Z_NO_FLUSH);
    p->took = in - z->avail_in;
    p->made = p->room - z->avail_out;
    f->whole = rc == Z_STREAM_END;
    return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? 0
           : rc == Z_MEM_ERROR                                   ? GPUFL_E_NOMEM
                                                                 : GPUFL_E_CORRUPT;
}

static int some_zstd(struct inflate *f, struct piece *p)
{
    ZSTD_inBuffer in = {p->data, p->n, 0};
    ZSTD_outBuffer to = {p->out, p->room, 0};
    if (f->whole && !p->n)
        return 0;
    size_t rc = ZSTD_decompressStream(f->zstd, &to, &in);
    p->took = in.pos;
    p->made = to.pos;
    f->whole = rc == 0;
    return ZSTD_isError(rc) ? GPUFL_E_CORRUPT : 0;
}

int inflate_some(struct inflate *f, const char **data, size_t *n, char *out, size_t room,
                 size_t *made)
{
    struct piece p = {*data, *n, out, room, 0, 0};
    int rc = f->format == INFLATE_GZIP   ? some_gzip(f, &p)
             : f->format == INFLATE_ZSTD ? some_zstd(f, &p)
                                         : some_plain(&p);
    *made = p.made;
    *data += p.took;
    *n -= p.took;
    f->in += (int64_t)p.took;
    f->out += (int64_t)*made;
    if (rc)
        return rc;
    bool beyond = f->in > f->limits.in_max || f->out > f->limits.out_max ||
                  f->out > FREE_BYTES + f->in * (int64_t)f->limits.ratio_max;
    return beyond ? GPUFL_E_FULL : 0;
}

int inflate_end(const struct inflate *f)
{
    return f->format == INFLATE_PLAIN || f->whole ? 0 : GPUFL_E_CORRUPT;
}

int64_t inflate_in(const struct inflate *f)
{
    return f->in;
}

int64_t inflate_out(const struct inflate *f)
{
    return f->out;
}
