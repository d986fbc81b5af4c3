/* libzstd.h - has our own declarations of libzstd's interface, which is stable since 1.4.
 *
 * The library is opened at run time, when something is packed or unpacked. [any] */
#ifndef GPUFL_BASE_PACKED_LIBZSTD_H
#define GPUFL_BASE_PACKED_LIBZSTD_H

#include <stddef.h>

enum { LIBZSTD_LEVEL = 100 /* ZSTD_c_compressionLevel */ };
enum { LIBZSTD_CONTINUE, LIBZSTD_FLUSH, LIBZSTD_END }; /* ZSTD_EndDirective */

struct libzstd_in {
    const void *data;
    size_t size, at;
};

struct libzstd_out {
    void *data;
    size_t size, at;
};

/* The members are the library's names. */
struct libzstd {
    void *(*ZSTD_createCCtx)(void);
    size_t (*ZSTD_freeCCtx)(void *context);
    size_t (*ZSTD_CCtx_setParameter)(void *context, int parameter, int value);
    size_t (*ZSTD_compressStream2)(void *context, struct libzstd_out *out, struct libzstd_in *in,
                                   int directive);
    void *(*ZSTD_createDStream)(void);
    size_t (*ZSTD_freeDStream)(void *stream);
    size_t (*ZSTD_decompressStream)(void *stream, struct libzstd_out *out, struct libzstd_in *in);
    unsigned (*ZSTD_isError)(size_t code);
};

/* Returns the library; NULL: this machine has none, or one older than 1.4. */
const struct libzstd *libzstd(void);

#endif
