/* test_libraries.c - tests stacks through libraries that are opened and closed: at one address,
 * without unwind entries, and more of them than there are slots.
 *
 * With an argument only test_more_libraries_than_slots runs, until all numbers of a process are
 * used. */
#include "stack/stack.h"
#include "tests/test.h"

#include "base/err.h"
#include "stack/native/modules.h"
#include "tests/unit/stack/captured.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

static int open_stacks(void **state)
{
    struct err e;
    (void)state;
    return stacks_open(false, &e);
}

TEST(test_libraries_at_the_same_place)
{
    static const char *const files[] = {"./stack-one.so", "./stack-two.so", "./stack-one.so"};
    const struct stack *s[3];
    uintptr_t base[3];
    for (int i = 0; i < 3; i++) {
        void *handle;
        shape_fn *call = library(files[i], "library_call", &handle);
        base[i] = ((struct link_map *)handle)->l_addr;
        for (int k = 0; k < 3; k++)
            s[i] = stack_of(call, 1);
        assert_non_null(s[i]);
        const struct stack_place *p = &s[i]->places[0];
        assert_non_null(strstr(p->module->path, files[i] + 2));
        assert_true(in_function(p, (void *)call));
        assert_true(in_function(&s[i]->places[1], (void *)stack_of));
        dlclose(handle);
    }
    assert_int_equal(base[0], base[1]);
    assert_int_equal(base[0], base[2]);
    assert_int_not_equal(s[0]->id, s[1]->id);
    assert_int_equal(s[0]->id, s[2]->id);
}

/* This library was linked without the table of its unwind entries: they are found without it. */
TEST(test_entries_without_a_table)
{
    void *handle;
    shape_fn *call = library("./stack-nohdr.so", "library_call", &handle);
    const struct stack *s = stack_of(call, 1);
    assert_non_null(s);
    assert_true(in_function(&s->places[0], (void *)call));
    assert_true(in_function(&s->places[1], (void *)stack_of));
    assert_true(in_function(&s->places[2], (void *)test_entries_without_a_table));
    assert_true(s->places[0].module->unwinds);
    dlclose(handle);
}

/* A walk through a library without entries ends with a mark unless it is sure of the caller. */
TEST(test_no_entries)
{
    void *handle;
    shape_fn *call = library("./stack-notables.so", "library_call", &handle);
    const struct stack *s = stack_of(call, 1);
    assert_non_null(s);
    assert_true(in_function(&s->places[0], (void *)call));
    assert_false(s->places[0].module->unwinds);
    for (unsigned i = 1; i < s->depth; i++) /* whole, or ended with a mark: no frame is left out */
        assert_true(i == 1 ? is_mark(&s->places[1], "<truncated>") ||
                                 in_function(&s->places[1], (void *)stack_of)
                           : s->depth > 3);
    dlclose(handle);
}

static __attribute__((noinline, noclone)) uint32_t id_of(shape_fn *call)
{
    uint32_t id = 0;
    call(capture, &id, 1);
    return id;
}

/* Captures through the library under that name. It has no build id, so each name is a module of its
 * own, all at one address, for which rows of earlier modules are known. */
static __attribute__((noinline)) uint32_t capture_in(const char *name, uintptr_t *base)
{
    static char path[PATH_MAX + 32];
    void *handle;
    snprintf(path, sizeof path, "%s/%s", tmpdir, name);
    if (symlink(realpath("stack-none.so", (char[PATH_MAX]){0}), path) != 0)
        fail_msg("symlink %s", path);
    shape_fn *call = library(path, "library_call", &handle);
    *base = ((struct link_map *)handle)->l_addr;
    uint32_t id = id_of(call);
    dlclose(handle);
    unlink(path);
    return id;
}

static bool is_in(const struct stack *s, const char *name)
{
    const char *path = s->places[0].module ? s->places[0].module->path : "";
    return strlen(path) > strlen(name) && !strcmp(path + strlen(path) - strlen(name), name);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Frees the slots of modules that are gone. A flush does one step of three, and only if 20 ms have
 * passed since the step before (stack.c): three flushes that far apart free them, however seldom
 * this process runs. */
static void flushes(void)
{
    enum { STEPS = 3, STEP_NS = 21 * 1000 * 1000 };
    for (int i = 0; i < STEPS; i++) {
        stacks_refresh();
        for (int64_t from = now_ns(); now_ns() - from < STEP_NS;)
            ;
    }
}

static bool until_numbers_end; /* use all numbers of a process, which takes long */

/* Runs in a child, since it uses up the numbers that a process has. More modules than there are
 * slots, one at a time: every stack is whole and keeps the module that it went through. Stacks
 * are cut only when the numbers are used up, and each is counted. */
TEST(test_more_libraries_than_slots)
{
    enum { BEYOND = 20, NAME = 16 };
    const int most = until_numbers_end ? MODULES_EVER : MODULES_MAX + 1000;
    int pid = fork(), status;
    if (pid == 0) {
        static uint32_t ids[MODULES_EVER + BEYOND];
        uintptr_t first = 0, base = 0, moved = 0;
        uint64_t cut = 0;
        char name[NAME];
        struct stacks_stats s;
        stacks_stats(&s);
        uint64_t before = s.cut;
        for (int i = 0; i < most + BEYOND; i++) {
            snprintf(name, sizeof name, "l%d.so", i);
            ids[i] = capture_in(name, &base);
            first = first ? first : base;
            moved += base != first;
            const struct stack *st = stacks_get(ids[i]);
            bool whole = st && st->depth > 3 && in_function(&st->places[1], (void *)id_of);
            if (whole && !is_in(st, name))
                _exit(3); /* the stack of another module */
            cut += !whole;
            stacks_stats(&s);
            if (s.cut - before != cut || (cut && i < MODULES_EVER - 100))
                _exit(4);
            if (i % 1000 == 999)
                flushes();
        }
        for (int i = 0; i < most - 100; i++) {
            snprintf(name, sizeof name, "l%d.so", i);
            if (!is_in(stacks_get(ids[i]), name))
                _exit(5); /* a later module has replaced it */
        }
        _exit(moved > 100 ? 6 : cut < BEYOND && until_numbers_end ? 7 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    until_numbers_end = argc > 1;
    const struct CMUnitTest more[] = {
        cmocka_unit_test_setup_teardown(test_more_libraries_than_slots, tmpdir_open, tmpdir_close),
    };
    if (until_numbers_end)
        return cmocka_run_group_tests(more, open_stacks, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries_at_the_same_place),
        cmocka_unit_test(test_entries_without_a_table),
        cmocka_unit_test(test_no_entries),
        cmocka_unit_test_setup_teardown(test_more_libraries_than_slots, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, open_stacks, NULL);
}
