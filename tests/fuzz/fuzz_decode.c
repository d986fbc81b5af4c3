/* fuzz_decode.c - feeds any bytes as the lines of a session: whatever they are, the decoder stays
 * within its input, delivers valid batches, and these
 * can be encoded and decoded again with an equal result. */
#include "base/err.h"
#include "tests/fuzz/check.h"
#include "wire/decode.h"
#include "wire/encode.h"

#include <stdlib.h>
#include <string.h>

/* Rows that must come back. */
struct again {
    const int64_t *rows;
    size_t left; /* rows not seen yet */
    unsigned width;
};

static int compare_batch(void *arg, const struct wire_batch *b)
{
    struct again *a = arg;
    CHECK(b->rows <= a->left && b->record->column_count == a->width);
    for (size_t i = 0; i < b->rows; i++)
        for (unsigned c = 0; c < a->width; c++)
            CHECK((b->col[c] ? b->col[c][i] : CELL_NULL) == a->rows[i * a->width + c]);
    a->rows += b->rows * a->width;
    a->left -= b->rows;
    return 0;
}

static void encode_and_compare(enum record_type type, const int64_t *rows, size_t n)
{
    struct buf b;
    struct decoder *d;
    struct again a = {rows, n, records[type].column_count};
    const struct wire_visitor v = {.arg = &a, .batch = compare_batch};
    buf_init(&b, 256u << 20);
    encode_rows(&b, type, rows, n);
    CHECK(buf_error(&b) == 0 && decoder_open(&d) == 0);
    for (size_t at = 0; at < b.len;) {
        size_t len = (size_t)((char *)memchr(b.data + at, '\n', b.len - at) - (b.data + at));
        CHECK(len < WIRE_MAX_LINE);
        CHECK(decoder_feed(d, b.data + at, len, &v) == 0);
        at += len + 1;
    }
    CHECK(a.left == 0 && decoder_stats(d)->damaged == 0);
    decoder_close(d);
    buf_fini(&b);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    (void)arg;
    unsigned width = b->record->column_count;
    CHECK(b->rows > 0 && b->rows <= 65536);
    int64_t *rows = malloc(b->rows * width * sizeof *rows);
    CHECK(rows);
    for (size_t i = 0; i < b->rows; i++)
        for (unsigned c = 0; c < width; c++)
            rows[i * width + c] = b->col[c] ? b->col[c][i] : CELL_NULL;
    encode_and_compare(b->type, rows, b->rows);
    free(rows);
    return 0;
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    (void)arg;
    CHECK(id > 0 && text[len] == 0);
    return 0;
}

static int take_header(void *arg, const struct wire_header *h)
{
    struct buf b;
    (void)arg;
    CHECK(*h->session);
    buf_init(&b, 64u << 20);
    encode_header(&b, h);
    CHECK(buf_error(&b) == 0);
    buf_fini(&b);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire_visitor v = {
        .header = take_header, .name = take_name, .batch = take_batch};
    struct decoder *d;
    CHECK(decoder_open(&d) == 0);
    for (size_t at = 0; at < size;) {
        const uint8_t *lf = memchr(data + at, '\n', size - at);
        size_t len = lf ? (size_t)(lf - data) - at : size - at;
        char *line = malloc(len ? len : 1); /* ends where the heap block ends */
        CHECK(line);
        memcpy(line, data + at, len);
        CHECK(decoder_feed(d, line, len, &v) == 0);
        free(line);
        at += len + 1;
    }
    CHECK(decoder_finish(d, &v) == 0);
    const struct decode_stats *s = decoder_stats(d);
    CHECK(s->damaged + s->unknown_records <= s->lines);
    decoder_close(d);
    return 0;
}
