/* Dead letters: kept byte by byte, over restarts and crashes, and removed when they were delivered.
 * */
#include "agent/send/letters.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char TEXT[] = "first\nsec\xff\0ond\n{\"third\":1}\n";

enum { FIRST = 6, SECOND = 9, THIRD = 12 }; /* bytes of the lines */

static unsigned folders_synced;

/* Replaces the library's function, and counts calls for folders: without such a call a crash loses
 * the names of files. */
int fsync(int fd)
{
    struct stat st;
    folders_synced += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return (int)syscall(SYS_fsync, fd);
}

static struct letters *open_letters(void)
{
    struct letters *l;
    struct err e = {0};
    if (letters_open(&l, tmpdir_path("dead"), &e))
        fail_msg("%s", e.text);
    return l;
}

static struct letter_source source(void)
{
    const char *path = tmpdir_write("device.log", TEXT, sizeof TEXT - 1);
    int fd = open(path, O_RDONLY);
    struct file_id id = file_id(fd);
    close(fd);
    return (struct letter_source){.path = path, .id = id};
}

static void add(struct letters *l, int64_t from, int64_t bytes, const char *reason)
{
    struct letter_source s = source();
    struct letter a = {
        .offset = 1000 + from, .length = bytes, .bytes = bytes, .status = 400, .at = 5};
    struct err e = {0};
    s.from = from;
    snprintf(a.reason, sizeof a.reason, "%s", reason);
    if (letters_add(l, "s1", "device", &a, &s, &e) || letters_sync(l, "s1", "device", &e))
        fail_msg("%s", e.text);
}

static int deliver_second(void *arg, const char *session, const char *channel,
                          const struct letter *a, int fd, bool *delivered)
{
    char got[64];
    unsigned *tried = arg;
    assert_string_equal(session, "s1");
    assert_string_equal(channel, "device");
    assert_int_equal(read(fd, got, (size_t)a->bytes), a->bytes);
    assert_memory_equal(got, TEXT + a->offset - 1000, (size_t)a->bytes);
    *delivered = a->offset == 1000 + FIRST;
    ++*tried;
    return 0;
}

TEST(test_kept_listed_and_delivered)
{
    struct letters *l = open_letters();
    add(l, FIRST + SECOND, THIRD, "too \"odd\"\n");
    add(l, FIRST, SECOND, "no JSON");
    for (int i = 0; i < 2; i++) {
        struct letter *all;
        size_t n;
        assert_int_equal(letters_count(l), 2);
        assert_int_equal(letters_bytes(l), SECOND + THIRD);
        assert_int_equal(letters_list(l, "s1", "device", &all, &n, NULL), 0);
        assert_int_equal(n, 2);
        assert_int_equal(all[0].offset, 1000 + FIRST); /* in the order of their places */
        assert_int_equal(all[1].offset, 1000 + FIRST + SECOND);
        assert_string_equal(all[1].reason, "too \"odd\"\n");
        mem_free(all);
        letters_close(l);
        l = open_letters();
    }
    unsigned tried = 0;
    struct letters_retry r = {.arg = &tried, .try = deliver_second};
    assert_int_equal(letters_retry(l, &r, NULL), 0);
    assert_int_equal(tried, 2);
    assert_int_equal(letters_count(l), 1);
    assert_int_equal(letters_retry(l, &r, NULL), 0);
    assert_int_equal(tried, 3); /* what was delivered is not tried again, and keeps its place */
    struct letter *all;
    size_t n;
    assert_int_equal(letters_list(l, "s1", "device", &all, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(all[0].bytes, 0);
    assert_int_equal(all[0].length, SECOND);
    mem_free(all);
    letters_close(l);
}

TEST(test_a_letter_that_a_crash_cut_off)
{
    struct letters *l = open_letters();
    struct letter *all;
    size_t n;
    add(l, 0, FIRST, "x");
    letters_close(l);
    const char *path = tmpdir_path("dead/s1.device.letters");
    int64_t whole = file_size(path);
    l = open_letters();
    add(l, FIRST, SECOND, "y");
    assert_int_equal(truncate(path, file_size(path) - 3), 0);
    letters_close(l);
    l = open_letters();
    assert_int_equal(letters_list(l, "s1", "device", &all, &n, NULL), 0);
    mem_free(all);
    assert_int_equal(file_size(path), whole);
    letters_close(l);
}

/* The server has skipped these lines: the file must not lose its name. */
TEST(test_a_new_file_keeps_its_name_after_a_crash)
{
    struct letters *l = open_letters();
    folders_synced = 0;
    add(l, 0, FIRST, "x");
    assert_int_equal(folders_synced, 1);
    add(l, FIRST, SECOND, "y");
    assert_int_equal(folders_synced, 1); /* the name has been on the disk since the first letter */
    unsigned tried = 0;
    struct letters_retry r = {.arg = &tried, .try = deliver_second};
    assert_int_equal(letters_retry(l, &r, NULL), 0);
    assert_int_equal(folders_synced, 2); /* a new file has the name */
    letters_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept_listed_and_delivered, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_a_letter_that_a_crash_cut_off, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(test_a_new_file_keeps_its_name_after_a_crash, tmpdir_open,
                                        tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
