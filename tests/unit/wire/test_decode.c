/* test_decode.c - written rows are read back, and damage only affects its own line. */
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"
#include "wire/decode.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Holds what the visitor got, as text, so that tests compare one string. */
struct seen {
    struct buf text;
    int result; /* what the visitor returns */
    struct wire_batch last;
};

static int see_header(void *arg, const struct wire_header *h)
{
    struct seen *s = arg;
    buf_printf(&s->text, "header %s %s %lld %s %s;", h->session, h->channel, (long long)h->part,
               h->command, h->simulated ? "sim" : "real");
    return s->result;
}

static int see_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct seen *s = arg;
    assert_int_equal(text[len], 0);
    buf_printf(&s->text, "name %u ", id);
    buf_put(&s->text, text, len);
    buf_char(&s->text, ';');
    return s->result;
}

static int see_batch(void *arg, const struct wire_batch *b)
{
    struct seen *s = arg;
    buf_printf(&s->text, "%s", b->record->type);
    for (unsigned c = 0; c < b->record->column_count; c++) {
        if (!b->col[c])
            continue;
        buf_printf(&s->text, " %s", b->record->columns[c].name);
        for (size_t i = 0; i < b->rows; i++)
            if (b->col[c][i] == CELL_NULL)
                buf_str(&s->text, i ? ",-" : "=-");
            else
                buf_printf(&s->text, "%c%lld", i ? ',' : '=', (long long)b->col[c][i]);
    }
    buf_char(&s->text, ';');
    return s->result;
}

static int see_unknown(void *arg, const char *line, size_t len)
{
    struct seen *s = arg;
    buf_str(&s->text, "unknown ");
    buf_put(&s->text, line, len);
    buf_char(&s->text, ';');
    return s->result;
}

static struct seen seen_new(void)
{
    struct seen s = {0};
    buf_init(&s.text, 64u << 20);
    return s;
}

static struct wire_visitor visitor_of(struct seen *s)
{
    return (struct wire_visitor){
        .arg = s, .header = see_header, .name = see_name, .batch = see_batch};
}

/* Feeds a copy that ends where its heap block ends, so that sanitizers see a read beyond it. */
static int feed(struct decoder *d, struct seen *s, const char *line, size_t len)
{
    struct wire_visitor v = visitor_of(s);
    char *copy = malloc(len ? len : 1);
    memcpy(copy, line, len);
    int rc = decoder_feed(d, copy, len, &v);
    free(copy);
    return rc;
}

/* Checks what a line gives: rows, or "damaged" or "unknown". */
static void expect(const char *line, const char *want)
{
    struct decoder *d;
    struct seen s = seen_new();
    assert_int_equal(decoder_open(&d), 0);
    assert_int_equal(feed(d, &s, line, strlen(line)), 0);
    if (decoder_stats(d)->damaged)
        buf_str(&s.text, "damaged");
    if (decoder_stats(d)->unknown_records)
        buf_str(&s.text, "unknown");
    assert_string_equal(buf_cstr(&s.text), want);
    decoder_close(d);
    buf_fini(&s.text);
}

TEST(test_shapes)
{
    expect(
        "{\"type\":\"kernel\",\"rows\":3,\"start\":[900,12,11],\"duration\":[4,4,5],\"stream\":1}",
        "kernel start=900,912,923 duration=4,4,5 stream=1,1,1;");
    expect(
        "{\"stream\":null,\"duration\":[4,null],\"start\":[5,null],\"rows\":2,\"type\":\"kernel\"}",
        "kernel start=5,- duration=4,-;");
    expect(" { \"type\" : \"kernel\" , \"rows\" : 2 , \"start\" : [ 5 , -2 ] } \r",
           "kernel start=5,3;");
    expect("{\"type\":\"kernel\",\"rows\":2}", "kernel;");
    expect("{\"type\":\"kernel\",\"rows\":0}", "");
    expect("{\"type\":\"kernel\",\"rows\":0,\"start\":[],\"stream\":4}", "");
    expect("   ", "");
    expect("", "");
    expect("{\"type\":\"kernel\",\"rows\":3,\"correlation\":[7,null,1]}",
           "kernel correlation=7,-,8;");
    expect("{\"type\":\"alloc\",\"rows\":4,\"address\":[\"7f00\",\"FFFFFFFFFFFFFFFF\",null,\"0\"]}",
           "alloc address=32512,-1,-,0;");
    expect("{\"type\":\"alloc\",\"rows\":2,\"address\":\"ff\"}", "alloc address=255,255;");
    expect("{\"type\":\"kernel\",\"rows\":1,\"duration\":[-9223372036854775807]}",
           "kernel duration=-9223372036854775807;");
}

