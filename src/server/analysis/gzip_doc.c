/* gzip_doc.c - see gzip_doc.h.
 *
 * The extra field has one subfield, "GF": the CRC-32 of what follows in it (u32), then an entry for
 * each piece: bytes of the stream (u32), CRC-32 of the text (u32), length of the key (u8) and the
 * key. Numbers are little-endian. A piece
 * with an empty key has members that are too small to be read alone; it is always inflated. The
 * first piece is such a piece and begins with the object's brace, so that the pieces that are read
 * form an object again. */
#include "server/analysis/gzip_doc.h"

#include "base/err.h"
#include "base/json.h"
#include "base/zmem.h"

#include <string.h>

enum {
    LEVEL = 4, /* of gzip: 5 takes a third longer for a twentieth fewer bytes */
    LARGE =
        32768, /* bytes from which a member is read alone: smaller ones cost more than they save */
    PIECES = 32,   /* of a document at most; the last one has all members that are left */
    KEY_MAX = 64,  /* with NUL; a member with a longer key is not read alone */
    HEADER = 10,   /* bytes before the extra field */
    EXTRA = 2,     /* its length */
    SUBFIELD = 8,  /* "GF", its length, and the CRC-32 of the entries */
    ENTRY = 9,     /* an entry without its key */
    FLUSH = 16,    /* bytes that a flush adds at most: an empty block, and the rest of a byte */
    HAS_EXTRA = 4, /* flag of the header */
    RAW = -15,
    GZIP = 15 + 16,
    GZIP_OR_ZLIB = 15 + 32, /* windowBits of zlib */
};

struct piece {
    size_t from, to; /* in the text */
    char key[KEY_MAX];
};

static void put_u32(unsigned char *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> 8 * i);
}

