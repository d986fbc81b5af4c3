/* The limits: a session never gets larger than allowed, and room is kept for its last records. */
#include "capture/log/spool.h"
#include "tests/test.h"

#include "base/file/file.h"
#include "tests/unit/support/parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct log_dir folder; /* the test's directory */

static int setup(void **state)
{
    *state = parts_tmpdir();
    return log_dir_open(&folder, *state);
}

static int teardown(void **state)
{
    log_dir_close(&folder);
    parts_rmdir(*state);
    return 0;
}

static void make_file(const char *dir, const char *name, int64_t size)
{
    char path[PATH_MAX];
    path_join(path, sizeof path, dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), size), 0);
    fclose(f);
}

static void remove_one(const char *dir, const char *name)
{
    char path[PATH_MAX];
    path_join(path, sizeof path, dir, name);
    assert_int_equal(unlink(path), 0);
}

/* Adds n bytes, if they are admitted; returns whether they were. */
static bool put(struct spool *s, enum spool_class k, int64_t n)
{
    bool may = spool_admit(s, k, n);
    if (may)
        spool_add(s, k, n);
    return may;
}

TEST(test_no_limits)
{
    struct spool s;
    assert_int_equal(spool_init(&s, &folder, 0, 0), 0);
    assert_true(put(&s, SPOOL_ROWS, 1ll << 50));
    assert_int_equal(s.stop, WRITER_RUNS);
    assert_string_equal(s.text, "");
    spool_fini(&s);
}

static void test_limit_keeps_room(void **state)
{
    enum { MAX = 4 << 20, STEP = 1000 };
    struct spool s;
    int64_t total = 0;
    make_file(*state, "device.1.log", 1 << 20); /* existing files count */
    assert_int_equal(spool_init(&s, &folder, MAX, 0), 0);
    total = 1 << 20;
    for (; put(&s, SPOOL_ROWS, STEP); total += STEP)
        make_file(*state, "device.log", total - (1 << 20) + STEP);
    assert_int_equal(s.stop, WRITER_SPOOL_LIMIT);
    assert_non_null(strstr(s.text, "log_max_spool_bytes"));
    assert_non_null(strstr(s.text, "4 MiB"));
    assert_true(total > MAX - SPOOL_CLOSING_BYTES - STEP);

    int64_t often = 0;
    for (; put(&s, SPOOL_CLOSING, STEP); often += STEP)
        ;
    assert_in_range(often, SPOOL_CLOSING_BYTES / 2 - STEP, SPOOL_CLOSING_BYTES / 2);
    int64_t last = often;
    for (; put(&s, SPOOL_LAST, STEP); last += STEP)
        ;
    assert_in_range(last, SPOOL_CLOSING_BYTES - STEP, SPOOL_CLOSING_BYTES);
    assert_false(put(&s, SPOOL_ROWS, 1));
    assert_true(total + last <= MAX);
    assert_int_equal(s.bytes, total + last);
    spool_fini(&s);
}

static void test_small_limit(void **state)
{
    struct spool s;
    assert_int_equal(spool_init(&s, &folder, 4000, 0), 0);
    assert_true(put(&s, SPOOL_ROWS, 3000));
    make_file(*state, "device.log", 3000);
    assert_false(put(&s, SPOOL_ROWS, 1));
    assert_true(put(&s, SPOOL_LAST, 1000));
    assert_false(put(&s, SPOOL_LAST, 1));
    assert_non_null(strstr(s.text, "limit of 4000 bytes;"));
    spool_fini(&s);
}