TEST(test_unknown_is_passed_over)
{
    struct decoder *d;
    struct seen s = seen_new();
    assert_int_equal(decoder_open(&d), 0);
    static const char *const lines[] = {
        "{\"type\":\"kernel\",\"rows\":1,\"later\":[1,{\"a\":\"]}\\\"\"}],\"start\":7,\"x\":1.5e3}",
        "{\"type\":\"later\",\"rows\":1,\"start\":[1,[2,{}],[]]}",
        "{\"rows\":1,\"nested\":{\"type\":\"kernel\"}}",
        "{}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(feed(d, &s, lines[i], strlen(lines[i])), 0);
    assert_string_equal(buf_cstr(&s.text), "kernel start=7;");
    assert_int_equal(decoder_stats(d)->lines, 4);
    assert_int_equal(decoder_stats(d)->unknown_columns, 2);
    assert_int_equal(decoder_stats(d)->unknown_records, 3);
    assert_int_equal(decoder_stats(d)->damaged, 0);
    decoder_close(d);
    buf_fini(&s.text);
}

/* Valid lines that are not used are delivered unchanged; damaged ones are not delivered. */
TEST(test_unknown_is_handed_over)
{
    struct decoder *d;
    struct seen s = seen_new();
    struct wire_visitor v = visitor_of(&s);
    static const char *const lines[] = {
        " {\"type\":\"later\",\"a\":[1, 2]} ",          "{\"type\":\"later\",", "{\"a\":1}",
        "{\"type\":\"run_end\",\"session_id\":\"s\"}", /* a line of the public client that has no record here */
        "{\"type\":\"kernel\",\"rows\":1,\"start\":7}",
    };
    v.unknown = see_unknown;
    assert_int_equal(decoder_open(&d), 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(decoder_feed(d, lines[i], strlen(lines[i]), &v), 0);
    assert_string_equal(buf_cstr(&s.text), "unknown  {\"type\":\"later\",\"a\":[1, 2]} ;"
                                           "unknown {\"a\":1};"
                                           "unknown {\"type\":\"run_end\",\"session_id\":\"s\"};"
                                           "kernel start=7;");
    assert_int_equal(decoder_stats(d)->unknown_records, 2);
    assert_int_equal(decoder_stats(d)->foreign_unmapped, 1);
    s.result = 77;
    assert_int_equal(decoder_feed(d, lines[0], strlen(lines[0]), &v), 77);
    assert_int_equal(decoder_feed(d, lines[3], strlen(lines[3]), &v), 77);
    decoder_close(d);
    buf_fini(&s.text);
}

TEST(test_damage)
{
    static const char *const lines[] = {
        "x",
        "[]",
        "\"kernel\"",
        "{\"type\":\"kernel\"}",
        "{\"type\":\"kernel\",\"rows\":-1}",
        "{\"type\":\"kernel\",\"rows\":65537}",
        "{\"type\":\"kernel\",\"rows\":1.0,\"start\":1}",
        "{\"type\":\"kernel\",\"rows\":1,\"rows\":1}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1]}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":[1,2]}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":[1],\"start\":[1]}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":1,\"start\":null}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[,1]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1 2]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,-]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,1.5]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,1e3]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,true]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,\"1\"]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[1,[1]]}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":\"1\"}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":4611686018427387905}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[4611686018427387904,1]}",
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[4611686018427387904,9223372036854775807]}",
        "{\"type\":\"kernel\",\"rows\":1,\"duration\":9223372036854775808}",
        "{\"type\":\"kernel\",\"rows\":1,\"duration\":18446744073709551617}",
        "{\"type\":\"kernel\",\"rows\":1,\"duration\":[-9223372036854775808]}",
        "{\"type\":\"kernel\",\"rows\":1,\"duration\":-9223372036854775808}",
        "{\"type\":\"kernel\",\"rows\":2,\"correlation\":[9223372036854775807,1]}",
        "{\"type\":\"alloc\",\"rows\":1,\"address\":\"12345678901234567\"}",
        "{\"type\":\"alloc\",\"rows\":1,\"address\":\"\"}",
        "{\"type\":\"alloc\",\"rows\":1,\"address\":\"0x1\"}",
        "{\"type\":\"alloc\",\"rows\":1,\"address\":5}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":1}}",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":1}{",
        "{\"type\":\"kernel\",\"rows\":1,\"start\":1,}",
        "{\"type\":\"kernel\",\"rows\":1,\"later\":[1}",
        "{\"type\":\"later\",\"rows\":1",
        "{\"type\":\"later\",\"rows\":\"\\\"}",
        "{\"type\":\"header\",\"format\":1}",
        "{\"type\":\"header\",\"session\":\"\"}",
        "{\"type\":\"header\",\"session\":7}",
        "{\"type\":\"header\",\"session\":\"s\",\"part\":\"1\"}",
        "{\"type\":\"header\",\"session\":\"s\",\"simulated\":1}",
        "{\"type\":\"names\",\"id\":[1,2],\"text\":[\"a\"]}",
        "{\"type\":\"names\",\"id\":[1],\"text\":[5]}",
        "{\"type\":\"names\",\"id\":[0],\"text\":[\"a\"]}",
        "{\"type\":\"names\",\"id\":[4294967296],\"text\":[\"a\"]}",
        "{\"type\":\"names\",\"id\":[null],\"text\":[\"a\"]}",
        "{\"type\":\"names\",\"id\":[1]}",
        "{\"type\":\"names\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(lines[i], "damaged");
}

