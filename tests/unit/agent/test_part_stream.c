/* Parts of logs as bodies: ranges, plain and packed, cut ends, files that change while they are
 * read. */
#include "agent/part_head.h"
#include "agent/part_stream.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

enum { TEXT_MAX = 4 << 20 };

static char text[TEXT_MAX], got[TEXT_MAX];
static size_t text_len, got_len;
static bool pack = true; /* bodies are to be gzip */

/* Lines of different lengths, some longer than the stream's buffer. */
static void make_text(size_t bytes)
{
    uint32_t r = 1;
    text_len = 0;
    while (text_len < bytes) {
        r = r * 1664525u + 1013904223u;
        size_t n = r >> 30 ? (r >> 8) % 90 : (r >> 8) % 300000;
        for (size_t i = 0; i < n && text_len + 2 < bytes; i++)
            text[text_len++] = (char)('a' + (r >> (i % 24)) % 26);
        text[text_len++] = '\n';
    }
}

static struct file_id put_file(const char *path, bool packed, size_t len)
{
    gzFile gz = packed ? gzopen(path, "wb") : NULL;
    FILE *f = packed ? NULL : fopen(path, "w");
    assert_true(packed ? gzwrite(gz, text, (unsigned)len) == (int)len
                       : fwrite(text, 1, len, f) == len);
    assert_int_equal(packed ? gzclose(gz) : fclose(f), 0);
    int fd = open(path, O_RDONLY);
    struct file_id id = file_id(fd);
    close(fd);
    return id;
}

