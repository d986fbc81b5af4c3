/* test_lines.c - tests every kind of file that a log can be, whole and broken. */
#include "base/alloc.h"
#include "base/packed/lines.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <zlib.h>

/* Holds what a reader delivered, as one text: "line|line|", or with "~" after an incomplete last
 * line. */
struct got {
    char *text;
    size_t len, cap;
    uint64_t lines, too_long;
    bool truncated;
    bool offsets_ok; /* each offset points at its line in the plain text given */
};

static struct got read_all(const char *path, size_t max_line, const char *plain, size_t plain_len)
{
    struct err e;
    struct lines *l;
    struct got g = {.offsets_ok = true};
    assert_int_equal(lines_open(&l, path, max_line, &e), 0);
    char *line;
    size_t len;
    bool complete = true;
    while (lines_next(l, &line, &len, &complete)) {
        assert_int_equal(line[len], 0);
        assert_int_equal(mem_grow(&g.text, &g.cap, g.len + len + 3, 1, 1u << 30), 0);
        memcpy(g.text + g.len, line, len);
        g.len += len;
        g.text[g.len++] = complete ? '|' : '~';
        g.text[g.len] = '\0';
        g.lines++;
        uint64_t at = lines_offset(l);
        if (plain && (at + len > plain_len || memcmp(plain + at, line, len) != 0 ||
                      (at > 0 && plain[at - 1] != '\n')))
            g.offsets_ok = false;
        memset(line, '#', len); /* the line is ours to change */
    }
    assert_false(lines_next(l, &line, &len, &complete)); /* the end stays the end */
    g.too_long = lines_too_long(l);
    g.truncated = lines_truncated(l);
    lines_close(l);
    return g;
}

static void expect(const char *path, size_t max_line, const char *want, bool truncated)
{
    struct got g = read_all(path, max_line, NULL, 0);
    assert_string_equal(g.text ? g.text : "", want);
    assert_int_equal(g.truncated, truncated);
    mem_free(g.text);
}

/* Compresses into a new buffer; one gzip member. */
static unsigned char *gzip(const char *text, size_t n, size_t *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (unsigned)n};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, n) + 64;
    unsigned char *packed = malloc(room);
    assert_non_null(packed);
    z.next_out = packed;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out = z.total_out;
    deflateEnd(&z);
    return packed;
}

static const char *write_gzip(const char *name, const char *text, size_t n)
{
    size_t packed_len;
    unsigned char *packed = gzip(text, n, &packed_len);
    const char *path = tmpdir_write(name, packed, packed_len);
    free(packed);
    return path;
}