TEST(test_header_and_names)
{
    expect("{\"type\":\"header\",\"format\":2,\"session\":\"s1\",\"channel\":\"device\",\"part\":3,"
           "\"command\":\"a\\\"\\u00e9\",\"simulated\":true,\"later\":[{}]}",
           "header s1 device 3 a\"\xc3\xa9 sim;");
    expect("{\"session\":\"s1\",\"type\":\"header\"}", "header s1  0  real;");
    expect("{\"type\":\"names\",\"rows\":2,\"text\":[\"a\\n\\\\\",\"\"],\"id\":[9,4294967295]}",
           "name 9 a\n\\;name 4294967295 ;");
    expect("{\"type\":\"names\",\"id\":[],\"text\":[]}", "");
}

/* ---- round trips ------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Returns cells of every length and sign, nulls, and runs of one value. */
static int64_t random_cell(enum coding coding, int64_t before)
{
    uint64_t r = random_next();
    if (r % 16 == 0)
        return CELL_NULL;
    if (r % 16 < 6)
        return before;
    int64_t v = (int64_t)(random_next() >> (r % 61 + (coding == CODING_TIME ? 3 : 0)));
    v = r & 64 ? (int64_t)(0 - (uint64_t)v) : v;
    return v == CELL_NULL ? 0 : v;
}

static void random_rows(const struct record *r, int64_t *rows, size_t n)
{
    for (unsigned c = 0; c < r->column_count; c++) {
        uint64_t kind = random_next() % 4;
        int64_t v = random_cell(r->columns[c].coding, 0);
        for (size_t i = 0; i < n; i++) {
            if (kind == 0) /* grows by small steps, which the fast path reads */
                v = (v == CELL_NULL ? 0 : v % (1ll << 60)) + (int64_t)(random_next() % 5);
            else if (kind > 1)
                v = random_cell(r->columns[c].coding, v);
            rows[i * r->column_count + c] = v;
        }
    }
}

struct compare {
    const int64_t *rows; /* the encoded rows, from the next batch on */
    size_t left;
};

static int compare_batch(void *arg, const struct wire_batch *b)
{
    struct compare *c = arg;
    unsigned columns = b->record->column_count;
    assert_true(b->rows <= c->left);
    for (size_t i = 0; i < b->rows; i++)
        for (unsigned k = 0; k < columns; k++)
            assert_int_equal(b->col[k] ? b->col[k][i] : CELL_NULL, c->rows[i * columns + k]);
    c->rows += b->rows * columns;
    c->left -= b->rows;
    return 0;
}

static void feed_all(struct decoder *d, const struct buf *b, const struct wire_visitor *v)
{
    for (size_t at = 0; at < b->len;) {
        size_t len = (size_t)((char *)memchr(b->data + at, '\n', b->len - at) - (b->data + at));
        char *copy = malloc(len);
        memcpy(copy, b->data + at, len);
        assert_int_equal(decoder_feed(d, copy, len, v), 0);
        free(copy);
        at += len + 1;
    }
}