TEST(test_sizes_in_sentences)
{
    static const struct {
        int64_t limit;
        const char *text;
    } cases[] = {{1, " 1 bytes;"},        {1000, " 1000 bytes;"},   {1024, " 1 KiB;"},
                 {65536, " 64 KiB;"},     {100000, " 97 KiB;"},     {1 << 20, " 1 MiB;"},
                 {3 << 19, " 1536 KiB;"}, {100 << 20, " 100 MiB;"}, {5ll << 30, " 5120 MiB;"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spool s;
        assert_int_equal(spool_init(&s, &folder, cases[i].limit, 0), 0);
        assert_false(put(&s, SPOOL_ROWS, 6ll << 30));
        assert_non_null(strstr(s.text, cases[i].text));
        spool_fini(&s);
    }
}

/* An agent that sends finished parts and removes them makes room again. */
static void test_removed_parts_make_room(void **state)
{
    struct spool s;
    make_file(*state, "device.1.log", 2000);
    assert_int_equal(spool_init(&s, &folder, 4000, 0), 0);
    assert_true(put(&s, SPOOL_ROWS, 1000));
    make_file(*state, "device.log", 1000);
    remove_one(*state, "device.1.log");
    assert_true(put(&s, SPOOL_ROWS, 1000));
    assert_int_equal(s.bytes, 2000);
    make_file(*state, "device.log", 2000);
    assert_false(put(&s, SPOOL_ROWS, 1500));
    assert_int_equal(s.stop, WRITER_SPOOL_LIMIT);
    remove_one(*state, "device.log");
    assert_false(put(&s, SPOOL_ROWS, 1)); /* a stop is final */
    spool_fini(&s);
}

static void test_a_part_counts_once(void **state)
{
    struct spool s;
    char plain[PATH_MAX], packed[PATH_MAX];
    make_file(*state, "device.1.log", 5000);
    make_file(*state, "device.1.log.gz", 700);
    make_file(*state, "device.2.log.gz", 30);
    make_file(*state, "device.3.log.gz.part", 9);
    assert_int_equal(spool_init(&s, &folder, 1 << 20, 0), 0);
    assert_int_equal(s.bytes, 5030);
    path_join(plain, sizeof plain, *state, "device.1.log");
    path_join(packed, sizeof packed, *state, "device.1.log.gz");
    spool_replaced(&s, path_base(plain), path_base(packed));
    assert_int_equal(s.bytes, 730);
    assert_false(file_exists(plain));
    spool_replaced(&s, path_base(plain), path_base(packed)); /* already removed: nothing changes */
    assert_int_equal(s.bytes, 730);
    spool_fini(&s);
}

TEST(test_disk_reserve)
{
    struct spool s;
    assert_int_equal(spool_init(&s, &folder, 0, INT64_MAX), 0);
    assert_int_equal(s.stop, WRITER_DISK_RESERVE);
    assert_non_null(strstr(s.text, "log_min_free_bytes"));
    assert_false(put(&s, SPOOL_ROWS, 1));
    assert_true(put(&s, SPOOL_LAST, 1000));
    spool_fini(&s);
    assert_int_equal(spool_init(&s, &folder, 0, 1), 0);
    assert_int_equal(s.stop, WRITER_RUNS);
    assert_false(spool_check(&s)); /* checked once a second */
    s.checked -= 2000000000;
    s.min_free = INT64_MAX;
    assert_true(spool_check(&s));
    assert_int_equal(s.stop, WRITER_DISK_RESERVE);
    spool_fini(&s);
}

TEST(test_first_sentence_counts)
{
    struct spool s;
    assert_int_equal(spool_init(&s, &folder, 0, 0), 0);
    spool_end(&s, WRITER_WRITE_ERROR, "first %d", 1);
    spool_end(&s, WRITER_SPOOL_LIMIT, "second");
    assert_int_equal(s.stop, WRITER_WRITE_ERROR);
    assert_string_equal(s.text, "first 1");
    spool_fini(&s);
}

static void test_directory_gone(void **state)
{
    struct spool s;
    struct log_dir gone;
    char path[PATH_MAX];
    path_join(path, sizeof path, *state, "gone");
    assert_int_equal(log_dir_open(&gone, path), -ENOENT);
    assert_int_equal(spool_init(&s, &gone, 1000, 1), 0);
    assert_true(put(&s, SPOOL_ROWS, 700));
    assert_false(put(&s, SPOOL_ROWS, 700));
    spool_fini(&s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_no_limits),          T(test_limit_keeps_room),        T(test_small_limit),
        T(test_sizes_in_sentences), T(test_removed_parts_make_room), T(test_a_part_counts_once),
        T(test_disk_reserve),       T(test_first_sentence_counts),   T(test_directory_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
