/* Tests which folders are sessions, their reported changes, and removed folders. */
#include "agent/send/folders.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

static struct folder *find(struct folders *f, const char *end)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].kind != FOLDER_FREE && strcmp(path_base(f->items[i].path), end) == 0)
            return &f->items[i];
    return NULL;
}

static void look(struct folders *f)
{
    assert_int_equal(folders_look(f, clock_mono(), NULL), 0);
}

static void make(const char *name)
{
    assert_int_equal(file_mkdirs(tmpdir_path(name), 0700, NULL), 0);
}

static void walk(bool no_inotify)
{
    struct folders f;
    const char *sources[] = {tmpdir_path("src")};
    make("src/one");
    make("src/group/two");
    make("src/a/b/c/deep");
    tmpdir_write("src/one/device.log", "x", 1);
    tmpdir_write("src/group/two/system.1.log.gz", "x", 1);
    tmpdir_write("src/a/b/c/deep/device.log", "x", 1);
    tmpdir_write("src/group/app.log", "x", 1);
    assert_int_equal(symlink(tmpdir_path("src/one"), tmpdir_path("src/link")), 0);
    assert_int_equal(folders_open(&f, sources, 1, 10 * SECOND, no_inotify, NULL), 0);
    look(&f);
    assert_int_equal(f.sessions, 2);
    assert_int_equal(find(&f, "one")->kind, FOLDER_SESSION);
    assert_int_equal(find(&f, "two")->kind, FOLDER_SESSION);
    assert_int_equal(find(&f, "group")->kind, FOLDER_GROUP); /* no part of a log is in it */
    assert_null(find(&f, "link"));
    assert_null(find(&f, "deep"));
    struct folder *one = find(&f, "one");
    folders_plan(&f, one, clock_mono());
    assert_int_equal(one->touched, 0);
    if (!no_inotify) {
        tmpdir_write("src/one/device.log", "xy", 2);
        make("src/later");
        tmpdir_write("src/later/device.log", "x", 1);
        look(&f);
        assert_int_not_equal(find(&f, "one")->touched, 0);
        assert_non_null(find(&f, "later"));
        assert_int_equal(find(&f, "later")->kind, FOLDER_SESSION);
        assert_int_equal(f.sessions, 3);
    } else {
        assert_in_range(one->due, clock_mono(), clock_mono() + SECOND);
    }
    int32_t index = (int32_t)(find(&f, "one") - f.items);
    folders_remove(&f, index);
    assert_null(find(&f, "one"));
    folders_close(&f);
}

TEST(test_with_inotify)
{
    walk(false);
}

TEST(test_without)
{
    walk(true);
}

TEST(test_many)
{
    struct folders f;
    char name[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "many/s%d", i);
        make(name);
        snprintf(name, sizeof name, "many/s%d/device.log", i);
        tmpdir_write(name, "x", 1);
    }
    const char *sources[] = {tmpdir_path("many")};
    assert_int_equal(folders_open(&f, sources, 1, SECOND, false, NULL), 0);
    look(&f);
    assert_int_equal(f.sessions, 1000);
    for (int i = 0; i < 1000; i += 2) {
        snprintf(name, sizeof name, "s%d", i);
        folders_remove(&f, (int32_t)(find(&f, name) - f.items));
    }
    assert_int_equal(f.sessions, 500);
    for (size_t i = 0; i < f.count; i++)
        if (f.items[i].kind == FOLDER_GROUP)
            f.items[i].due = 0;
    look(&f); /* finds them again, in the places that became free */
    assert_int_equal(f.sessions, 1000);
    assert_in_range(f.count, 1001, 1001);
    folders_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_with_inotify, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_without, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_many, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
