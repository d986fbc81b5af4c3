/* test_texts.c - tests texts in a line: names and header fields of any bytes are read back
 * unchanged, except bytes that are not UTF-8. */
#include "base/buf.h"
#include "tests/test.h"
#include "wire/decode.h"
#include "wire/header.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 11;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Makes a character of a kind that some code may handle wrongly; up to 4 bytes. */
static size_t random_character(char out[4], bool broken)
{
    static const char *const odd[] = {"\"",
                                      "\\",
                                      "/",
                                      "\x7f",
                                      "\xc2\x80",
                                      "\xc2\x9f",
                                      "\xc2\xa0",
                                      "\xdf\xbf",
                                      "\xe0\xa0\x80",
                                      "\xed\x9f\xbf",
                                      "\xee\x80\x80",
                                      "\xef\xbf\xbd",
                                      "\xe2\x80\xae",
                                      "\xf0\x90\x80\x80",
                                      "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",     "\xc0\xaf", "\xc2",         "\xed\xa0\x80",
                                      "\xe2\x82", "\xff",     "\xf4\x90\x80", "\xf5"};
    uint64_t r = random_next();
    const char *text = broken && r % 5 == 0 ? bad[(r >> 8) % (sizeof bad / sizeof *bad)]
                       : r % 3 == 0         ? odd[(r >> 8) % (sizeof odd / sizeof *odd)]
                                            : NULL;
    if (!text) {
        out[0] = (char)((r >> 16) % 0x80);
        return 1;
    }
    memcpy(out, text, strlen(text));
    return strlen(text);
}

static void random_text(struct buf *b, size_t characters, bool broken)
{
    char c[4];
    buf_clear(b);
    while (characters--)
        buf_put(b, c, random_character(c, broken));
}

/* Makes the text that should be read back: bytes that are not UTF-8 are U+FFFD. */
static void repair(struct buf *out, const char *text, size_t n)
{
    buf_clear(out);
    for (size_t i = 0, len; i < n; i += len) {
        const unsigned char *s = (const unsigned char *)text + i;
        len = *s < 0x80 ? 1 : utf8_sequence(s, n - i);
        buf_put(out, len ? (const char *)s : "\xef\xbf\xbd", len ? len : 3);
        len = len ? len : 1;
    }
}

struct expected {
    struct buf *texts;
    size_t count, seen;
};

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct expected *x = arg;
    assert_true(x->seen < x->count);
    assert_int_equal(id, 7 + 3 * x->seen);
    assert_int_equal(len, x->texts[x->seen].len);
    assert_memory_equal(text, x->texts[x->seen].data, len);
    assert_int_equal(text[len], 0);
    x->seen++;
    return 0;
}

/* Feeds the lines of b as copies that end where their heap blocks end. */
static void feed(const struct buf *b, const struct wire_visitor *v)
{
    struct decoder *d;
    assert_int_equal(decoder_open(&d), 0);
    for (size_t at = 0, len; at < b->len; at += len + 1) {
        len = (size_t)((char *)memchr(b->data + at, '\n', b->len - at) - (b->data + at));
        assert_true(len < WIRE_MAX_LINE);
        char *copy = malloc(len);
        memcpy(copy, b->data + at, len);
        assert_int_equal(decoder_feed(d, copy, len, v), 0);
        free(copy);
    }
    assert_int_equal(decoder_stats(d)->damaged, 0);
    assert_int_equal(decoder_stats(d)->unknown_records, 0);
    decoder_close(d);
}

static void names_come_back(bool broken)
{
    enum { NAMES = 60 };
    struct buf given[NAMES], want[NAMES], line;
    for (int i = 0; i < NAMES; i++) {
        buf_init(&given[i], 1 << 20);
        buf_init(&want[i], 1 << 20);
    }
    buf_init(&line, 64u << 20);
    for (int round = 0; round < 60; round++) {
        const char *texts[NAMES];
        uint32_t ids[NAMES];
        size_t lens[NAMES];
        for (uint32_t i = 0; i < NAMES; i++) {
            random_text(&given[i], 1 + random_next() % (i == 3 ? WIRE_MAX_NAME / 4 : 80), broken);
            repair(&want[i], given[i].data, given[i].len);
            texts[i] = given[i].data;
            lens[i] = given[i].len;
            ids[i] = 7 + 3 * i;
        }
        struct expected x = {want, NAMES, 0};
        const struct wire_visitor v = {.arg = &x, .name = take_name};
        buf_clear(&line);
        encode_names(&line, ids, texts, lens, NAMES);
        assert_int_equal(buf_error(&line), 0);
        feed(&line, &v);
        assert_int_equal(x.seen, NAMES);
    }
    for (int i = 0; i < NAMES; i++) {
        buf_fini(&given[i]);
        buf_fini(&want[i]);
    }
    buf_fini(&line);
}

TEST(test_names)
{
    names_come_back(false);
}

TEST(test_names_that_are_no_utf8)
{
    names_come_back(true);
}

static int take_header(void *arg, const struct wire_header *h)
{
    const struct wire_header *want = arg;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
        const struct header_field *f = &header_fields[i];
        const void *a = (const char *)h + f->offset, *b = (const char *)want + f->offset;
        if (f->kind == HEADER_TEXT)
            assert_string_equal(*(const char *const *)a, *(const char *const *)b);
        else if (f->kind == HEADER_INT)
            assert_int_equal(*(const int64_t *)a, *(const int64_t *)b);
        else
            assert_int_equal(*(const bool *)a, *(const bool *)b);
    }
    return 0;
}

TEST(test_headers)
{
    struct buf texts[HEADER_FIELD_COUNT], line;
    for (int i = 0; i < HEADER_FIELD_COUNT; i++)
        buf_init(&texts[i], 1 << 20);
    buf_init(&line, 1 << 20);
    for (int round = 0; round < 300; round++) {
        struct wire_header h;
        header_clear(&h);
        for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
            const struct header_field *f = &header_fields[i];
            void *at = (char *)&h + f->offset;
            random_text(&texts[i], 1 + random_next() % 60, false);
            for (size_t k = 0; k < texts[i].len; k++) /* a header's texts end with a NUL */
                texts[i].data[k] = texts[i].data[k] ? texts[i].data[k] : ' ';
            if (f->kind == HEADER_TEXT)
                *(const char **)at = buf_cstr(&texts[i]);
            else if (f->kind == HEADER_INT)
                *(int64_t *)at = (int64_t)(random_next() << random_next() % 64);
            else
                *(bool *)at = random_next() & 1;
        }
        const struct wire_visitor v = {.arg = &h, .header = take_header};
        buf_clear(&line);
        encode_header(&line, &h);
        feed(&line, &v);
    }
    for (int i = 0; i < HEADER_FIELD_COUNT; i++)
        buf_fini(&texts[i]);
    buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_that_are_no_utf8),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
