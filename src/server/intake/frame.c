/* frame.c - turns frames into bytes and back; see frame.h. */
#include "server/intake/frame.h"

#include "base/alloc.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* This is a level at which packing costs a small part of reading the lines; bench/ingest measures
 * it. */
enum { LEVEL = 1, WINDOW_LOG_MAX = 23 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "heads are copied as they stand");

/* This is the frame's head as the file has it. */
struct head {
    uint32_t magic;
    uint32_t crc;  /* of all that follows */
    uint32_t size; /* of the frame */
    uint32_t plain;
    uint64_t number;
    int64_t offset, length;
    uint64_t body, identity;
    int64_t received;
    uint32_t lines, damaged, too_long;
    uint8_t kind, packed;
    uint8_t workspace, session, channel; /* bytes of the texts */
    uint8_t unused[7];
};

_Static_assert(sizeof(struct head) == FRAME_HEAD, "no padding");

struct frame_packer {
    ZSTD_CCtx *pack;   /* owned */
    ZSTD_DCtx *unpack; /* owned */
    struct buf bytes;
};

int frame_packer_open(struct frame_packer **out)
{
    struct frame_packer *p = mem_zalloc(sizeof *p);
    *out = p;
    if (!p)
        return GPUFL_E_NOMEM;
    buf_init(&p->bytes, 2 * (size_t)JOURNAL_PAYLOAD_MAX);
    p->pack = ZSTD_createCCtx();
    p->unpack = ZSTD_createDCtx();
    if (p->pack && p->unpack &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(p->pack, ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(p->unpack, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return 0;
    frame_packer_close(p);
    *out = NULL;
    return GPUFL_E_NOMEM;
}

void frame_packer_close(struct frame_packer *p)
{
    if (!p)
        return;
    ZSTD_freeCCtx(p->pack);
    ZSTD_freeDCtx(p->unpack);
    buf_fini(&p->bytes);
    mem_free(p);
}

/* Puts the payload after what p->bytes holds; true: packed. */
static int put_payload(struct frame_packer *p, const void *payload, size_t n, bool *packed)
{
    struct buf *b = &p->bytes;
    size_t room = ZSTD_compressBound(n);
    *packed = false;
    if (buf_reserve(b, room > n ? room : n))
        return GPUFL_E_NOMEM;
    if (n > FRAME_SMALL) {
        size_t made = ZSTD_compress2(p->pack, b->data + b->len, room, payload, n);
        if (!ZSTD_isError(made) && made < n) {
            b->len += made;
            *packed = true;
            return 0;
        }
    }
    buf_put(b, payload, n);
    return 0;
}

int frame_pack(struct frame_packer *p, const struct journal_frame *f, const void *payload,
               char **bytes, size_t *size)
{
    struct head h = {
        .magic = FRAME_MAGIC,
        .plain = f->plain,
        .offset = f->offset,
        .length = f->length,
        .body = f->body,
        .identity = f->identity,
        .received = f->received,
        .lines = f->lines,
        .damaged = f->damaged,
        .too_long = f->too_long,
        .kind = (uint8_t)f->kind,
        .workspace = (uint8_t)strlen(f->workspace),
        .session = (uint8_t)strlen(f->session),
        .channel = (uint8_t)strlen(f->channel),
    };
    bool packed;
    buf_clear(&p->bytes);
    buf_put(&p->bytes, &h, sizeof h);
    buf_put(&p->bytes, f->workspace, h.workspace);
    buf_put(&p->bytes, f->session, h.session);
    buf_put(&p->bytes, f->channel, h.channel);
    if (put_payload(p, payload, f->plain, &packed) || buf_error(&p->bytes))
        return GPUFL_E_NOMEM;
    h.packed = packed;
    h.size = (uint32_t)p->bytes.len;
    memcpy(p->bytes.data, &h, sizeof h);
    *bytes = p->bytes.data;
    *size = p->bytes.len;
    return 0;
}

static uint32_t checksum(const char *bytes, size_t size)
{
    const size_t from = offsetof(struct head, size);
    return (uint32_t)crc32(0, (const Bytef *)bytes + from, (uInt)(size - from));
}

void frame_number(char *bytes, size_t size, uint64_t number)
{
    memcpy(bytes + offsetof(struct head, number), &number, sizeof number);
    uint32_t crc = checksum(bytes, size);
    memcpy(bytes + offsetof(struct head, crc), &crc, sizeof crc);
}

uint32_t frame_size(const char *head)
{
    struct head h;
    memcpy(&h, head, sizeof h);
    size_t texts = (size_t)h.workspace + h.session + h.channel;
    bool sound = h.magic == FRAME_MAGIC && h.plain <= JOURNAL_PAYLOAD_MAX &&
                 h.size >= sizeof h + texts && h.size <= sizeof h + texts + h.plain;
    return sound ? h.size : 0;
}

static bool get_text(const char **at, size_t len, char *out, size_t size)
{
    if (len >= size || memchr(*at, '\0', len))
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len;
    return true;
}

bool frame_check(const char *bytes, uint32_t size, struct journal_frame *f)
{
    struct head h;
    memcpy(&h, bytes, sizeof h);
    if (h.size != size || checksum(bytes, size) != h.crc)
        return false;
    *f = (struct journal_frame){.number = h.number,
                                .kind = (enum journal_kind)h.kind,
                                .offset = h.offset,
                                .length = h.length,
                                .body = h.body,
                                .identity = h.identity,
                                .received = h.received,
                                .lines = h.lines,
                                .damaged = h.damaged,
                                .too_long = h.too_long,
                                .plain = h.plain};
    const char *at = bytes + sizeof h;
    return h.kind >= JOURNAL_LINES && h.kind <= JOURNAL_END &&
           get_text(&at, h.workspace, f->workspace, sizeof f->workspace) &&
           get_text(&at, h.session, f->session, sizeof f->session) &&
           get_text(&at, h.channel, f->channel, sizeof f->channel);
}

int frame_unpack(struct frame_packer *p, const char *bytes, uint32_t size,
                 const struct journal_frame *f, struct buf *out)
{
    struct head h;
    memcpy(&h, bytes, sizeof h);
    const size_t before = sizeof h + h.workspace + h.session + h.channel;
    buf_clear(out);
    if (!h.packed) {
        if (size - before != f->plain)
            return GPUFL_E_CORRUPT;
        buf_put(out, bytes + before, f->plain);
        return buf_error(out) ? GPUFL_E_NOMEM : 0;
    }
    if (buf_reserve(out, f->plain))
        return GPUFL_E_NOMEM;
    size_t made =
        ZSTD_decompressDCtx(p->unpack, out->data, f->plain, bytes + before, size - before);
    if (ZSTD_isError(made) || made != f->plain)
        return GPUFL_E_CORRUPT;
    out->len = made;
    return 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

struct segment_bytes {
    uint32_t magic, crc;
    uint64_t journal, first, unused;
};

_Static_assert(sizeof(struct segment_bytes) == SEGMENT_HEAD, "no padding");

void segment_head_put(char *bytes, const struct segment_head *h)
{
    struct segment_bytes s = {.magic = SEGMENT_MAGIC, .journal = h->journal, .first = h->first};
    s.crc = (uint32_t)crc32(0, (const Bytef *)&s.journal, sizeof s - 8);
    memcpy(bytes, &s, sizeof s);
}

bool segment_head_get(const char *bytes, struct segment_head *h)
{
    struct segment_bytes s;
    memcpy(&s, bytes, sizeof s);
    h->journal = s.journal;
    h->first = s.first;
    return s.magic == SEGMENT_MAGIC &&
           s.crc == (uint32_t)crc32(0, (const Bytef *)&s.journal, sizeof s - 8);
}
