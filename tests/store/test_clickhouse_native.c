/* test_clickhouse_native.c - blocks of the format Native in pieces of any size, cut off and
 * damaged; literals with any content. Needs no server. */
#include "store/clickhouse/literal.h"
#include "store/clickhouse/native.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 300 };

static void put_ints(struct buf *b, const char *name, const char *type, size_t width)
{
    native_column(b, name, type);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t v = i * 7 - 1000; /* little-endian: the first bytes are the low ones */
        buf_put(b, &v, width);
    }
}

/* Lists of i % 4 numbers, and of i % 3 texts. */
static void put_lists(struct buf *b)
{
    int64_t end = 0;
    native_column(b, "f", "Array(Int64)");
    for (int64_t i = 0; i < ROWS; i++) {
        end += i % 4;
        buf_put(b, &end, sizeof end);
    }
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < i % 4; k++)
            buf_put(b, &(int64_t){10 * i + k}, 8);
    native_column(b, "g", "Array(String)");
    end = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        end += i % 3;
        buf_put(b, &end, sizeof end);
    }
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < i % 3; k++)
            native_text(b, "abc", (size_t)k + 1);
}

static void check_lists(const struct page *p)
{
    size_t numbers = 0, texts = 0;
    assert_null(p->ends[0]);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < i % 4; k++)
            assert_int_equal(((const int64_t *)p->data[5])[numbers++], 10 * i + k);
        for (size_t k = 0; k < i % 3; k++) {
            struct store_text text = p->text(p, 6, texts++);
            assert_int_equal(text.len, k + 1);
            assert_memory_equal(text.at, "abc", k + 1);
        }
        assert_int_equal(p->ends[5][i], numbers);
        assert_int_equal(p->ends[6][i], texts);
    }
}

/* Two blocks with all types that are read. */
static void make_blocks(struct buf *b)
{
    for (int block = 0; block < 2; block++) {
        native_block(b, 7, ROWS);
        put_ints(b, "a", "Int64", 8);
        put_ints(b, "b", "Int16", 2);
        put_ints(b, "c", "UInt8", 1);
        native_column(b, "d", "String");
        for (size_t i = 0; i < ROWS; i++) {
            char text[400];
            memset(text, 'x', sizeof text);
            native_text(b, text, i);
        }
        native_column(b, "e", "Nullable(Float64)");
        for (int i = 0; i < ROWS; i++)
            buf_char(b, i % 3 == 0);
        for (int i = 0; i < ROWS; i++)
            buf_put(b, &(double){i / 2.0}, 8);
        put_lists(b);
    }
    native_block(b, 7, 0); /* some servers end their answer so */
    native_column(b, "a", "Int64");
    native_column(b, "b", "Int16");
    native_column(b, "c", "UInt8");
    native_column(b, "d", "String");
    native_column(b, "e", "Nullable(Float64)");
    native_column(b, "f", "Array(Int64)");
    native_column(b, "g", "Array(String)");
}

static int check_block(void *arg, const struct page *p)
{
    ++*(int *)arg;
    assert_int_equal(p->rows, ROWS);
    assert_int_equal(p->columns, 7);
    check_lists(p);
    for (size_t i = 0; i < ROWS; i++) {
        int64_t v = (int64_t)i * 7 - 1000;
        assert_int_equal(page_int(p, 0, i), v);
        assert_int_equal(page_int(p, 1, i), v);
        assert_int_equal(page_int(p, 2, i), v & 255);
        assert_int_equal(page_text(p, 3, i).len, i);
        assert_true(!i || page_text(p, 3, i).at[i - 1] == 'x');
        assert_int_equal(page_known(p, 4, i), i % 3 != 0);
        assert_true(i % 3 == 0 || page_real(p, 4, i) == (double)i / 2);
    }
    return 0;
}

static int feed(struct native_in *n, const char *at, size_t len, size_t piece, ask_take take,
                void *arg)
{
    int rc = 0;
    for (size_t done = 0, step; !rc && done < len; done += step) {
        step = piece < len - done ? piece : len - done;
        char *copy = mem_alloc(step); /* so that a read beyond the end is found */
        memcpy(copy, at + done, step);
        rc = native_in_feed(n, copy, step, take, arg);
        mem_free(copy);
    }
    return rc;
}

TEST(test_pieces)
{
    static const size_t pieces[] = {1, 2, 3, 7, 64, 1000, 4096, 1 << 20};
    struct native_in n;
    struct buf b;
    buf_init(&b, 1 << 24);
    make_blocks(&b);
    native_in_init(&n);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        int blocks = 0;
        native_in_clear(&n);
        assert_int_equal(feed(&n, b.data, b.len, pieces[i], check_block, &blocks), 0);
        assert_int_equal(blocks, 2);
        assert_true(native_in_whole(&n));
        native_in_clear(&n); /* the block is cut off, whatever came before */
        assert_int_equal(feed(&n, b.data, b.len - 1, pieces[i], NULL, NULL), 0);
        assert_false(native_in_whole(&n));
    }
    native_in_fini(&n);
    buf_fini(&b);
}

