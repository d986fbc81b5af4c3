/* gzip_doc.c - see gzip_doc.h. */
#include "server/analysis/gzip_doc.h"

#include "base/err.h"
#include "base/zmem.h"

#include <zlib.h>

int gzip_doc_open(const struct meta_bytes *body, struct buf *out)
{
    z_stream z = {.zalloc = zmem_alloc, .zfree = zmem_free};
    int rc = Z_OK;
    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return GPUFL_E_NOMEM;
    z.next_in = (Bytef *)(uintptr_t)body->data;
    z.avail_in = (uInt)body->len;
    while (rc == Z_OK && buf_reserve(out, 1 << 16) == 0) {
        size_t room = out->cap - out->len;
        z.next_out = (Bytef *)out->data + out->len;
        z.avail_out = (uInt)room;
        rc = inflate(&z, Z_NO_FLUSH);
        out->len += room - z.avail_out;
    }
    inflateEnd(&z);
    if (buf_error(out))
        return buf_error(out);
    return rc == Z_STREAM_END ? 0 : GPUFL_E_CORRUPT;
}