/* Reads the body in pieces of an odd size into got, and unpacks it if it is packed. */
static void unpack(struct part_stream *s)
{
    static unsigned char body[2 * TEXT_MAX];
    size_t n = 0;
    for (int64_t more; (more = part_stream_read(s, (char *)body + n, 7001)) != 0; n += (size_t)more)
        assert_in_range(more, 1, 7001);
    assert_true(part_stream_size(s) < 0 || part_stream_size(s) == (int64_t)n);
    if (part_stream_pack(s) != PART_GZIP) {
        assert_in_range(n, 0, sizeof got);
        memcpy(got, body, got_len = n);
        return;
    }
    z_stream z = {.next_in = body,
                  .avail_in = (unsigned)n,
                  .next_out = (unsigned char *)got,
                  .avail_out = sizeof got};
    assert_int_equal(inflateInit2(&z, 31), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    got_len = z.total_out;
    inflateEnd(&z);
}

static struct part_stream *open_stream(const char *path, struct file_id id, int64_t skip,
                                       int64_t most)
{
    struct part_stream *s;
    struct err e = {0};
    assert_int_equal(
        part_stream_open(&s, path, id,
                         &(struct part_range){.skip = skip, .most = most, .pack = pack}, &e),
        0);
    return s;
}

TEST(test_ranges_make_up_the_whole)
{
    make_text(1500000);
    for (int packed = 0; packed < 2; packed++) {
        const char *path = tmpdir_path(packed ? "a.1.log.gz" : "a.log");
        struct file_id id = put_file(path, packed, text_len);
        int64_t at = 0;
        unsigned bodies = 0;
        for (;; bodies++) {
            struct part_stream *s = open_stream(path, id, at, 100000);
            assert_false(part_stream_whole(s));
            if (part_stream_empty(s)) {
                part_stream_close(s);
                break;
            }
            unpack(s);
            assert_true(got_len > 0 && got[got_len - 1] == '\n');
            assert_int_equal(part_stream_plain(s), got_len);
            assert_memory_equal(got, text + at, got_len);
            at += (int64_t)got_len;
            assert_int_equal(part_stream_more(s), at < (int64_t)text_len);
            part_stream_close(s);
        }
        assert_int_equal(at, text_len);
        assert_in_range(bodies, 4, 15);
    }
}

static void test_ranges_that_need_no_packing(void **state)
{
    pack = false;
    test_ranges_make_up_the_whole(state);
    make_text(300000);
    const char *path = tmpdir_path("p.log");
    struct part_stream *s = open_stream(path, put_file(path, false, text_len), 0, 0);
    assert_int_not_equal(part_stream_pack(s), PART_GZIP);
    unpack(s);
    assert_int_equal(got_len, text_len);
    assert_memory_equal(got, text, text_len);
    part_stream_close(s);
    path = tmpdir_path("p.1.log.gz");
    s = open_stream(path, put_file(path, true, text_len), 0, 0);
    assert_int_equal(part_stream_pack(s), PART_GZIP); /* whole, unchanged */
    part_stream_close(s);
    pack = true;
}

TEST(test_a_packed_part_goes_as_it_stands)
{
    make_text(300000);
    const char *path = tmpdir_path("b.1.log.gz");
    struct part_stream *s = open_stream(path, put_file(path, true, text_len), 0, 0);
    assert_true(part_stream_whole(s));
    assert_int_equal(part_stream_size(s), file_size(path));
    unpack(s);
    assert_int_equal(got_len, text_len);
    assert_memory_equal(got, text, text_len);
    assert_int_equal(part_stream_consumed(s), file_size(path));
    part_stream_close(s);
}

/* Not every server accepts zstd, so such a part is unpacked while it is sent. Its ranges are sent
 * like those of any other part. */
TEST(test_a_part_that_is_zstd)
{
    static char packed[2 * TEXT_MAX];
    make_text(1500000);
    size_t n = ZSTD_compress(packed, sizeof packed, text, text_len, 1);
    assert_false(ZSTD_isError(n));
    const char *path = tmpdir_write("z.1.log.zst", packed, n);
    int fd = open(path, O_RDONLY);
    struct file_id id = file_id(fd);
    close(fd);
    for (int packs = 0; packs < 2; packs++) {
        pack = packs;
        struct part_stream *s = open_stream(path, id, 0, 0);
        assert_false(part_stream_whole(s));
        assert_int_equal((part_stream_pack(s) == PART_GZIP), packs);
        unpack(s);
        assert_int_equal(got_len, text_len);
        assert_memory_equal(got, text, text_len);
        assert_int_equal(part_stream_plain(s), text_len);
        assert_int_equal(part_stream_consumed(s), n);
        part_stream_close(s);
        s = open_stream(path, id, 700000, 100000);
        unpack(s);
        assert_true(got_len >= 100000 && got_len < text_len - 700000 && part_stream_more(s));
        assert_memory_equal(got, text + 700000, got_len);
        part_stream_close(s);
    }
    struct part_stream *s; /* cut off: what comes before the cut is sent, then an error */
    path = tmpdir_write("cut.1.log.zst", packed, n / 2);
    fd = open(path, O_RDONLY);
    id = file_id(fd);
    close(fd);
    s = open_stream(path, id, 0, 0);
    int64_t all = 0, more;
    while ((more = part_stream_read(s, got, sizeof got)) > 0)
        all += more;
    assert_int_equal(more, GPUFL_E_CORRUPT);
    assert_true(all > 0);
    assert_non_null(strstr(part_stream_error(s)->text, "breaks off"));
    part_stream_close(s);
}

/* Reads the body of a range as zstd, and unpacks it into got. */
static void unpack_zstd(struct part_stream *s)
{
    static char body[2 * TEXT_MAX];
    size_t n = 0;
    for (int64_t more; (more = part_stream_read(s, body + n, 7001)) != 0; n += (size_t)more)
        assert_in_range(more, 1, 7001);
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {body, n, 0};
    ZSTD_outBuffer out = {got, sizeof got, 0};
    assert_int_equal(ZSTD_decompressStream(z, &out, &in), 0); /* the frame has ended */
    assert_int_equal(in.pos, n);
    got_len = out.pos;
    ZSTD_freeDStream(z);
}

TEST(test_a_body_that_is_zstd)
{
    make_text(1500000);
    for (int packed = 0; packed < 2; packed++) {
        const char *path = tmpdir_path(packed ? "zs.1.log.gz" : "zs.log");
        struct file_id id = put_file(path, packed, text_len);
        int64_t at = 0;
        for (bool more = true; more; at += (int64_t)got_len) {
            struct part_stream *s;
            const struct part_range range = {.skip = at, .most = 400000, .pack = PART_ZSTD};
            assert_int_equal(part_stream_open(&s, path, id, &range, NULL), 0);
            assert_string_equal(part_stream_encoding(s), "zstd");
            unpack_zstd(s);
            assert_memory_equal(got, text + at, got_len);
            more = part_stream_more(s);
            part_stream_close(s);
        }
        assert_int_equal(at, text_len);
    }
}

/* Lines that must not be sent become empty lines of the same length. What follows keeps its place,
 * wherever bodies begin. */
TEST(test_lines_that_go_empty)
{
    enum { BASE = 7000 };
    make_text(1500000);
    struct part_gap gaps[3];
    size_t n = 0;
    for (int64_t at = 0; n < 3; at += 400000) { /* one line after each of these places */
        const char *from = (char *)memchr(text + at, '\n', text_len - (size_t)at) + 1;
        const char *to = (char *)memchr(from, '\n', text_len - (size_t)(from - text)) + 1;
        gaps[n++] = (struct part_gap){BASE + (from - text), BASE + (to - text)};
    }
    for (int packed = 0; packed < 2; packed++) {
        const char *path = tmpdir_path(packed ? "bl.1.log.gz" : "bl.log");
        struct file_id id = put_file(path, packed, text_len);
        const int64_t skips[] = {0, gaps[0].from - BASE, gaps[1].to - BASE};
        for (size_t i = 0; i < 3; i++) {
            struct part_stream *s;
            const struct part_range range = {
                .skip = skips[i], .pack = PART_GZIP, .blank = gaps, .blank_count = 3, .base = BASE};
            assert_int_equal(part_stream_open(&s, path, id, &range, NULL), 0);
            assert_false(part_stream_whole(s));
            unpack(s);
            part_stream_close(s);
            assert_int_equal(got_len, text_len - (size_t)skips[i]);
            for (size_t k = 0; k < got_len; k++) {
                int64_t at = BASE + skips[i] + (int64_t)k;
                const struct part_gap *in = NULL;
                for (size_t g = 0; g < 3; g++)
                    in = at >= gaps[g].from && at < gaps[g].to ? &gaps[g] : in;
                char want = in ? part_blank(in, at) : text[skips[i] + (int64_t)k];
                if (got[k] != want)
                    fail_msg("byte %zu: %d, not %d", k, got[k], want);
                if (in && at + 1 == in->to)
                    assert_int_equal(got[k], '\n');
            }
        }
    }
}

TEST(test_a_torn_line_is_left)
{
    make_text(400000);
    size_t whole = text_len;
    memset(text + text_len, 'x', 200000); /* longer than a buffer */
    text_len += 200000;
    const char *path = tmpdir_path("c.log");
    struct file_id id = put_file(path, false, text_len);
    struct part_stream *s = open_stream(path, id, 0, 0);
    unpack(s);
    assert_int_equal(got_len, whole);
    part_stream_close(s);
    s = open_stream(path, id, (int64_t)whole, 0);
    assert_true(part_stream_empty(s));
    part_stream_close(s);
}

TEST(test_nothing_to_send)
{
    const char *path = tmpdir_path("d.log");
    text_len = 0;
    struct part_stream *s = open_stream(path, put_file(path, false, 0), 0, 0);
    assert_true(part_stream_empty(s));
    part_stream_close(s);
    make_text(1000);
    path = tmpdir_path("d.1.log.gz");
    s = open_stream(path, put_file(path, true, text_len), (int64_t)text_len + 5, 0);
    assert_true(part_stream_empty(s));
    part_stream_close(s);
}

TEST(test_another_file_under_the_name)
{
    struct part_stream *s;
    struct err e = {0};
    make_text(1000);
    const char *path = tmpdir_path("e.log");
    struct file_id id = put_file(path, false, text_len);
    assert_int_equal(rename(path, tmpdir_path("e.1.log")), 0);
    assert_int_equal(part_stream_open(&s, path, id, &(struct part_range){.pack = pack}, &e),
                     GPUFL_E_NOENT);
    put_file(path, false, text_len);
    assert_int_equal(part_stream_open(&s, path, id, &(struct part_range){.pack = pack}, &e),
                     GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "another name"));
    part_stream_close(open_stream(tmpdir_path("e.1.log"), id, 0, 0));
}

