/* test_encode.c - tests the exact text of headers, names and rows. */
#include "tests/test.h"
#include "wire/digits.h"
#include "wire/encode.h"
#include "wire/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(b, text) assert_string_equal(buf_cstr(&(b)), text)

static struct buf fresh(void)
{
    struct buf b;
    buf_init(&b, 64u << 20);
    return b;
}

TEST(test_digits)
{
    static const int64_t some[] = {0,
                                   1,
                                   9,
                                   10,
                                   99,
                                   100,
                                   12345,
                                   9999999,
                                   10000000,
                                   99999999,
                                   100000000,
                                   1234567890123,
                                   9999999999999999,
                                   10000000000000000,
                                   INT64_MAX,
                                   INT64_MIN};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t v = (int64_t)((uint64_t)some[i] * (uint64_t)sign);
            char got[DIGITS_ROOM + 8], want[32];
            *digits_put_i64(got, v) = 0;
            snprintf(want, sizeof want, "%" PRId64, v);
            assert_string_equal(got, want);
        }
    uint64_t x = 1;
    for (int i = 0; i < 200000; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t v = x >> (i % 64);
        char got[DIGITS_ROOM + 8], want[32];
        *digits_put_u64(got, v) = 0;
        snprintf(want, sizeof want, "%" PRIu64, v);
        assert_string_equal(got, want);
        uint32_t value;
        snprintf(want, sizeof want, "????????%" PRIu64, v % 100000000);
        assert_true(digits_read(want + strlen(want), strlen(want) - 8, &value));
        assert_int_equal(value, v % 100000000);
    }
}

/* Every byte that is not a digit is noticed, wherever it is. */
TEST(test_digits_other)
{
    for (int c = 0; c < 256; c++)
        for (size_t digits = 1; digits <= 8; digits++)
            for (size_t at = 0; at < digits; at++) {
                char text[16];
                uint32_t value;
                memset(text, c, sizeof text);
                memset(text + 16 - digits, '7', digits);
                text[15 - at] = (char)c;
                assert_int_equal(digits_read(text + 16, digits, &value), c >= '0' && c <= '9');
            }
}

TEST(test_commas)
{
    uint64_t x = 99;
    for (int round = 0; round < 20000; round++) {
        char text[DIGITS_BLOCK];
        uint64_t want = 0;
        for (int i = 0; i < DIGITS_BLOCK; i++) {
            x = x * 6364136223846793005ull + 1442695040888963407ull;
            text[i] = x >> 62 == 0 ? ',' : (char)(x >> 40);
            want |= (uint64_t)(text[i] == ',') << i;
        }
        assert_int_equal(digits_commas(text), want);
    }
}

TEST(test_example_of_header)
{
    struct buf b = fresh();
    struct kernel_row rows[3];
    for (int i = 0; i < 3; i++)
        for (unsigned c = 0; c < COL_kernel_COUNT; c++)
            ((int64_t *)&rows[i])[c] = CELL_NULL;
    static const int64_t start[] = {900, 912, 923}, duration[] = {4, 4, 5};
    for (int i = 0; i < 3; i++) {
        rows[i].start = start[i];
        rows[i].duration = duration[i];
        rows[i].stream = 1;
    }
    encode_rows(&b, RECORD_kernel, (const int64_t *)rows, 3);
    EXPECT(b, "{\"type\":\"kernel\",\"rows\":3,\"start\":[900,12,11],\"duration\":[4,4,5],"
              "\"stream\":1}\n");
    buf_fini(&b);
}

TEST(test_codings)
{
    struct buf b = fresh();
    struct alloc_row rows[4] = {
        {.time = 1000, .op = 1, .address = 0x7f00, .bytes = -5, .correlation = 10},
        {.time = CELL_NULL, .op = 1, .address = -1, .bytes = CELL_NULL, .correlation = CELL_NULL},
        {.time = 900, .op = 1, .address = CELL_NULL, .bytes = 0, .correlation = INT64_MAX},
        {.time = 901, .op = 1, .address = 0, .bytes = INT64_MAX, .correlation = -2},
    };
    encode_rows(&b, RECORD_alloc, (const int64_t *)rows, 4);
    EXPECT(b, "{\"type\":\"alloc\",\"rows\":4,\"time\":[1000,null,-100,1],\"op\":1,\"memory\":0,"
              "\"address\":[\"7f00\",\"ffffffffffffffff\",null,\"0\"],"
              "\"bytes\":[-5,null,0,9223372036854775807],\"device\":0,\"stream\":0,"
              "\"correlation\":[10,null,9223372036854775797,9223372036854775807]}\n");
    buf_clear(&b);
    encode_rows(&b, RECORD_alloc, (const int64_t *)rows, 1);
    EXPECT(b, "{\"type\":\"alloc\",\"rows\":1,\"time\":1000,\"op\":1,\"memory\":0,"
              "\"address\":\"7f00\",\"bytes\":-5,\"device\":0,\"stream\":0,\"correlation\":10}\n");
    buf_fini(&b);
}

TEST(test_times_out_of_range)
{
    struct buf b = fresh();
    struct end_row rows[3] = {{INT64_MAX, 1}, {WIRE_TIME_MAX, 1}, {-WIRE_TIME_MAX - 1, 1}};
    encode_rows(&b, RECORD_end, (const int64_t *)rows, 3);
    EXPECT(b, "{\"type\":\"end\",\"rows\":3,\"time\":[null,4611686018427387904,null],"
              "\"reason\":1}\n");
    buf_clear(&b);
    encode_rows(&b, RECORD_end, (const int64_t *)rows, 1);
    EXPECT(b, "{\"type\":\"end\",\"rows\":1,\"reason\":1}\n");
    buf_fini(&b);
}

