/* zst.c - see zst.h. */
#include "agent/zst.h"

#include "base/alloc.h"
#include "base/dl.h"

#include <pthread.h>

enum { LEVEL = 1, COMPRESSION_LEVEL = 100 /* ZSTD_c_compressionLevel */ };
enum { CONTINUE, FLUSH, END }; /* ZSTD_EndDirective */

/* libzstd's interface in our own words; it is stable since 1.4. */
struct zstd_in {
    const void *data;
    size_t size, at;
};

struct zstd_out {
    void *data;
    size_t size, at;
};

static struct {
    void *(*ZSTD_createCCtx)(void);
    size_t (*ZSTD_freeCCtx)(void *context);
    size_t (*ZSTD_CCtx_setParameter)(void *context, int parameter, int value);
    size_t (*ZSTD_compressStream2)(void *context, struct zstd_out *out, struct zstd_in *in,
                                   int directive);
    unsigned (*ZSTD_isError)(size_t code);
} zstd; /* constant after load */

static bool has_zstd;

struct zst {
    void *context; /* owned: libzstd's */
};

static void load(void)
{
    static const char *const names[] = {"libzstd.so.1", NULL};
    static const struct dl_symbol symbols[] = {
        {"ZSTD_createCCtx", 0, true},
        {"ZSTD_freeCCtx", sizeof(void *), true},
        {"ZSTD_CCtx_setParameter", 2 * sizeof(void *), true},
        {"ZSTD_compressStream2", 3 * sizeof(void *), true},
        {"ZSTD_isError", 4 * sizeof(void *), true},
    };
    void *handle = dl_open_first(names, NULL, 0, NULL);
    has_zstd = handle && dl_fill(handle, symbols, 5, &zstd, NULL) == 0;
}

bool zst_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return has_zstd;
}

int zst_open(struct zst **out, struct err *e)
{
    *out = NULL;
    if (!zst_there())
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "libzstd.so.1 is not on this machine: install it, or send gzip");
    struct zst *z = mem_zalloc(sizeof *z);
    if (z)
        z->context = zstd.ZSTD_createCCtx();
    if (!z || !z->context ||
        zstd.ZSTD_isError(zstd.ZSTD_CCtx_setParameter(z->context, COMPRESSION_LEVEL, LEVEL))) {
        zst_close(z);
        return err_nomem(e);
    }
    *out = z;
    return 0;
}

void zst_close(struct zst *z)
{
    if (z && z->context)
        zstd.ZSTD_freeCCtx(z->context);
    mem_free(z);
}

ptrdiff_t zst_pack(struct zst *z, const unsigned char **in, unsigned *left, bool last, char *out,
                   size_t room, bool *done)
{
    struct zstd_in from = {*in, *left, 0};
    struct zstd_out to = {out, room, 0};
    size_t rc = zstd.ZSTD_compressStream2(z->context, &to, &from, last ? END : CONTINUE);
    if (zstd.ZSTD_isError(rc))
        return -1;
    *in += from.at;
    *left -= (unsigned)from.at;
    *done = last && rc == 0;
    return (ptrdiff_t)to.at;
}
