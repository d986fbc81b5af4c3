/* libzstd.c - see libzstd.h. */
#include "base/packed/libzstd.h"

#include "base/process/dl.h"

#include <pthread.h>

static struct libzstd calls;        /* constant after load */
static const struct libzstd *there; /* &calls, or NULL; constant after load */

#define SYMBOL(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct libzstd, name), true                                                \
    }

static void load(void)
{
    static const char *const names[] = {"libzstd.so.1", NULL};
    static const struct dl_symbol symbols[] = {
        SYMBOL(ZSTD_createCCtx),       SYMBOL(ZSTD_freeCCtx),      SYMBOL(ZSTD_CCtx_setParameter),
        SYMBOL(ZSTD_compressStream2),  SYMBOL(ZSTD_createDStream), SYMBOL(ZSTD_freeDStream),
        SYMBOL(ZSTD_decompressStream), SYMBOL(ZSTD_isError),
    };
    void *handle = dl_open_first(names, NULL, 0, NULL);
    if (handle && dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, &calls, NULL) == 0)
        there = &calls;
}

const struct libzstd *libzstd(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return there;
}