TEST(test_damage_is_an_error_of_ours)
{
    static char sink[1 << 16];
    struct err e = {0};
    struct part_stream *s;
    make_text(900000);
    const char *path = tmpdir_path("f.1.log.gz");
    struct file_id id = put_file(path, true, text_len);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "damaged, damaged", 16, file_size(path) / 2), 16);
    close(fd);
    int64_t n = part_stream_open(&s, path, id, &(struct part_range){.skip = 10, .pack = pack}, &e);
    while (!n && (n = part_stream_read(s, sink, sizeof sink)) > 0)
        n = 0;
    assert_int_equal(n, GPUFL_E_CORRUPT);
    if (s) {
        assert_int_equal(part_stream_error(s)->code, GPUFL_E_CORRUPT);
        part_stream_close(s);
    }
}

/* A packed part that has other bytes now, or none: its rows are lost, and the error says so. */
TEST(test_a_file_that_was_overwritten)
{
    static const char *const names[] = {"o.1.log.gz", "o.2.log.zst", "o.3.log.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct part_stream *s = NULL;
        struct err e = {0};
        make_text(3000);
        const char *path = tmpdir_path(names[i]);
        struct file_id id = put_file(path, false, i == 2 ? 0 : text_len);
        assert_int_equal(part_stream_open(&s, path, id, &(struct part_range){.pack = pack}, &e),
                         GPUFL_E_CORRUPT);
        assert_non_null(strstr(e.text, "is damaged: it is no compressed file"));
        assert_null(s);
    }
}

