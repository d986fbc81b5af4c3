/* test_ungz.c - tests gzip files, whole, cut and damaged: the two libraries read the same bytes, a
 * beginning of the bytes that were packed. */
#include "base/packed/ungz.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { TEXT = 300000, PACKED = 400000, OUT = 2 * TEXT + 1 };

struct got {
    size_t len;
    bool damaged;
    char text[OUT];
};

static void read_file(int fd, enum ungz_by by, size_t room, struct got *g)
{
    static char piece[TEXT];
    struct ungz *u;
    ssize_t got;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(ungz_open(&u, by), 0);
    g->len = 0;
    while ((got = ungz_read(u, fd, piece, room)) > 0) {
        assert_true((size_t)got <= room && g->len + (size_t)got <= OUT);
        memcpy(g->text + g->len, piece, (size_t)got);
        g->len += (size_t)got;
    }
    g->damaged = got < 0;
    assert_int_equal(ungz_read(u, fd, piece, room), got); /* the end stays the end */
    ungz_close(u);
}

static size_t pack(const char *text, size_t n, int level, unsigned char *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (unsigned)n};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = out;
    z.avail_out = PACKED;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = z.total_out;
    deflateEnd(&z);
    return len;
}

static uint32_t next(uint32_t *x)
{
    *x = *x * 1664525 + 1013904223;
    return *x >> 8;
}

/* Makes lines like those of a log: much of the text repeats. */
static void fill_text(char *text)
{
    uint32_t x = 3;
    for (size_t at = 0; at < TEXT;) {
        char line[100];
        int n = snprintf(line, sizeof line, "{\"type\":\"kernel\",\"start\":%u,\"x\":[1,2,%u]}\n",
                         next(&x), next(&x) % 9);
        for (int i = 0; i < n && at < TEXT; i++)
            text[at++] = line[i];
    }
}

static void put_file(int fd, const unsigned char *data, size_t n)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, data, n, 0), (ssize_t)n);
}

/* Reads the file with both libraries. text: the packed text, of which they read a beginning. */
static void expect_same(int fd, size_t room, const char *text, size_t text_len, bool whole)
{
    static struct got best, slow;
    read_file(fd, UNGZ_BEST, room, &best);
    read_file(fd, UNGZ_ZLIB, room, &slow);
    assert_int_equal(best.damaged, slow.damaged);
    assert_int_equal(best.damaged, !whole);
    assert_true(best.len >= slow.len); /* ISA-L may read to the damage itself */
    assert_memory_equal(best.text, slow.text, slow.len);
    if (text)
        assert_memory_equal(best.text, text, best.len < text_len ? best.len : text_len);
    if (whole)
        assert_int_equal(best.len, text_len);
}

static char text[TEXT];
static unsigned char packed[2 * PACKED];

TEST(test_whole_files_in_rooms_of_any_size)
{
    static const size_t rooms[] = {1, 7, 4096, 65535, TEXT};
    int fd = memfd_create("gz", MFD_CLOEXEC);
    fill_text(text);
    for (int level = 0; level <= 9; level += 3)
        for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
            size_t n = i == 0 ? 3000 : TEXT; /* reading single bytes is slow */
            put_file(fd, packed, pack(text, n, level, packed));
            expect_same(fd, rooms[i], text, n, true);
        }
    put_file(fd, packed, pack(text, 0, 6, packed));
    expect_same(fd, 100, text, 0, true);
    close(fd);
}

/* The second member begins anywhere near the end of the bytes that are read at once. */
TEST(test_members_follow_each_other)
{
    static char twice[TEXT];
    int fd = memfd_create("gz", MFD_CLOEXEC);
    fill_text(text);
    for (size_t first = 65440; first < 65640; first += 3) { /* stored, so about as long */
        size_t a = pack(text, first - 40, 0, packed), b = pack(text, 2000, 6, packed + a);
        memcpy(twice, text, first - 40);
        memcpy(twice + first - 40, text, 2000);
        put_file(fd, packed, a + b);
        expect_same(fd, 50000, twice, first - 40 + 2000, true);
        packed[a + b] = 0; /* a zero after the last one */
        put_file(fd, packed, a + b + 1);
        expect_same(fd, 50000, twice, first - 40 + 2000, false);
    }
    close(fd);
}

/* The file is cut, or a bit after the header is wrong: of a cut file almost all bytes before the
 * cut are delivered. */
TEST(test_damage_costs_what_follows_it_alone)
{
    static struct got whole;
    int fd = memfd_create("gz", MFD_CLOEXEC);
    uint32_t x = 11;
    fill_text(text);
    for (int round = 0; round < 150; round++) {
        size_t room = round % 3 ? TEXT : 1 + next(&x) % 5000;
        size_t n = pack(text, TEXT, 1 + round % 9, packed), at = 10 + next(&x) % (n - 10);
        if (round % 2) {
            packed[at] ^= 1u << next(&x) % 8;
            put_file(fd, packed, n);
            expect_same(fd, room, NULL, 0, false);
        } else {
            put_file(fd, packed, at);
            expect_same(fd, room, text, TEXT, false);
            read_file(fd, UNGZ_BEST, room, &whole);
            double share = (double)at / (double)n; /* all of the text packs equally well */
            assert_true((double)whole.len > TEXT * share - 70000);
        }
    }
    close(fd);
}

TEST(test_a_file_that_cannot_be_read)
{
    struct ungz *u;
    char c;
    assert_int_equal(ungz_open(&u, UNGZ_BEST), 0);
    assert_int_equal(ungz_read(u, -1, &c, 1), -1);
    ungz_close(u);
    ungz_close(NULL);
    assert_string_equal(ungz_library(), ungz_is_fast() ? "ISA-L" : "zlib");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_files_in_rooms_of_any_size),
        cmocka_unit_test(test_members_follow_each_other),
        cmocka_unit_test(test_damage_costs_what_follows_it_alone),
        cmocka_unit_test(test_a_file_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
