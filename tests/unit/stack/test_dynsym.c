/* test_dynsym.c - tests symbols of loaded files, and a loader that is busy. */
#include "stack/python/dynsym.h"
#include "stack/python/python.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

/* This is defined in tests/stack/waits.c. */
#define EXPORT __attribute__((visibility("default")))
extern sem_t waits_begun, waits_may_end;
extern int waits_timed_out;
EXPORT sem_t waits_begun, waits_may_end;
EXPORT int waits_timed_out;

TEST(test_as_the_loader_finds_them)
{
    static const char *const names[] = {
        "malloc",     "pthread_create", "waits_timed_out", "dlsym", "_cmocka_run_group_tests",
        "_PyRuntime", "Py_GetVersion",  "no_such_symbol",  "",      "mallo",
        "malloc_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(dynsym_is_defined(names[i]), dlsym(RTLD_DEFAULT, names[i]) != NULL);
    assert_true(dynsym_is_defined("malloc"));
    assert_true(dynsym_is_defined("__vdso_clock_gettime") || /* a table of another kind */
                dynsym_is_defined("__kernel_clock_gettime"));
}

static void *load(void *arg)
{
    (void)arg;
    return dlopen("./stack-waits.so", RTLD_NOW | RTLD_LOCAL);
}

/* A thread may be in a constructor for the whole life of its program. A search for an interpreter
 * does not wait for it. */
TEST(test_a_constructor_holds_nobody_up)
{
    pthread_t t;
    void *handle;
    assert_int_equal(sem_init(&waits_begun, 0, 0), 0);
    assert_int_equal(sem_init(&waits_may_end, 0, 0), 0);
    assert_false(dynsym_is_defined("waits_defined"));
    assert_int_equal(pthread_create(&t, NULL, load, NULL), 0);
    assert_int_equal(sem_wait(&waits_begun), 0);
    assert_false(python_find());
    assert_true(dynsym_is_defined("waits_defined")); /* its file is not in the global scope */
    assert_int_equal(sem_post(&waits_may_end), 0);
    assert_int_equal(pthread_join(t, &handle), 0);
    assert_non_null(handle);
    assert_false(waits_timed_out);
    assert_string_equal(python_status(), "no Python in this process");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_loader_finds_them),
        cmocka_unit_test(test_a_constructor_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