TEST(test_no_rows_no_line)
{
    struct buf b = fresh();
    struct end_row row = {1, 1};
    encode_rows(&b, RECORD_end, (const int64_t *)&row, 0);
    encode_names(&b, NULL, NULL, NULL, 0);
    assert_int_equal(b.len, 0);
    buf_fini(&b);
}

static size_t count_lines(const struct buf *b, size_t *longest)
{
    size_t n = 0, from = 0;
    *longest = 0;
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\n') {
            n++;
            if (i - from > *longest)
                *longest = i - from;
            from = i + 1;
        }
    return n;
}

/* The widest record with the longest cells still makes lines that readers accept. */
TEST(test_lines_stay_short)
{
    int widest = 0;
    for (int i = 0; i < RECORD_COUNT; i++)
        if (records[i].column_count > records[widest].column_count)
            widest = i;
    size_t rows = 2 * WIRE_MAX_ROWS, cells = rows * records[widest].column_count, longest;
    int64_t *table = calloc(cells, sizeof *table);
    for (size_t i = 0; i < cells; i++)
        table[i] = INT64_MIN + 1 + (int64_t)(i / records[widest].column_count);
    struct buf b = fresh();
    encode_rows(&b, (enum record_type)widest, table, rows);
    assert_int_equal(buf_error(&b), 0);
    assert_true(count_lines(&b, &longest) >= 2);
    assert_true(longest < WIRE_MAX_LINE);
    buf_fini(&b);
    free(table);
}

TEST(test_names)
{
    struct buf b = fresh();
    const uint32_t ids[] = {7, 4294967295u};
    const char *texts[] = {"a\"b\n", "\xff"};
    const size_t lens[] = {4, 1};
    encode_names(&b, ids, texts, lens, 2);
    EXPECT(b, "{\"type\":\"names\",\"rows\":2,\"id\":[7,4294967295],"
              "\"text\":[\"a\\\"b\\n\",\"\xef\xbf\xbd\"]}\n");
    buf_fini(&b);
}

TEST(test_long_names_are_cut_and_split)
{
    enum { N = 40, LONG = 1 << 20 };
    char *text = malloc(LONG);
    memset(text, 1, LONG); /* each byte becomes six */
    uint32_t ids[N];
    const char *texts[N];
    size_t lens[N], longest;
    for (uint32_t i = 0; i < N; i++) {
        ids[i] = i + 1;
        texts[i] = text;
        lens[i] = LONG;
    }
    struct buf b = fresh();
    encode_names(&b, ids, texts, lens, N);
    assert_int_equal(buf_error(&b), 0);
    assert_int_equal(count_lines(&b, &longest), N);
    assert_true(longest < WIRE_MAX_LINE);
    buf_fini(&b);
    free(text);
}

TEST(test_header)
{
    struct buf b = fresh();
    const struct wire_header h = {.session = "0b1c",
                                  .channel = "device",
                                  .part = 2,
                                  .offset = 67108864,
                                  .app = "a\\b",
                                  .pid = 7,
                                  .host = "h",
                                  .run = NULL,
                                  .pass = 2,
                                  .passes = 3,
                                  .command = "./a \"x\"",
                                  .engine = "Trace",
                                  .backend = "sim",
                                  .simulated = true,
                                  .version = "0.1.0",
                                  .system = "Linux",
                                  .start = 5,
                                  .clock_monotonic = 6,
                                  .clock_real = 1770000000000000000,
                                  .clock_uncertainty = 40};
    encode_header(&b, &h);
    EXPECT(b, "{\"type\":\"header\",\"format\":1,\"session\":\"0b1c\",\"channel\":\"device\","
              "\"part\":2,\"offset\":67108864,\"app\":\"a\\\\b\",\"pid\":7,\"host\":\"h\","
              "\"run\":\"\",\"pass\":2,\"passes\":3,"
              "\"command\":\"./a \\\"x\\\"\",\"engine\":\"Trace\",\"backend\":\"sim\","
              "\"simulated\":true,\"version\":\"0.1.0\",\"system\":\"Linux\",\"start\":5,"
              "\"clock_monotonic\":6,\"clock_real\":1770000000000000000,"
              "\"clock_uncertainty\":40}\n");
    buf_fini(&b);
}

/* A full buffer keeps its bytes and has an error; nothing is written past its end. */
TEST(test_full_buffer)
{
    struct kernel_row rows[100];
    for (int i = 0; i < 100; i++)
        rows[i] = (struct kernel_row){.start = i * 1000000007ll, .duration = i};
    for (size_t max = 0; max < 4000; max += 37) {
        struct buf b;
        buf_init(&b, max);
        encode_rows(&b, RECORD_kernel, (const int64_t *)rows, 100);
        assert_true(b.len <= max);
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),          cmocka_unit_test(test_digits_other),
        cmocka_unit_test(test_commas),          cmocka_unit_test(test_example_of_header),
        cmocka_unit_test(test_codings),         cmocka_unit_test(test_times_out_of_range),
        cmocka_unit_test(test_no_rows_no_line), cmocka_unit_test(test_lines_stay_short),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_long_names_are_cut_and_split),
        cmocka_unit_test(test_header),          cmocka_unit_test(test_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