static uint32_t get_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t get_u16(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

/* ---- packing --------------------------------------------------------------------------------- */

int gzip_doc_stream(z_stream *z)
{
    *z = (z_stream){0};
    return deflateInit2(z, LEVEL, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK ? 0
                                                                                   : GPUFL_E_NOMEM;
}

/* Adds a member, text `from` to `to`, to the last piece or as a piece of its own. */
static size_t add_member(struct piece *pieces, size_t count, const char *key, size_t from,
                         size_t to)
{
    bool large = to - from >= LARGE && strlen(key) < KEY_MAX && from && count < PIECES - 1;
    if (!large && !pieces[count - 1].key[0]) {
        pieces[count - 1].to = to;
        return count;
    }
    pieces[count] = (struct piece){.from = from, .to = to};
    if (large)
        memcpy(pieces[count].key, key, strlen(key) + 1);
    return count + 1;
}

/* Cuts an object into pieces; returns how many there are. A member's text begins after the member
 * before, thus with a comma. A text that cannot be walked is one piece. */
static size_t cut(const char *text, size_t len, struct piece pieces[PIECES])
{
    struct json j;
    char key[KEY_MAX + 1];
    size_t count = 1;
    pieces[0] = (struct piece){0};
    json_init(&j, text, len);
    bool walks = json_read(&j).type == JSON_OBJECT;
    while (walks) {
        size_t from = pieces[count - 1].to;
        struct json_value v = json_key(&j, key, sizeof key);
        if (v.type == JSON_END) {
            pieces[count - 1].to = len;
            return count;
        }
        walks = json_skip(&j, v);
        count = add_member(pieces, count, key, from, (size_t)(j.at - text));
    }
    pieces[0] = (struct piece){.to = len};
    return 1;
}

/* Writes the list of pieces into `extra`; the bytes of the stream follow while they are packed.
 * Returns the length. */
static size_t list_pieces(const char *text, const struct piece *pieces, size_t count,
                          unsigned char *extra)
{
    unsigned char *at = extra + SUBFIELD;
    for (size_t i = 0; i < count; i++) {
        size_t key = strlen(pieces[i].key);
        const unsigned char *plain = (const unsigned char *)text + pieces[i].from;
        put_u32(at, 0);
        put_u32(at + 4, (uint32_t)crc32_z(0, plain, pieces[i].to - pieces[i].from));
        at[8] = (unsigned char)key;
        memcpy(at + ENTRY, pieces[i].key, key);
        at += ENTRY + key;
    }
    size_t len = (size_t)(at - extra);
    memcpy(extra, "GF", 2);
    extra[2] = (unsigned char)(len - 4);
    extra[3] = (unsigned char)((len - 4) >> 8);
    return len;
}

/* Packs a piece; returns zlib's code. */
static int deflate_piece(z_stream *z, const char *text, const struct piece *p, bool last)
{
    z->next_in = (Bytef *)(uintptr_t)(text + p->from);
    z->avail_in = (uInt)(p->to - p->from);
    int rc = deflate(z, last ? Z_FINISH : Z_FULL_FLUSH);
    return rc == Z_OK && (last || !z->avail_out) ? Z_BUF_ERROR : rc;
}

/* Packs the pieces, and completes the list in the header: the bytes of each, and its CRC-32. */
static int deflate_pieces(z_stream *z, const char *text, const struct piece *pieces, size_t count,
                          size_t header)
{
    unsigned char *list = z->next_out + HEADER + EXTRA + SUBFIELD, *at = list;
    size_t done = header; /* bytes of the stream that earlier pieces and the header take */
    int rc = Z_OK;
    for (size_t i = 0; i < count && rc == Z_OK; i++) {
        rc = deflate_piece(z, text, &pieces[i], i + 1 == count);
        if (header > HEADER) {
            put_u32(at, (uint32_t)(z->total_out - done));
            at += ENTRY + strlen(pieces[i].key);
        }
        done = z->total_out;
    }
    if (header > HEADER)
        put_u32(list - 4, (uint32_t)crc32_z(0, list, (size_t)(at - list)));
    return rc;
}

int gzip_doc_pack(z_stream *z, const char *text, size_t len, bool pieces, struct region *memory,
                  struct meta_bytes *out)
{
    struct piece cuts[PIECES] = {{.to = len}};
    unsigned char extra[SUBFIELD + PIECES * (ENTRY + KEY_MAX)];
    gz_header head = {.extra = extra, .os = 3};
    size_t count = pieces ? cut(text, len, cuts) : 1;
    size_t header = HEADER;
    if (count > 1) {
        head.extra_len = (uInt)list_pieces(text, cuts, count, extra);
        header += EXTRA + head.extra_len;
    }
    size_t room = compressBound(len) + header + count * FLUSH;
    unsigned char *bytes = region_take(memory, room);
    if (!bytes)
        return GPUFL_E_NOMEM;
    z->next_out = bytes;
    z->avail_out = (uInt)room;
    deflateSetHeader(z, count > 1 ? &head : NULL);
    int rc = deflate_pieces(z, text, cuts, count, header);
    *out = (struct meta_bytes){(const char *)bytes, room - z->avail_out};
    deflateReset(z);
    return rc == Z_STREAM_END ? 0 : GPUFL_E_FULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Inflates bytes of a stream that was begun with inflateInit2; returns zlib's code, Z_BUF_ERROR at
 * the end of a piece. */
static int inflate_into(z_stream *z, const void *bytes, size_t len, struct buf *out)
{
    int rc = Z_OK;
    z->next_in = (Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)len;
    while (rc == Z_OK && buf_reserve(out, 1 << 16) == 0) {
        size_t room = out->cap - out->len;
        z->next_out = (Bytef *)out->data + out->len;
        z->avail_out = (uInt)room;
        rc = inflate(z, Z_NO_FLUSH);
        out->len += room - z->avail_out;
    }
    return rc;
}

int gzip_doc_open(const struct meta_bytes *body, struct buf *out)
{
    z_stream z = {.zalloc = zmem_alloc, .zfree = zmem_free};
    if (inflateInit2(&z, GZIP_OR_ZLIB) != Z_OK)
        return GPUFL_E_NOMEM;
    int rc = inflate_into(&z, body->data, body->len, out);
    inflateEnd(&z);
    if (buf_error(out))
        return buf_error(out);
    return rc == Z_STREAM_END ? 0 : GPUFL_E_CORRUPT;
}

/* Finds the list of pieces in the header. 0: `len` bytes; GPUFL_E_NOENT: there is none. */
static int find_list(const struct meta_bytes *body, const unsigned char **list, size_t *len)
{
    const unsigned char *data = (const unsigned char *)body->data;
    if (body->len < HEADER + EXTRA + SUBFIELD || memcmp(data, "\x1f\x8b\x08", 3) != 0 ||
        data[3] != HAS_EXTRA)
        return GPUFL_E_NOENT;
    const unsigned char *extra = data + HEADER + EXTRA;
    size_t whole = get_u16(data + HEADER);
    if (memcmp(extra, "GF", 2) != 0 || whole < SUBFIELD || whole != (size_t)get_u16(extra + 2) + 4)
        return GPUFL_E_NOENT;
    *list = extra + SUBFIELD;
    *len = whole - SUBFIELD;
    return HEADER + EXTRA + whole <= body->len && crc32_z(0, *list, *len) == get_u32(*list - 4)
               ? 0
               : GPUFL_E_CORRUPT;
}

/* Appends one piece. crc: of its text. */
static int open_piece(z_stream *z, const unsigned char *bytes, size_t len, uint32_t crc,
                      struct buf *out)
{
    size_t from = out->len;
    inflateReset(z);
    int rc = inflate_into(z, bytes, len, out);
    if (buf_error(out))
        return buf_error(out);
    bool whole = rc == Z_STREAM_END || (rc == Z_BUF_ERROR && !z->avail_in);
    bool same = whole && crc32_z(0, (const Bytef *)out->data + from, out->len - from) == crc;
    return same ? 0 : GPUFL_E_CORRUPT;
}

struct reading {
    gzip_doc_wants *wants;
    const void *arg;
    struct buf *out;
    bool last; /* the piece that was seen last is in `out`: the last one has the closing brace */
};

/* Reads one entry of the list, and its piece if it is wanted. bytes: of the stream, `left` of them.
 * Moves `list` and `bytes` on. */
static int read_entry(struct reading *r, z_stream *z, const unsigned char **list,
                      const unsigned char **bytes, size_t left)
{
    char key[KEY_MAX] = "";
    const unsigned char *entry = *list;
    size_t packed = get_u32(entry);
    if (packed > left || entry[8] >= KEY_MAX)
        return GPUFL_E_CORRUPT;
    memcpy(key, entry + ENTRY, entry[8]);
    r->last = !key[0] || r->wants(key, r->arg);
    int rc = r->last ? open_piece(z, *bytes, packed, get_u32(entry + 4), r->out) : 0;
    *list += ENTRY + entry[8];
    *bytes += packed;
    return rc;
}

/* Reads the pieces of the list, whose CRC-32 was right. */
static int open_pieces(struct reading *r, z_stream *z, const struct meta_bytes *body,
                       const unsigned char *list, size_t len)
{
    const unsigned char *end = (const unsigned char *)body->data + body->len;
    const unsigned char *bytes = list + len, *list_end = bytes;
    int rc = 0;
    while (rc == 0 && list < list_end) {
        if (list_end - list < ENTRY || list_end - list < ENTRY + list[8])
            return GPUFL_E_CORRUPT;
        rc = read_entry(r, z, &list, &bytes, (size_t)(end - bytes));
    }
    if (rc == 0 && !r->last)
        buf_char(r->out, '}');
    return rc ? rc : buf_error(r->out);
}

int gzip_doc_open_members(const struct meta_bytes *body, gzip_doc_wants *wants, const void *arg,
                          struct buf *out)
{
    z_stream z = {.zalloc = zmem_alloc, .zfree = zmem_free};
    struct reading r = {.wants = wants, .arg = arg, .out = out};
    const unsigned char *list;
    size_t len;
    int rc = find_list(body, &list, &len);
    if (rc)
        return rc == GPUFL_E_NOENT ? gzip_doc_open(body, out) : rc;
    if (inflateInit2(&z, RAW) != Z_OK)
        return GPUFL_E_NOMEM;
    rc = open_pieces(&r, &z, body, list, len);
    inflateEnd(&z);
    return rc;
}
