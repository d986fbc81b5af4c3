/* test_modules.c - tests files of code by address: their facts, and changes. */
#include "stack/native/modules.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

static bool own_snapshot;

static const struct module *module_at(const void *pc)
{
    modules_refresh(); /* does nothing if libc can be asked */
    return modules_get(modules_find((uintptr_t)pc));
}

static void *open_library(const char *path, void **call)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    *call = dlsym(handle, "library_call");
    assert_non_null(*call);
    return handle;
}

TEST(test_the_program_and_libc)
{
    char exe[512] = {0};
    struct stat st;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    const struct module *m = module_at((void *)test_the_program_and_libc);
    assert_non_null(m);
    assert_string_equal(m->pub.path, exe);
    assert_int_equal(m->pub.kind, 1);
    assert_int_equal(stat(exe, &st), 0);
    assert_int_equal(m->pub.size, st.st_size);
    assert_int_equal(m->pub.mtime, st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
    assert_int_equal(m->role, MODULE_USER);
    assert_in_range((uintptr_t)test_the_program_and_libc, m->pub.begin, m->pub.end);

    Dl_info info;
    const struct module *c = module_at(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(c);
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
    assert_int_equal(c->pub.base, (uintptr_t)info.dli_fbase);
    assert_int_equal(c->role, MODULE_SYSTEM);
    assert_ptr_not_equal(c, m);
    assert_ptr_equal(module_at(dlsym(RTLD_DEFAULT, "gnu_get_libc_release")), c);
}

TEST(test_the_vdso)
{
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (!vdso)
        skip();
    const struct module *m = module_at((void *)(vdso + 0x600));
    assert_non_null(m);
    assert_int_equal(m->pub.kind, 2);
    assert_int_equal(m->pub.size, INT64_MIN);
    assert_int_equal(m->pub.begin, vdso);
}

TEST(test_what_is_no_file)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_null(module_at(p));
    assert_null(module_at(NULL));
    assert_null(module_at((void *)UINTPTR_MAX));
    assert_null(module_at(&p));
    assert_true(modules_is(0, (uintptr_t)p));
    assert_false(modules_is(0, (uintptr_t)test_the_vdso));
    munmap(p, 4096);
}

TEST(test_build_ids)
{
    static const struct {
        const char *file, *id;
    } rows[] = {
        {"./stack-one.so", "0102030405060708090a0b0c0d0e0f1011121314"},
        {"./stack-two.so", "2202030405060708090a0b0c0d0e0f1011121314"},
        {"./stack-none.so", ""},
        {"./stack-long.so", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *call, *handle = open_library(rows[i].file, &call);
        const struct module *m = module_at(call);
        assert_non_null(m);
        assert_string_equal(m->pub.build_id, rows[i].id);
        assert_int_equal(m->pub.path[0], '/'); /* asked for as "./" */
        struct stat st;
        assert_int_equal(stat(m->pub.path, &st), 0);
        assert_int_equal(m->pub.size, st.st_size);
        dlclose(handle);
    }
}

/* Opens the library until it is loaded at that address; NULL if it never is. */
static void *open_there(const char *path, const void *there, void **call)
{
    for (int i = 0; i < 20; i++) {
        void *handle = open_library(path, call);
        const struct link_map *map = handle;
        if ((void *)map->l_addr == there)
            return handle;
        dlclose(handle);
    }
    return NULL;
}

TEST(test_another_file_at_the_same_place)
{
    void *call, *handle = open_library("./stack-one.so", &call);
    const void *there = (void *)((struct link_map *)handle)->l_addr;
    const struct module *one = module_at(call);
    uint32_t number = one->pub.number;
    assert_true(modules_is(number, (uintptr_t)call));
    void *call_one = call;
    dlclose(handle);
    modules_refresh();
    assert_false(modules_is(number, (uintptr_t)call_one));
    assert_null(module_at(call_one));

    handle = open_there("./stack-two.so", there, &call);
    assert_non_null(handle);
    assert_ptr_equal(call, call_one); /* the address is the same */
    modules_refresh();
    assert_false(modules_is(number, (uintptr_t)call));
    const struct module *two = module_at(call);
    assert_non_null(two);
    assert_int_not_equal(two->pub.number, number);
    assert_non_null(strstr(two->pub.path, "stack-two.so"));
    assert_non_null(strstr(one->pub.path, "stack-one.so")); /* kept as it was */
    dlclose(handle);

    handle = open_there("./stack-one.so", there, &call);
    assert_non_null(handle);
    assert_ptr_equal(module_at(call), one);
    dlclose(handle);
}

/* With an older libc modules are found in a snapshot. Between two refreshes it may name a library
 * that is gone: the content of the memory does not match that library. */
TEST(test_without_a_refresh_in_between)
{
    void *call, *handle = open_library("./stack-one.so", &call);
    const void *there = (void *)((struct link_map *)handle)->l_addr;
    uint32_t number = module_at(call)->pub.number;
    dlclose(handle);
    handle = open_there("./stack-two.so", there, &call);
    assert_non_null(handle);
    assert_false(modules_is(number, (uintptr_t)call));
    assert_int_not_equal(modules_find((uintptr_t)call), number);
    dlclose(handle);
}

static void copy_file(const char *from, const char *to)
{
    char command[1500];
    snprintf(command, sizeof command, "cp -f '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

TEST(test_files_that_are_gone_or_replaced)
{
    const char *path = tmpdir_path("gone.so"), *other = tmpdir_path("other.so");
    for (int replaced = 0; replaced < 2; replaced++) {
        copy_file("stack-none.so", path);
        void *call, *handle = open_library(path, &call);
        unlink(path);
        if (replaced) { /* another file of that name: without a build id, only its inode differs */
            copy_file("stack-two.so", other);
            assert_int_equal(rename(other, path), 0);
        }
        const struct module *m = module_at(call);
        assert_non_null(m);
        assert_non_null(strstr(m->pub.path, "gone.so (deleted)"));
        assert_int_equal(m->pub.size, INT64_MIN);
        dlclose(handle);
    }
}

TEST(test_roles)
{
    static const struct {
        const char *path;
        enum module_role role;
    } rows[] = {
        {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", MODULE_DRIVER},
        {"/usr/lib/libcuda.so.550.54.15", MODULE_DRIVER},
        {"/x/nvidia/cuda_runtime/lib/libcudart.so.12", MODULE_DRIVER},
        {"/x/torch/lib/libcudart-d0da41ae.so.11.0", MODULE_DRIVER},
        {"libcupti.so.12", MODULE_DRIVER},
        {"/usr/lib/libnvidia-ml.so.1", MODULE_DRIVER},
        {"/opt/lib/libgpufl.so.0", MODULE_DRIVER},
        {"/lib64/ld-linux-x86-64.so.2", MODULE_DRIVER},
        {"/lib/ld-2.31.so", MODULE_DRIVER},
        {"/lib/x86_64-linux-gnu/libc.so.6", MODULE_SYSTEM},
        {"/lib/libc-2.31.so", MODULE_SYSTEM},
        {"/lib/libpthread.so.0", MODULE_SYSTEM},
        {"/lib/libtsan.so.2", MODULE_SYSTEM},
        {"/x/libcuda_utils.so", MODULE_USER},
        {"/x/libcudaq.so.1", MODULE_USER},
        {"/x/libcudnn.so.9", MODULE_USER},
        {"/x/libcublas.so.12", MODULE_USER},
        {"/x/libc10_cuda.so", MODULE_USER},
        {"/opt/me/libcuda.so.1/program", MODULE_USER},
        {"/usr/bin/ld-tests", MODULE_USER},
        {"", MODULE_USER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (modules_role(rows[i].path) != rows[i].role)
            fail_msg("%s", rows[i].path);
}

static void *open_and_close(void *arg)
{
    for (int i = 0; i < 200; i++) {
        void *h = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
        dlclose(h);
    }
    return NULL;
}

static void *look(void *arg)
{
    uintptr_t pc = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    size_t *wrong = arg;
    for (int i = 0; i < 30000; i++) {
        const struct module *m = modules_get(modules_find(pc));
        *wrong += !m || !strstr(m->pub.path, "libc");
        m = modules_get(modules_find((uintptr_t)look));
        *wrong += !m || m->pub.number != modules_find((uintptr_t)test_roles);
        if (i % 100 == 0)
            modules_refresh();
    }
    return NULL;
}

TEST(test_threads_while_libraries_come_and_go)
{
    pthread_t t[5];
    static size_t wrong[4];
    module_at((void *)look);
    assert_int_equal(pthread_create(&t[4], NULL, open_and_close, "./stack-one.so"), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, look, &wrong[i]), 0);
    for (int i = 0; i < 5; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(wrong[i], 0);
}

TEST(test_no_memory)
{
    const char *path = tmpdir_path("new.so");
    copy_file("stack-none.so", path);
    void *call, *handle = open_library(path, &call);
    modules_refresh();
    mem_fail_at(0);
    assert_int_equal(modules_find((uintptr_t)call), 0);
    mem_fail_at(-1);
    assert_int_not_equal(modules_find((uintptr_t)call), 0); /* not remembered as unknown */
    dlclose(handle);
}

int main(void)
{
    own_snapshot = getenv("STACK_OWN_SNAPSHOT") != NULL;
    modules_open(own_snapshot);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_program_and_libc),
        cmocka_unit_test(test_the_vdso),
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_another_file_at_the_same_place),
        cmocka_unit_test(test_without_a_refresh_in_between),
        cmocka_unit_test_setup_teardown(test_files_that_are_gone_or_replaced, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_threads_while_libraries_come_and_go),
        cmocka_unit_test_setup_teardown(test_no_memory, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
