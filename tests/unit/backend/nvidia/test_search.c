/* test_search.c - tests where CUPTI is searched for, and in which order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/nvidia/library/cupti.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/test.h"

static char root[] = "/tmp/gpufl-search-XXXXXX";
static struct cupti_search *search; /* the last result */

static void touch(const char *relative)
{
    char path[256], dir[256];
    snprintf(path, sizeof path, "%s/%s", root, relative);
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void point(const char *variable, const char *relative)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, relative);
    assert_int_equal(setenv(variable, path, 1), 0);
}

static void look(int cuda_version)
{
    mem_free(search);
    search = cupti_search(cuda_version);
    assert_non_null(search);
}

/* Returns the place of a file in the list, or -1. */
static int place(const char *relative)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, relative);
    for (int i = 0; i < search->count; i++)
        if (strcmp(search->list[i], path) == 0)
            return i;
    return -1;
}

static int setup(void **state)
{
    (void)state;
    unsetenv("GPUFL_CUPTI_PATH");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    return 0;
}

TEST(the_drivers_version_comes_first_and_newer_ones_never)
{
    point("CUDA_HOME", "toolkit");
    look(12080);
    int twelve = place("toolkit/targets/x86_64-linux/lib/libcupti.so.12");
    int eleven = place("toolkit/extras/CUPTI/lib64/libcupti.so.11.8");
    assert_true(twelve >= 0);
    assert_true(eleven > twelve);
    assert_int_equal(place("toolkit/lib64/libcupti.so.13"), -1);
    look(13000);
    assert_int_equal(place("toolkit/lib64/libcupti.so.13"), 0);
    assert_true(place("toolkit/targets/x86_64-linux/lib/libcupti.so.12") > 0);
    look(0); /* no driver to ask: newest first */
    assert_int_equal(place("toolkit/lib64/libcupti.so.13"), 0);
}

TEST(a_chosen_file_beats_everything)
{
    point("CUDA_HOME", "toolkit");
    point("GPUFL_CUPTI_PATH", "chosen/my-cupti.so");
    look(13000);
    assert_int_equal(place("chosen/my-cupti.so"), 0);
    assert_int_equal(place("toolkit/lib64/libcupti.so.13"), 1);
}

TEST(a_chosen_directory_beats_the_toolkits)
{
    point("CUDA_PATH", "toolkit");
    point("GPUFL_CUPTI_PATH", "wheel");
    look(13000);
    assert_int_equal(place("wheel/libcupti.so.13"), 0);
    point("GPUFL_CUPTI_PATH", "not there");
    look(13000);
    assert_int_equal(place("toolkit/lib64/libcupti.so.13"), 0);
}

TEST(sonames_come_last)
{
    look(12040);
    assert_true(search->count > search->files);
    assert_string_equal(search->list[search->files], "libcupti.so.12");
    assert_null(search->list[search->count]);
    for (int i = 0; i < search->files; i++)
        assert_int_equal(search->list[i][0], '/');
}

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    touch("toolkit/lib64/libcupti.so.13");
    touch("toolkit/targets/x86_64-linux/lib/libcupti.so.12");
    touch("toolkit/extras/CUPTI/lib64/libcupti.so.11.8");
    touch("chosen/my-cupti.so");
    touch("wheel/libcupti.so.13");
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int group_teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_drivers_version_comes_first_and_newer_ones_never, setup),
        cmocka_unit_test_setup(a_chosen_file_beats_everything, setup),
        cmocka_unit_test_setup(a_chosen_directory_beats_the_toolkits, setup),
        cmocka_unit_test_setup(sonames_come_last, setup),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
