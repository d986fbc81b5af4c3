/* unpack.c - see unpack.h. Each library is searched once per process. */
#include "symbol/elf/unpack.h"

#include "base/alloc.h"
#include "base/process/dl.h"

#include <pthread.h>
#include <string.h>
#include <zlib.h>

/* Declares the parts that we use of libzstd and liblzma; their interfaces are stable since 1.0 and
 * 5.0. */
struct zstd {
    size_t (*ZSTD_decompress)(void *to, size_t room, const void *from, size_t n);
    unsigned (*ZSTD_isError)(size_t code);
};

struct lzma {
    int (*lzma_stream_buffer_decode)(uint64_t *memory, uint32_t flags, const void *allocator,
                                     const uint8_t *from, size_t *from_at, size_t from_size,
                                     uint8_t *to, size_t *to_at, size_t to_size);
};

enum { LZMA_FINE = 0, LZMA_NO_ROOM = 10 };

enum {
    XZ_MEMORY = 128 << 20, /* bytes that a dictionary may take */
    XZ_LEAST = 64 << 10,   /* room at first */
};

static struct {
    struct zstd zstd;
    struct lzma lzma;
    bool has_zstd, has_lzma;
} libraries; /* constant after libraries_load */

static bool library_load(const char *name, const struct dl_symbol *symbols, size_t count,
                         void *table)
{
    const char *const names[] = {name, NULL};
    void *handle = dl_open_first(names, NULL, 0, NULL);
    return handle && dl_fill(handle, symbols, count, table, NULL) == 0;
}

static void libraries_load(void)
{
    static const struct dl_symbol zstd[] = {
        {"ZSTD_decompress", offsetof(struct zstd, ZSTD_decompress), true},
        {"ZSTD_isError", offsetof(struct zstd, ZSTD_isError), true},
    };
    static const struct dl_symbol lzma[] = {
        {"lzma_stream_buffer_decode", offsetof(struct lzma, lzma_stream_buffer_decode), true},
    };
    libraries.has_zstd = library_load("libzstd.so.1", zstd, 2, &libraries.zstd);
    libraries.has_lzma = library_load("liblzma.so.5", lzma, 1, &libraries.lzma);
}

static void libraries_need(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, libraries_load);
}

bool unpack_can(uint32_t kind)
{
    if (kind != UNPACK_ZSTD)
        return kind == UNPACK_ZLIB;
    libraries_need();
    return libraries.has_zstd;
}

bool unpack_section(uint32_t kind, char *to, size_t size, const char *from, size_t n)
{
    if (!unpack_can(kind))
        return false;
    if (kind == UNPACK_ZSTD) {
        size_t out = libraries.zstd.ZSTD_decompress(to, size, from, n);
        return !libraries.zstd.ZSTD_isError(out) && out == size;
    }
    uLongf out = size;
    return uncompress((Bytef *)to, &out, (const Bytef *)from, n) == Z_OK && out == size;
}

char *unpack_xz(const char *from, size_t n, size_t max, size_t *len)
{
    libraries_need();
    for (size_t room = XZ_LEAST; libraries.has_lzma; room *= 2) {
        uint64_t memory = XZ_MEMORY;
        size_t at = 0;
        room = room < max ? room : max;
        *len = 0;
        char *to = mem_alloc(room + 1);
        if (!to)
            return NULL;
        int rc = libraries.lzma.lzma_stream_buffer_decode(&memory, 0, NULL, (const uint8_t *)from,
                                                          &at, n, (uint8_t *)to, len, room);
        if (rc == LZMA_FINE)
            return to;
        mem_free(to);
        if (rc != LZMA_NO_ROOM || room == max)
            return NULL;
    }
    return NULL;
}
