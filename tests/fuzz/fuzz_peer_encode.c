/* fuzz_peer_encode.c - feeds sessions of any content, turned into the public client's lines and
 * read back: every line written is one that the reader takes. */
#include "tests/fuzz/check.h"
#include "wire/decode.h"
#include "wire/peer/encode.h"

#include <stdlib.h>
#include <string.h>

static int put_header(void *arg, const struct wire_header *h)
{
    return peer_encoder_header(arg, h);
}

static int put_name(void *arg, uint32_t id, const char *text, size_t len)
{
    return peer_encoder_name(arg, id, text, len);
}

static int put_batch(void *arg, const struct wire_batch *b)
{
    return peer_encoder_batch(arg, b);
}

static void feed(struct decoder *d, const char *text, size_t size, const struct wire_visitor *v)
{
    for (size_t at = 0; at < size;) {
        const char *lf = memchr(text + at, '\n', size - at);
        size_t len = lf ? (size_t)(lf - text) - at : size - at;
        char *line = malloc(len ? len : 1);
        CHECK(line);
        memcpy(line, text + at, len);
        CHECK(decoder_feed(d, line, len, v) == 0);
        free(line);
        at += len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct peer_encode_config config;
    static const struct wire_visitor none;
    struct peer_encoder *e;
    struct decoder *d;
    CHECK(peer_encoder_open(&e, &config) == 0 && decoder_open(&d) == 0);
    const struct wire_visitor v = {
        .arg = e, .header = put_header, .name = put_name, .batch = put_batch};
    feed(d, (const char *)data, size, &v);
    CHECK(decoder_finish(d, &v) == 0 && peer_encoder_finish(e) == 0);
    decoder_close(d);
    CHECK(decoder_open(&d) == 0);
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++) {
        struct buf *b = peer_encoder_lines(e, (enum peer_channel)i);
        feed(d, b->data, b->len, &none);
    }
    const struct decode_stats *s = decoder_stats(d);
    CHECK(s->damaged == 0 && s->unknown_records == 0 && s->foreign == s->lines);
    decoder_close(d);
    peer_encoder_close(e);
    return 0;
}
