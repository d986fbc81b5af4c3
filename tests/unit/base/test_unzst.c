/* test_unzst.c - tests files packed with zstd: whole, in several frames, cut off, damaged; as
 * lines. */
#include "base/packed/unzst.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/packed/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "tests/unit/support/tmpdir.h"

static char *make_text(size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    unsigned seed = 3;
    for (size_t i = 0; i < n; i++) /* packs, but not to almost nothing */
        text[i] = i % 80 == 79 ? '\n' : (char)('a' + (rand_r(&seed) % 100 ? i % 7 : i % 26));
    text[n] = '\0';
    return text;
}

/* Packs the text in frames of that many bytes; the caller frees the result. */
static char *pack(const char *text, size_t n, size_t frame, size_t *len)
{
    size_t frames = n ? (n + frame - 1) / frame : 1, room = frames * ZSTD_compressBound(frame);
    char *packed = malloc(room);
    assert_non_null(packed);
    *len = 0;
    for (size_t i = 0; i < frames; i++) {
        size_t part = n - i * frame < frame ? n - i * frame : frame;
        size_t made = ZSTD_compress(packed + *len, room - *len, text + i * frame, part, 3);
        assert_false(ZSTD_isError(made));
        *len += made;
    }
    return packed;
}

/* Reads all in pieces; returns the last call's result. got: how many bytes were read. */
static ssize_t read_pieces(const char *path, size_t piece, char *out, size_t room, size_t *got)
{
    struct unzst *u;
    struct err e;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;
    assert_true(fd >= 0);
    assert_int_equal(unzst_open(&u, path, &e), 0);
    for (*got = 0; n > 0; *got += n > 0 ? (size_t)n : 0) {
        size_t want = room - *got < piece ? room - *got : piece;
        n = want ? unzst_read(u, fd, out + *got, want) : 0;
        assert_true(n <= (ssize_t)want);
    }
    unzst_close(u);
    close(fd);
    return n;
}

TEST(whole_files)
{
    static const size_t sizes[] = {0, 1, 5000, 3 << 20}, pieces[] = {1 << 20, 4093};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            size_t n = sizes[i], len, got;
            char *text = make_text(n), *back = malloc(n + 10);
            char *packed = pack(text, n, k / 2 ? 1 << 18 : (4 << 20), &len);
            const char *path = tmpdir_write("whole.zst", packed, len);
            assert_true(unzst_is((const unsigned char *)packed));
            assert_int_equal(read_pieces(path, pieces[k % 2], back, n + 10, &got), 0);
            assert_int_equal(got, n);
            assert_memory_equal(back, text, n);
            free(text);
            free(back);
            free(packed);
        }
}

/* The text before the cut is right, and a cut inside a frame is an error. */
TEST(files_that_break_off)
{
    enum { N = 600000, FRAME = 200000 };
    size_t len, got;
    char *text = make_text(N), *back = malloc(N + 10), *packed = pack(text, N, FRAME, &len);
    for (size_t cut = 5; cut < len; cut += 1 + len / 60) {
        const char *path = tmpdir_write("cut.zst", packed, cut);
        assert_int_equal(read_pieces(path, 1 << 16, back, N + 10, &got), -1);
        assert_true(got < N);
        assert_memory_equal(back, text, got);
    }
    free(text);
    free(back);
    free(packed);
}

TEST(damaged_files)
{
    enum { N = 50000 };
    size_t len, got;
    char *text = make_text(N), *back = malloc(N + 10), *packed = pack(text, N, N, &len);
    unsigned seed = 9;
    for (int i = 0; i < 300; i++) {
        size_t at = (size_t)rand_r(&seed) % len;
        char was = packed[at];
        packed[at] ^= (char)(1 + rand_r(&seed) % 255);
        (void)read_pieces(tmpdir_write("damaged.zst", packed, len), 999, back, N + 10, &got);
        packed[at] = was;
    }
    free(text);
    free(back);
    free(packed);
}

static size_t count_lines(const char *path, char *out, bool *cut)
{
    struct lines *l;
    char *line;
    size_t len, n = 0, at = 0;
    bool complete;
    assert_int_equal(lines_open(&l, path, 1 << 20, NULL), 0);
    for (; lines_next(l, &line, &len, &complete); n++) {
        memcpy(out + at, line, len);
        at += len;
        out[at] = '\n';
        at += complete;
    }
    *cut = lines_truncated(l);
    lines_close(l);
    return n;
}

TEST(as_lines)
{
    enum { N = 800000 };
    size_t len;
    bool cut;
    char *text = make_text(N), *back = malloc(N + 10), *packed = pack(text, N, 1 << 16, &len);
    assert_int_equal(count_lines(tmpdir_write("device.1.log.zst", packed, len), back, &cut),
                     N / 80);
    assert_false(cut);
    assert_memory_equal(back, text, N);
    assert_true(count_lines(tmpdir_write("device.1.log.zst", packed, len / 2), back, &cut) > 4000);
    assert_true(cut);
    free(text);
    free(back);
    free(packed);
}

TEST(no_memory)
{
    struct unzst *u;
    struct err e;
    mem_fail_at(0);
    assert_int_equal(unzst_open(&u, "x.zst", &e), GPUFL_E_NOMEM);
    mem_fail_at(-1);
    assert_null(u);
    assert_non_null(strstr(e.text, "x.zst"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files),   cmocka_unit_test(files_that_break_off),
        cmocka_unit_test(damaged_files), cmocka_unit_test(as_lines),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
