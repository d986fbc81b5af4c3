/* test_plt.c - calls between two libraries, redirected through a function of the test. */
#include "base/process/plt.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int (*real)(void);

static int replaced(void)
{
    return 100 + real();
}

static const struct plt_hook hooks[] = {
    {"sample_one", "unit-dl-sample.so", (void *)(uintptr_t)replaced}};
static const struct plt_hook of_another[] = {
    {"sample_one", "libanother.so", (void *)(uintptr_t)replaced}};
static const char *wanted;

static bool accept_wanted(const char *path)
{
    return strstr(path, wanted) != NULL;
}

static bool accept_none(const char *path)
{
    (void)path;
    return false;
}

struct caller {
    int (*call)(void);
    int (*(*pointer)(void))(void);
};

static struct caller caller_open(const char *path)
{
    struct caller c;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    assert_non_null(handle);
    *(void **)&c.call = dlsym(handle, "caller_call");
    *(void **)&c.pointer = dlsym(handle, "caller_pointer");
    assert_true(c.call && c.pointer);
    *(void **)&real = dlsym(handle, "sample_one");
    return c;
}

static void check_led(const char *path, bool called_before)
{
    struct caller c = caller_open(path);
    wanted = path + 2;
    if (called_before)
        assert_int_equal(c.call(), 1);
    assert_int_equal(plt_hook(hooks, 1, accept_none), 0);
    assert_int_equal(plt_hook(of_another, 1, accept_wanted), 0); /* a library it does not need */
    assert_true(plt_hook(hooks, 1, accept_wanted) > 0);
    assert_int_equal(c.call(), 101);
    assert_int_equal(c.pointer()(), 101);
    assert_int_equal(plt_hook(hooks, 1, accept_wanted), 0); /* all calls are redirected already */
    assert_int_equal(c.call(), 101);
}

TEST(test_cells_filled_at_the_first_call)
{
    check_led("./unit-plt-lazy.so", false);
}

TEST(test_cells_that_are_read_only)
{
    check_led("./unit-plt-now.so", true);
}

TEST(test_loading_is_seen)
{
    unsigned long long before = plt_loaded();
    assert_true(before > 0);
    assert_int_equal(plt_loaded(), before);
    assert_non_null(dlopen("./unit-plt-other.so", RTLD_NOW));
    assert_true(plt_loaded() > before);
}

TEST(test_what_the_program_needs)
{
    char name[64] = "";
    assert_true(plt_program_needs("libcmocka.so", name, sizeof name));
    assert_non_null(strstr(name, "libcmocka.so"));
    assert_false(plt_program_needs("unit-plt-", name, sizeof name)); /* opened, not needed */
    assert_false(plt_program_needs("cmocka", name, sizeof name));    /* the name must begin so */
}

TEST(test_the_name_of_a_library)
{
    char name[64] = "";
    struct link_map *map = NULL;
    void *handle = dlopen("./unit-dl-sample.so", RTLD_NOW);
    assert_non_null(handle);
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    assert_true(plt_soname(map->l_name, name, sizeof name));
    assert_string_equal(name, "unit-dl-sample.so");
    assert_false(plt_soname("/nowhere/libcupti.so.13", name, sizeof name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_filled_at_the_first_call),
        cmocka_unit_test(test_cells_that_are_read_only),
        cmocka_unit_test(test_loading_is_seen),
        cmocka_unit_test(test_what_the_program_needs),
        cmocka_unit_test(test_the_name_of_a_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