TEST(test_small_files)
{
    static const struct {
        const char *text, *want;
    } rows[] = {{"", ""},       {"a", "a~"},      {"a\n", "a|"},         {"\n", "|"},
                {"\n\n", "||"}, {"a\nb", "a|b~"}, {"a\n\nb\n", "a||b|"}, {"a\r\n", "a\r|"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n = strlen(rows[i].text);
        expect(tmpdir_write("s.log", rows[i].text, n), 100, rows[i].want, false);
        expect(write_gzip("s.log", rows[i].text, n), 100, rows[i].want, false);
    }
    expect(tmpdir_write("s.log", "\x1f", 1), 100, "\x1f~", false); /* half a magic is a text */
}

TEST(test_line_with_nul)
{
    struct got g = read_all(tmpdir_write("n.log", "a\0b\nc\n", 6), 100, "a\0b\nc\n", 6);
    assert_int_equal(g.len, 6);
    assert_memory_equal(g.text, "a\0b|c|", 6);
    assert_true(g.offsets_ok);
    mem_free(g.text);
}

/* Lines of all lengths over several windows, so that each boundary is hit. */
static char *big_text(size_t *len, uint64_t *lines)
{
    size_t n = 3000000;
    char *text = malloc(n);
    assert_non_null(text);
    uint32_t x = 7;
    *len = 0;
    *lines = 0;
    while (*len + 6000 < n) {
        x = x * 1664525 + 1013904223;
        size_t width = x >> 20 & 1 ? x >> 24 : x >> 19 & 0x1fff;
        if (width > 5900)
            width = 5900;
        for (size_t i = 0; i < width; i++)
            text[(*len)++] = (char)('a' + (x >> (i % 24)) % 26);
        text[(*len)++] = '\n';
        (*lines)++;
    }
    return text;
}

static void check_big(const char *path, const char *text, size_t len, uint64_t lines)
{
    struct got g = read_all(path, 6000, text, len);
    assert_int_equal(g.lines, lines);
    assert_int_equal(g.len, len);
    assert_true(g.offsets_ok);
    assert_false(g.truncated);
    assert_int_equal(g.too_long, 0);
    for (size_t i = 0; i < len; i++)
        if (g.text[i] != (text[i] == '\n' ? '|' : text[i]))
            fail_msg("byte %zu differs", i);
    mem_free(g.text);
}

TEST(test_big_plain_and_gzip)
{
    size_t len;
    uint64_t lines;
    char *text = big_text(&len, &lines);
    check_big(tmpdir_write("b.log", text, len), text, len, lines);
    check_big(write_gzip("b.log.gz", text, len), text, len, lines);

    size_t half = len / 2, n1, n2, n3; /* three members, the middle one empty, cut inside a line */
    unsigned char *one = gzip(text, half, &n1), *none = gzip("", 0, &n2),
                  *two = gzip(text + half, len - half, &n3);
    unsigned char *all = malloc(n1 + n2 + n3);
    assert_non_null(all);
    memcpy(all, one, n1);
    memcpy(all + n1, none, n2);
    memcpy(all + n1 + n2, two, n3);
    check_big(tmpdir_write("m.log.gz", all, n1 + n2 + n3), text, len, lines);
    free(one);
    free(none);
    free(two);
    free(all);
    free(text);
}

/* If a file is cut anywhere, a beginning of the text is delivered, and the cut is reported. */
TEST(test_truncated_gzip)
{
    char text[3000];
    size_t len = 0, packed_len;
    for (int i = 0; len < sizeof text - 40; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "line %d is %d\n", i, i * i * 7919);
    unsigned char *packed = gzip(text, len, &packed_len);
    size_t longest = 0;
    for (size_t cut = 2; cut < packed_len; cut++) {
        struct got g = read_all(tmpdir_write("t.gz", packed, cut), 100, text, len);
        assert_true(g.truncated);
        assert_true(g.offsets_ok);
        assert_true(g.len >= longest && g.len <= len + 1);
        longest = g.len;
        mem_free(g.text);
    }
    assert_true(longest >= len); /* without its checksum the whole text is delivered */
    free(packed);
}

/* A flipped bit is reported, without a crash or an endless loop. Other bytes after the gzip data
 * are reported, too, and the text before them is right. */
TEST(test_damaged_gzip)
{
    char text[2000];
    size_t len = 0, packed_len;
    for (int i = 0; len < sizeof text - 40; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "line %d is %d\n", i, i * 7919);
    unsigned char *packed = gzip(text, len, &packed_len);
    for (size_t at = 10; at < packed_len; at++) {
        packed[at] ^= 0x10;
        struct got g = read_all(tmpdir_write("d.gz", packed, packed_len), 100, NULL, 0);
        packed[at] ^= 0x10;
        assert_true(g.truncated); /* at least the checksum is wrong */
        mem_free(g.text);
    }
    unsigned char *tail = malloc(packed_len + 5);
    assert_non_null(tail);
    memcpy(tail, packed, packed_len);
    memcpy(tail + packed_len, "junk!", 5);
    struct got g = read_all(tmpdir_write("j.gz", tail, packed_len + 5), 100, text, len);
    assert_int_equal(g.len, len);
    assert_true(g.truncated);
    mem_free(g.text);
    free(tail);
    free(packed);
}

TEST(test_too_long_lines_are_skipped)
{
    static const size_t limits[] = {1, 10, 300000, 1000000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        size_t max = limits[i], len = 0;
        char *text = malloc(5 * max + 20000000 / (i + 1) + 100);
        assert_non_null(text);
        size_t monster = 2 * max + 1000000; /* longer than any window */
        memset(text, 'f', max);             /* exactly fits */
        text[max] = '\n';
        len = max + 1;
        memset(text + len, 'x', max + 1); /* one byte too long */
        text[len + max + 1] = '\n';
        len += max + 2;
        text[len++] = 'b';
        text[len++] = '\n';
        memset(text + len, 'y', monster);
        text[len + monster] = '\n';
        len += monster + 1;
        text[len++] = 'c';
        text[len++] = '\n';
        struct got g = read_all(tmpdir_write("l.log", text, len), max, text, len);
        assert_int_equal(g.lines, 3);
        assert_int_equal(g.too_long, 2);
        assert_int_equal(g.len, max + 5);
        assert_memory_equal(g.text + max, "|b|c|", 5);
        assert_true(g.offsets_ok);
        mem_free(g.text);
        memset(text, 'z', max + 1); /* too long, and the file ends in it */
        g = read_all(tmpdir_write("l.log", text, max + 1), max, text, max + 1);
        assert_int_equal(g.lines, 0);
        assert_int_equal(g.too_long, 1);
        mem_free(g.text);
        free(text);
    }
}

TEST(test_open_errors)
{
    struct err e;
    struct lines *l;
    assert_int_equal(lines_open(&l, tmpdir_path("absent"), 100, &e), GPUFL_E_NOENT);
    assert_null(l);
    assert_non_null(strstr(e.text, "absent"));
    assert_int_equal(lines_open(&l, tmpdir, 100, &e), GPUFL_E_IO); /* a directory */
    lines_close(NULL);
}

/* Each allocation fails once: open fails, or a line is counted as too long, or the stream counts
 * as truncated; the delivered lines are right. */
TEST(test_every_allocation_fails)
{
    size_t len = 0;
    char *text = malloc(2000000);
    assert_non_null(text);
    memset(text, 'w', 1500000); /* makes the window grow three times */
    text[1500000] = '\n';
    len = 1500001;
    text[len++] = 'e';
    text[len++] = '\n';
    for (int packed = 0; packed < 2; packed++) {
        const char *path =
            packed ? write_gzip("a.gz", text, len) : tmpdir_write("a.log", text, len);
        bool failed = true;
        int64_t at = 0;
        for (; failed; at++) {
            struct err e;
            struct lines *l;
            char *line;
            size_t n;
            bool complete;
            mem_fail_at(at);
            int rc = lines_open(&l, path, 2000000, &e);
            if (rc) {
                assert_int_equal(rc, GPUFL_E_NOMEM);
                assert_null(l);
                continue;
            }
            uint64_t lines = 0;
            while (lines_next(l, &line, &n, &complete)) {
                assert_true(n == 1500000 || n == 1 || !complete);
                lines++;
            }
            failed = mem_count() > at;
            assert_true(lines + lines_too_long(l) == 2 || lines_truncated(l));
            assert_true(failed || lines == 2);
            lines_close(l);
        }
        assert_true(at > 4);
    }
    mem_fail_at(-1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_files),
        cmocka_unit_test(test_line_with_nul),
        cmocka_unit_test(test_big_plain_and_gzip),
        cmocka_unit_test(test_truncated_gzip),
        cmocka_unit_test(test_damaged_gzip),
        cmocka_unit_test(test_too_long_lines_are_skipped),
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