TEST(test_round_trip)
{
    enum { MOST = WIRE_MAX_ROWS + 100 };
    int64_t *rows = malloc(sizeof *rows * MOST * RECORD_MAX_COLUMNS);
    struct decoder *d;
    assert_int_equal(decoder_open(&d), 0);
    for (int round = 0; round < 12; round++)
        for (int type = 0; type < RECORD_COUNT; type++) {
            size_t n = round == 11 ? MOST : 1 + random_next() % (round % 3 ? 40 : 1000);
            random_rows(&records[type], rows, n);
            struct buf b;
            buf_init(&b, 64u << 20);
            encode_rows(&b, (enum record_type)type, rows, n);
            struct compare c = {rows, n};
            const struct wire_visitor v = {.arg = &c, .batch = compare_batch};
            feed_all(d, &b, &v);
            assert_int_equal(c.left, 0);
            buf_fini(&b);
        }
    assert_int_equal(decoder_stats(d)->damaged, 0);
    assert_int_equal(decoder_stats(d)->unknown_columns, 0);
    decoder_close(d);
    free(rows);
}

/* Makes a line with rows like those of a log; the caller frees b. */
static void sample_line(struct buf *b, enum record_type type, size_t n)
{
    int64_t rows[300 * RECORD_MAX_COLUMNS];
    assert_true(n <= 300);
    random_rows(&records[type], rows, n);
    buf_init(b, 64u << 20);
    encode_rows(b, type, rows, n);
}

/* ---- damage of every kind ------------------------------------------------------------------ */

TEST(test_every_truncation_is_damage)
{
    struct buf b, names;
    sample_line(&b, RECORD_alloc, 40);
    buf_init(&names, 1 << 20);
    const uint32_t ids[] = {1, 2};
    const char *texts[] = {"void f<int>(int)", "\"\\"};
    encode_names(&names, ids, texts, (const size_t[]){16, 2}, 2);
    encode_header(&names, &(struct wire_header){.session = "s", .channel = "device"});
    const char *header = (const char *)memchr(names.data, '\n', names.len) + 1;
    const struct {
        const char *at;
        size_t len;
    } lines[] = {{b.data, b.len},
                 {names.data, (size_t)(header - names.data)},
                 {header, (size_t)(names.data + names.len - header)}};
    for (int i = 0; i < 3; i++) {
        struct decoder *d;
        struct seen s = seen_new();
        assert_int_equal(decoder_open(&d), 0);
        for (size_t len = 1; len < lines[i].len - 1; len++)
            assert_int_equal(feed(d, &s, lines[i].at, len), 0);
        assert_int_equal(decoder_stats(d)->damaged, lines[i].len - 2);
        assert_int_equal(s.text.len, 0);
        decoder_close(d);
        buf_fini(&s.text);
    }
    buf_fini(&b);
    buf_fini(&names);
}

/* Replaces, removes or repeats bytes. Returns the new length. */
static size_t mutate(char *line, size_t len)
{
    static const char interesting[] = "0123456789-,:[]{}\"\\nulltrue.eE \n\0\x80\xff";
    for (uint64_t n = 1 + random_next() % 4; n && len > 2; n--) {
        size_t at = random_next() % len, span = 1 + random_next() % 12;
        if (span > len - at)
            span = len - at;
        switch (random_next() % 4) {
        case 0:
            line[at] = interesting[random_next() % (sizeof interesting - 1)];
            break;
        case 1:
            line[at] = (char)random_next();
            break;
        case 2:
            memmove(line + at, line + at + span, len - at - span);
            len -= span;
            break;
        default:
            memmove(line + random_next() % (len - span + 1), line + at, span);
        }
    }
    return len;
}

static int check_batch(void *arg, const struct wire_batch *b)
{
    int64_t *sum = arg;
    assert_true(b->rows > 0 && b->rows <= WIRE_READ_ROWS);
    for (unsigned c = 0; c < b->record->column_count; c++)
        for (size_t i = 0; b->col[c] && i < b->rows; i++)
            *sum ^= b->col[c][i];
    return 0;
}

static int check_name(void *arg, uint32_t id, const char *text, size_t len)
{
    int64_t *sum = arg;
    assert_true(id > 0);
    for (size_t i = 0; i < len; i++)
        *sum ^= text[i];
    return 0;
}