/* A file that was cut off, such as an unfinished copy: its content is sent, and is not all. */
TEST(test_a_file_that_was_cut_off)
{
    static char body[2 * TEXT_MAX];
    make_text(1500000);
    const char *path = tmpdir_path("cut.1.log.gz");
    struct file_id id = put_file(path, true, text_len);
    assert_int_equal(truncate(path, file_size(path) / 2), 0);
    int64_t skip = (char *)memchr(text, '\n', text_len) + 1 - text, n, plain = 0;
    pack = false;
    for (int again = 0; again < 2; again++) { /* the second time from where it ends */
        struct part_stream *s = NULL;
        struct err e = {0};
        int rc = part_stream_open(&s, path, id,
                                  &(struct part_range){.skip = skip + plain, .pack = pack}, &e);
        assert_int_equal(rc, again ? GPUFL_E_CORRUPT : 0);
        if (rc) {
            assert_non_null(strstr(e.text, "breaks off"));
            break;
        }
        while ((n = part_stream_read(s, body + plain, 7001)) > 0)
            plain += n;
        assert_int_equal(n, GPUFL_E_CORRUPT);
        assert_non_null(strstr(part_stream_error(s)->text, "breaks off"));
        assert_in_range(plain, 1000, (int64_t)text_len - skip - 1);
        assert_memory_equal(body, text + skip, (size_t)plain);
        part_stream_close(s);
    }
    pack = true;
}

TEST(test_names)
{
    static const struct {
        const char *path, *channel;
        int64_t number;
    } good[] = {{"a/device.log", "device", 0},
                {"sass.12.log.gz", "sass", 12},
                {"x/app.v2.scope.3.log", "scope", 3},
                {"system.log.gz", "system", 0},
                {"device.4.log.zst", "device", 4}};
    char channel[PART_CHANNEL_MAX];
    int64_t number;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(part_name_read(good[i].path, channel, &number));
        assert_string_equal(channel, good[i].channel);
        assert_int_equal(number, good[i].number);
    }
    assert_false(part_name_read("device.txt", channel, &number));
    assert_false(part_name_read(".log", channel, &number));
    assert_false(part_name_read("a-channel-whose-name-is-too-long.log", channel, &number));
}

TEST(test_every_allocation_fails_once)
{
    make_text(10000);
    const char *path = tmpdir_path("g.log");
    struct file_id id = put_file(path, false, text_len);
    for (int64_t n = 0;; n++) {
        struct part_stream *s;
        struct err e = {0};
        mem_fail_at(n);
        int rc = part_stream_open(&s, path, id, &(struct part_range){.pack = pack}, &e);
        int64_t made = mem_count();
        mem_fail_at(-1);
        part_stream_close(s);
        if (made <= n) {
            assert_int_equal(rc, 0);
            return;
        }
        assert_int_equal(rc, GPUFL_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_make_up_the_whole),
        cmocka_unit_test(test_ranges_that_need_no_packing),
        cmocka_unit_test(test_a_packed_part_goes_as_it_stands),
        cmocka_unit_test(test_a_part_that_is_zstd),
        cmocka_unit_test(test_a_body_that_is_zstd),
        cmocka_unit_test(test_lines_that_go_empty),
        cmocka_unit_test(test_a_torn_line_is_left),
        cmocka_unit_test(test_nothing_to_send),
        cmocka_unit_test(test_another_file_under_the_name),
        cmocka_unit_test(test_damage_is_an_error_of_ours),
        cmocka_unit_test(test_a_file_that_was_overwritten),
        cmocka_unit_test(test_a_file_that_was_cut_off),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