TEST(test_messages)
{
    static const char *const messages[] = {
        "Code: 159, e.displayText() = DB::Exception: Timeout exceeded",
        "__exception__\r\nCode: 159. DB::Exception: Timeout exceeded",
        "\r\n__exception__\r\nabcdefghijklmnop\r\nCode: 159. DB::Exception: Timeout exceeded",
    };
    struct native_in n;
    struct buf b;
    buf_init(&b, 1 << 24);
    native_in_init(&n);
    for (size_t i = 0; i < 3; i++)
        for (size_t piece = 1; piece < 100; piece += 13) {
            int blocks = 0;
            buf_clear(&b);
            make_blocks(&b);
            buf_str(&b, messages[i]);
            native_in_clear(&n);
            assert_int_equal(feed(&n, b.data, b.len, piece, check_block, &blocks), 0);
            assert_int_equal(blocks, 2);
            assert_non_null(strstr(buf_cstr(&n.failure), "Code: 159"));
        }
    native_in_fini(&n);
    buf_fini(&b);
}

static int stop(void *arg, const struct page *p)
{
    (void)arg;
    (void)p;
    return 1;
}

TEST(test_a_visitor_stops)
{
    struct native_in n;
    struct buf b;
    buf_init(&b, 1 << 24);
    make_blocks(&b);
    native_in_init(&n);
    assert_int_equal(native_in_feed(&n, b.data, b.len, stop, NULL), 1);
    native_in_fini(&n);
    buf_fini(&b);
}

/* Bytes changed anywhere: an error, a message or other rows, never a fault. */
TEST(test_damage)
{
    struct native_in n;
    struct buf b;
    uint64_t x = 88172645463325252u;
    buf_init(&b, 1 << 24);
    native_in_init(&n);
    for (int round = 0; round < 3000; round++) {
        buf_clear(&b);
        make_blocks(&b);
        for (int k = 0; k < 3; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            size_t at = k ? x % b.len : x % 40; /* also in the header */
            b.data[at] = (char)(x >> 32);
        }
        native_in_clear(&n);
        feed(&n, b.data, b.len, 1 + x % 5000, NULL, NULL);
    }
    native_in_fini(&n);
    buf_fini(&b);
}

/* A text as a literal ends at its own quote and nowhere else, and has the text's content. */
TEST(test_texts_as_literals)
{
    struct buf b;
    uint64_t x = 1234567;
    buf_init(&b, 1 << 20);
    for (int round = 0; round < 20000; round++) {
        char text[24], back[24];
        size_t len = round % sizeof text, n = 0;
        for (size_t i = 0; i < len; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            text[i] = round % 2 ? (char)(x >> 56) : "'\\\"`;\0\n%{}$#?"[(x >> 56) % 14];
        }
        buf_clear(&b);
        literal_text(&b, text, len);
        assert_int_equal(b.data[0], '\'');
        assert_int_equal(b.data[b.len - 1], '\'');
        for (size_t i = 1; i + 1 < b.len; n++) {
            assert_true(b.data[i] != '\'' && (unsigned char)b.data[i] >= ' ');
            if (b.data[i] == '\\') {
                char digits[3] = {b.data[i + 2], b.data[i + 3], 0};
                assert_int_equal(b.data[i + 1], 'x');
                back[n] = (char)strtol(digits, NULL, 16);
                i += 4;
            } else {
                back[n] = b.data[i++];
            }
        }
        assert_int_equal(n, len);
        assert_memory_equal(back, text, len);
    }
    buf_fini(&b);
}

static void expect(const struct sql_arg *arg, const char *wanted)
{
    struct buf b;
    buf_init(&b, 4096);
    literal_put(&b, arg);
    assert_string_equal(buf_cstr(&b), wanted);
    buf_fini(&b);
}

TEST(test_other_literals)
{
    static const int64_t list[] = {1, -2, INT64_MIN};
    struct sql_arg none = SQL_INT(0);
    none.value.null = true;
    expect(&SQL_INT(-5), "toInt64(-5)");
    expect(&SQL_INT(INT64_MAX), "toInt64(9223372036854775807)");
    expect(&SQL_INT(INT64_MIN), "toInt64('-9223372036854775808')");
    expect(&SQL_REAL(0.1), "toFloat64('0.10000000000000001')");
    expect(&SQL_REAL(-1.0 / 0.0), "toFloat64('-inf')");
    expect(&SQL_TEXT("it's", 4), "'it\\x27s'");
    expect(&SQL_LIST(list, 3), "(1,-2,toInt64('-9223372036854775808'))");
    expect(&SQL_LIST(list, 0), "(SELECT toInt64(0) WHERE 0)");
    expect(&none, "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_a_visitor_stops),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_texts_as_literals),
        cmocka_unit_test(test_other_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