TEST(test_mutations)
{
    struct decoder *d;
    int64_t sum = 0;
    const struct wire_visitor v = {.arg = &sum, .batch = check_batch, .name = check_name};
    assert_int_equal(decoder_open(&d), 0);
    uint64_t fed = 0;
    for (int round = 0; round < 150; round++)
        for (int type = 0; type < RECORD_COUNT; type++) {
            struct buf b;
            sample_line(&b, (enum record_type)type, 1 + random_next() % 40);
            encode_names(&b, (const uint32_t[]){5}, (const char *const[]){"f\xc3\xa9\n"},
                         (const size_t[]){4}, 1);
            for (int i = 0; i < 20; i++) {
                char *whole = malloc(b.len);
                memcpy(whole, b.data, b.len);
                size_t len = mutate(whole, b.len);
                char *exact = malloc(len);
                memcpy(exact, whole, len);
                for (size_t at = 0, end; at < len; at = end + 1) {
                    for (end = at; end < len && exact[end] != '\n';)
                        end++;
                    assert_int_equal(decoder_feed(d, exact + at, end - at, &v), 0);
                    fed++;
                }
                free(exact);
                free(whole);
            }
            buf_fini(&b);
        }
    const struct decode_stats *s = decoder_stats(d);
    assert_true(s->lines <= fed && s->damaged > s->lines / 20 && s->damaged < s->lines);
    decoder_close(d);
}

/* ---- results ------------------------------------------------------------------------------- */

TEST(test_visitor_stops)
{
    static const char *const lines[] = {"{\"type\":\"header\",\"session\":\"s\"}",
                                        "{\"type\":\"names\",\"id\":[1,2],\"text\":[\"a\",\"b\"]}",
                                        "{\"type\":\"end\",\"rows\":1,\"time\":1}"};
    struct decoder *d;
    struct seen s = seen_new();
    s.result = 42;
    assert_int_equal(decoder_open(&d), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(feed(d, &s, lines[i], strlen(lines[i])), 42);
    assert_string_equal(buf_cstr(&s.text), "header s  0  real;name 1 a;end time=1;");
    const struct wire_visitor none = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(decoder_feed(d, (char *)lines[i], strlen(lines[i]), &none), 0);
    assert_int_equal(decoder_finish(d, &none), 0);
    decoder_close(d);
    buf_fini(&s.text);
}

/* Every allocation fails once: decoder_feed returns an error, and the next attempt succeeds. */
TEST(test_out_of_memory)
{
    struct buf b;
    sample_line(&b, RECORD_kernel, 20);
    static const char header[] = "{\"type\":\"header\",\"session\":\"s\"}";
    for (int64_t n = 0;; n++) {
        struct decoder *d = NULL;
        const struct wire_visitor none = {0};
        mem_fail_at(n);
        int rc = decoder_open(&d);
        if (!rc)
            rc = decoder_feed(d, (char *)header, sizeof header - 1, &none);
        if (!rc)
            rc = decoder_feed(d, b.data, b.len - 1, &none);
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        assert_int_equal(rc, failed ? GPUFL_E_NOMEM : 0);
        if (d) {
            assert_int_equal(decoder_feed(d, b.data, b.len - 1, &none), 0);
            assert_int_equal(decoder_stats(d)->damaged, 0);
        }
        decoder_close(d);
        if (!failed)
            break;
        assert_true(n < 1000);
    }
    decoder_close(NULL);
    buf_fini(&b);
}

/* A line with the most rows that it may have is read; a line with one more is damaged. */
TEST(test_row_limit)
{
    for (int extra = 0; extra < 2; extra++) {
        struct buf b;
        buf_init(&b, 8u << 20);
        buf_printf(&b, "{\"type\":\"end\",\"rows\":%d,\"time\":[", WIRE_READ_ROWS);
        for (int i = 0; i < WIRE_READ_ROWS + extra; i++)
            buf_str(&b, i ? ",1" : "1");
        buf_str(&b, "]}");
        struct decoder *d;
        struct seen s = seen_new();
        assert_int_equal(decoder_open(&d), 0);
        assert_int_equal(feed(d, &s, b.data, b.len), 0);
        assert_int_equal(decoder_stats(d)->damaged, extra);
        assert_int_equal(s.text.len > 0, !extra);
        decoder_close(d);
        buf_fini(&s.text);
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_unknown_is_passed_over),
        cmocka_unit_test(test_unknown_is_handed_over),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_header_and_names),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_truncation_is_damage),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_visitor_stops),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_row_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
