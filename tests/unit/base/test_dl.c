/* test_dl.c - a library of our own is found, opened and read. The test runs in its folder. */
#include "base/process/dl.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#define SAMPLE "./unit-dl-sample.so"

TEST(test_open_and_find)
{
    char path[PATH_MAX] = "";
    struct err e;
    assert_null(dl_find_loaded("unit-dl-sample", path, sizeof path));
    static const char *const candidates[] = {"libgpufl-not-there.so.1", SAMPLE, NULL};
    void *handle = dl_open_first(candidates, path, sizeof path, &e);
    assert_non_null(handle);
    assert_non_null(strstr(path, "unit-dl-sample.so"));
    path[0] = '\0';
    void *again = dl_find_loaded("unit-dl-sample.so", path, sizeof path);
    assert_ptr_equal(again, handle);
    assert_non_null(strstr(path, "unit-dl-sample.so"));
    assert_ptr_equal(dl_find_loaded("unit-dl-sample", NULL, 0), handle);
    assert_null(dl_find_loaded("dl-sample", NULL, 0)); /* the name must begin so */
    dlclose(again);
}

TEST(test_nothing_opens)
{
    struct err e;
    static const char *const absent[] = {"libgpufl-not-there.so.2", "libgpufl-not-there.so.1",
                                         NULL};
    assert_null(dl_open_first(absent, NULL, 0, &e));
    assert_int_equal(e.code, GPUFL_E_NOENT);
    assert_string_equal(e.text, "cannot load libgpufl-not-there.so.2, libgpufl-not-there.so.1");
    static const char *const broken[] = {"libgpufl-not-there.so.2", "/dev/null", NULL};
    assert_null(dl_open_first(broken, NULL, 0, &e));
    assert_non_null(strstr(e.text, "(/dev/null: file too short)"));
    assert_null(dl_open_first(broken, NULL, 0, NULL));
}

struct functions {
    int (*one)(void);
    int (*absent)(void);
    int (*two)(void);
    int (*lost)(void);
};

TEST(test_fill)
{
    static const char *const candidates[] = {SAMPLE, NULL};
    void *handle = dl_open_first(candidates, NULL, 0, NULL);
    assert_non_null(handle);
    static const struct dl_symbol good[] = {
        {"sample_one", offsetof(struct functions, one), true},
        {"sample_absent", offsetof(struct functions, absent), false},
        {"sample_two", offsetof(struct functions, two), true},
    };
    struct functions f = {.absent = (int (*)(void))(uintptr_t)1};
    struct err e;
    assert_int_equal(dl_fill(handle, good, 3, &f, &e), 0);
    assert_int_equal(f.one(), 1);
    assert_int_equal(f.two(), 2);
    assert_null(f.absent);

    static const struct dl_symbol bad[] = {
        {"sample_one", offsetof(struct functions, one), true},
        {"sample_absent", offsetof(struct functions, absent), true},
        {"sample_optional", offsetof(struct functions, two), false},
        {"sample_lost", offsetof(struct functions, lost), true},
    };
    assert_int_equal(dl_fill(handle, bad, 4, &f, &e), GPUFL_E_UNAVAILABLE);
    assert_non_null(strstr(e.text, "sample_absent, sample_lost"));
    assert_null(strstr(e.text, "optional"));
    assert_int_equal(f.one(), 1); /* the other functions are filled */
}

TEST(test_many_missing_names_fit)
{
    static const char *const candidates[] = {SAMPLE, NULL};
    void *handle = dl_open_first(candidates, NULL, 0, NULL);
    struct dl_symbol symbols[60];
    int (*table)(void);
    for (int i = 0; i < 60; i++)
        symbols[i] = (struct dl_symbol){"sample_that_is_missing", 0, true};
    struct err e;
    assert_int_equal(dl_fill(handle, symbols, 60, &table, &e), GPUFL_E_UNAVAILABLE);
    assert_string_equal(e.text, "the library may be too old, install a newer one: it lacks "
                                "sample_that_is_missing, sample_that_is_missing, "
                                "sample_that_is_missing and 57 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_find),
        cmocka_unit_test(test_nothing_opens),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_many_missing_names_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
