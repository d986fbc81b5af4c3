/* zst.c - see zst.h. */
#include "agent/zst.h"

#include "base/alloc.h"
#include "base/packed/libzstd.h"

enum { LEVEL = 1 };

struct zst {
    void *context; /* owned: libzstd's */
};

bool zst_there(void)
{
    return libzstd() != NULL;
}

int zst_open(struct zst **out, struct err *e)
{
    *out = NULL;
    if (!zst_there())
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "libzstd.so.1 is not on this machine: install it, or send gzip");
    struct zst *z = mem_zalloc(sizeof *z);
    if (z)
        z->context = libzstd()->ZSTD_createCCtx();
    if (!z || !z->context ||
        libzstd()->ZSTD_isError(
            libzstd()->ZSTD_CCtx_setParameter(z->context, LIBZSTD_LEVEL, LEVEL))) {
        zst_close(z);
        return err_nomem(e);
    }
    *out = z;
    return 0;
}

void zst_close(struct zst *z)
{
    if (z && z->context)
        libzstd()->ZSTD_freeCCtx(z->context);
    mem_free(z);
}

ptrdiff_t zst_pack(struct zst *z, const unsigned char **in, unsigned *left, bool last, char *out,
                   size_t room, bool *done)
{
    struct libzstd_in from = {*in, *left, 0};
    struct libzstd_out to = {out, room, 0};
    size_t rc = libzstd()->ZSTD_compressStream2(z->context, &to, &from,
                                                last ? LIBZSTD_END : LIBZSTD_CONTINUE);
    if (libzstd()->ZSTD_isError(rc))
        return -1;
    *in += from.at;
    *left -= (unsigned)from.at;
    *done = last && rc == 0;
    return (ptrdiff_t)to.at;
}
