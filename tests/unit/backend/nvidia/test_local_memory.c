/* test_local_memory.c - tests the local memory of kernels, as the fake driver reports it. */

#include "backend/nvidia/record/local_memory.h"
#include "tests/test.h"
#include "wire/record.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 200, THREADS = 4 };

static int (*load)(void **module, const void *image);
static int (*get)(void **function, void *module, const char *name);
static int (*unload)(void *module);
static int (*get_kernel)(void **kernel, void *library, const char *name);
static char names[NAMES][24];
static void *functions[NAMES];

static int open_driver(void **state)
{
    char path[PATH_MAX];
    (void)state;
    snprintf(path, sizeof path, "%s/fake/libcuda.so.1", getenv("GPUFL_BINARY_DIR"));
    void *driver = dlopen(path, RTLD_NOW);
    if (!driver)
        return -1;
    *(void **)&load = dlsym(driver, "cuModuleLoadData");
    *(void **)&get = dlsym(driver, "cuModuleGetFunction");
    *(void **)&unload = dlsym(driver, "cuModuleUnload");
    *(void **)&get_kernel = dlsym(driver, "cuLibraryGetKernel");
    return load && get && unload && get_kernel ? 0 : -1;
}

/* Makes a function of a module, or a kernel of a library. */
static void *made_by(int (*how)(void **, void *, const char *), const char *name, unsigned local)
{
    char text[256];
    void *module, *made;
    snprintf(text, sizeof text, "// fake: %s registers=8 local=%u shared=0 ns=1\n", name, local);
    assert_int_equal(load(&module, text), 0);
    assert_int_equal(how(&made, module, name), 0);
    assert_int_equal(unload(module), 0); /* the fake driver's functions stay */
    return made;
}

static void *function_of(const char *name, unsigned local)
{
    return made_by(get, name, local);
}

TEST(launches_report)
{
    static const char spilled[] = "spilled", plain[] = "plain";
    char again[] = "spilled";
    assert_int_equal(local_memory_find("spilled"), CELL_NULL);
    local_memory_launch(function_of(spilled, 208), spilled);
    local_memory_launch(function_of(plain, 0), plain);
    assert_int_equal(local_memory_find(again), 208);
    assert_int_equal(local_memory_find("plain"), 0);
    assert_int_equal(local_memory_find("spille"), CELL_NULL);
}

/* The CUDA runtime launches kernels of libraries. */
TEST(kernels_of_libraries)
{
    static const char name[] = "_Z7libraryv";
    local_memory_launch(made_by(get_kernel, name, 96), name);
    assert_int_equal(local_memory_find(name), 96);
}

/* If several functions have one name, the largest value counts: a record has only the name. */
TEST(one_name_of_several)
{
    static const char name[] = "twice";
    local_memory_launch(function_of(name, 64), name);
    local_memory_launch(function_of(name, 16), name);
    assert_int_equal(local_memory_find(name), 64);
}

TEST(what_is_not_reported)
{
    static const char name[] = "unreported";
    local_memory_launch(NULL, name);
    local_memory_launch(function_of(name, 8), NULL);
    assert_int_equal(local_memory_find(name), CELL_NULL);
}

static void *launch_all(void *unused)
{
    for (int i = 0; i < 50 * NAMES; i++)
        local_memory_launch(functions[i % NAMES], names[i % NAMES]);
    return unused;
}

TEST(many_threads)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "_Z%dkernel", i);
        functions[i] = function_of(names[i], (unsigned)i);
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, launch_all, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(local_memory_find(names[i]), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_report),     cmocka_unit_test(kernels_of_libraries),
        cmocka_unit_test(one_name_of_several), cmocka_unit_test(what_is_not_reported),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, open_driver, NULL);
}
