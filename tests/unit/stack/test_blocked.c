/* test_blocked.c - tests native stacks of other threads that are blocked: in every kind of call,
 * and while they close libraries, return and end. */
#include "stack/other/blocked.h"
#include "tests/test.h"

#include "base/err.h"
#include "stack/common/safe.h"
#include "stack/native/modules.h"
#include "stack/stack.h"
#include "tests/stack/blocks.h"
#include "tests/stack/prologues.h"
#include "tests/unit/stack/captured.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct stack_blocked *walker;

static int open_walker(void **state)
{
    struct err e;
    (void)state;
    int rc = stacks_open(false, &e);
    modules_open(getenv("STACK_OWN_SNAPSHOT") != NULL);
    return rc || stack_blocked_open(&walker);
}

static int close_walker(void **state)
{
    (void)state;
    stack_blocked_close(walker);
    return 0;
}

/* ---- what the kernel says of a thread -------------------------------------------------------- */

struct said {
    int32_t tid;
    char call[256], schedstat[256]; /* the text of its files */
    uintptr_t sp, pc;               /* 0: the thread can run, or has ended */
};

static bool text_of(int32_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static bool look(struct said *s, int32_t tid)
{
    uint64_t sp = 0, pc = 0;
    *s = (struct said){.tid = tid};
    if (!text_of(tid, "syscall", s->call, sizeof s->call) ||
        !text_of(tid, "schedstat", s->schedstat, sizeof s->schedstat) ||
        sscanf(s->call, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64, &sp, &pc) != 2)
        return false;
    s->sp = (uintptr_t)sp;
    s->pc = (uintptr_t)pc;
    return true;
}

static bool still(void *arg)
{
    const struct said *before = arg;
    struct said now;
    return look(&now, before->tid) && strcmp(now.call, before->call) == 0 &&
           strcmp(now.schedstat, before->schedstat) == 0;
}

static const struct stack *stack_of_thread(struct said *s)
{
    const struct stack_blocked_at at = {s->sp, s->pc, still, s};
    return stacks_get(stack_blocked_walk(walker, &at));
}

static const struct stack_place *place_in(const struct stack *s, void *function)
{
    for (unsigned i = 0; s && i < s->depth; i++)
        if (in_function(&s->places[i], function))
            return &s->places[i];
    return NULL;
}

/* ---- kinds of calls -------------------------------------------------------------------------- */

/* With a sanitizer most calls go through a function of its library that jumps to a part of itself.
 * Then the program's code is not found, and a thread that stays blocked need not have a stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { INTERCEPTED = 1 };
#else
enum { INTERCEPTED = 0 };
#endif

enum { STAYS = 2000 }; /* looks that find a thread at one place */

/* Waits until the thread is blocked in its function, and returns its stack. NULL: there is none,
 * because its call is intercepted. */
static const struct stack *wait_for(const struct blocks *b, size_t i, struct said *s)
{
    struct said last = {0};
    for (int same = 0; same < STAYS || !INTERCEPTED; sched_yield()) {
        int32_t tid = b->tid(i);
        const struct stack *found = tid && look(s, tid) ? stack_of_thread(s) : NULL;
        if (place_in(found, (void *)b->kinds[i].function))
            return found;
        same = s->sp && s->sp == last.sp && s->pc == last.pc ? same + 1 : 0;
        last = *s;
    }
    return NULL;
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

/* Prints what a walk takes, without the look at the kernel's files. */
static void say_time(const char *name, const struct said *s)
{
    enum { WALKS = 2000 };
    const struct stack_blocked_at at = {s->sp, s->pc, always, NULL};
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < WALKS; i++)
        assert_int_not_equal(stack_blocked_walk(walker, &at), 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    print_message("%s: %.2f us a walk\n", name,
                  ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 /
                      WALKS);
}

static void check_every_kind(const struct blocks *b)
{
    struct said s;
    size_t last_found = b->count;
    assert_true(b->begin());
    for (size_t i = 0; i < b->count; i++) {
        const struct stack *found = wait_for(b, i, &s);
        if (!found) {
            print_message("%s: intercepted\n", b->kinds[i].name);
            continue;
        }
        last_found = i;
        unsigned calls = 0;
        for (unsigned k = 0; k < found->depth; k++)
            calls += in_function(&found->places[k], (void *)b->recursion);
        assert_int_equal(calls, strcmp(b->kinds[i].name, "recursion") == 0 ? 4 : 0);
        const struct stack_place *inner = place_in(found, (void *)b->kinds[i].function),
                                 *outer = place_in(found, (void *)b->outer);
        if (!outer || outer != inner + 1)
            fail_msg("%s: the function is not called by its caller", b->kinds[i].name);
        const struct stack_place *last = &found->places[found->depth - 1];
        assert_int_equal(last->kind, STACK_NATIVE); /* whole: where threads begin */
        assert_non_null(last->module);
        assert_int_equal(found->places[0].kind, STACK_NATIVE);
        assert_true(INTERCEPTED || strstr(found->places[0].module->path, "libc"));
    }
    bool any = last_found < b->count;
    const struct stack *again = any ? wait_for(b, last_found, &s) : NULL;
    if (any && !INTERCEPTED) { /* it has not run: it has one stack */
        assert_ptr_equal(again, stack_of_thread(&s));
        say_time(b->kinds[last_found].name, &s);
    }
    b->end();
    if (any)
        assert_null(stack_of_thread(&s)); /* the thread has ended, its stack is unmapped */
}

TEST(blocked_in_every_kind_of_call)
{
    check_every_kind(&blocks);
}

/* Code with frame pointers: the kernel does not give that register. */
TEST(blocked_with_frame_pointers)
{
    check_every_kind(&blocks_fp);
}

/* ---- a library with frame pointers ----------------------------------------------------------- */

static atomic_bool rested;
static _Atomic int32_t resting_tid;

BLOCKS_FUNCTION static void *rests_in_library(void *unused)
{
    atomic_store(&resting_tid, (int32_t)syscall(SYS_gettid));
    while (!atomic_load(&rested))
        blocks_library_rest();
    return unused;
}

/* The program calls the library through the linker's table. */
TEST(blocked_in_a_library_with_frame_pointers)
{
    pthread_t t;
    const struct stack_place *inner = NULL;
    struct said s;
    int looks = 0;
    assert_int_equal(pthread_create(&t, NULL, rests_in_library, NULL), 0);
    for (; !inner && (!INTERCEPTED || looks < STAYS); looks++) {
        int32_t tid = atomic_load(&resting_tid);
        const struct stack *found = tid && look(&s, tid) ? stack_of_thread(&s) : NULL;
        for (unsigned i = 0; found && i + 1 < found->depth && !inner; i++)
            if (found->places[i].kind == STACK_NATIVE && found->places[i].module &&
                strstr(found->places[i].module->path, "stack-rests.so"))
                inner = &found->places[i];
    }
    atomic_store(&rested, true);
    pthread_join(t, NULL);
    if (inner)
        assert_true(in_function(inner + 1, (void *)rests_in_library));
    else
        print_message("intercepted\n");
}

/* ---- ways in which functions begin ----------------------------------------------------------- */

static int silent[2]; /* a pipe into which nobody writes */
static _Atomic int32_t shape_tid;

static void *blocks_in_shape(void *arg)
{
    const struct prologue_shape *shape = arg;
    char byte;
    atomic_store(&shape_tid, (int32_t)syscall(SYS_gettid));
    long n = shape->caller(silent[0], &byte);
    atomic_store(&shape_tid, (int32_t)n); /* so that the call is not the last one */
    return NULL;
}

static void check_shape(const struct prologue_shape *shape)
{
    pthread_t t;
    struct said s;
    const struct stack *found = NULL;
    atomic_store(&shape_tid, 0);
    assert_int_equal(pipe(silent), 0);
    assert_int_equal(pthread_create(&t, NULL, blocks_in_shape, (void *)shape), 0);
    while (!found || !in_function(&found->places[0], (void *)shape->function)) {
        int32_t tid = atomic_load(&shape_tid);
        found = tid && look(&s, tid) ? stack_of_thread(&s) : NULL;
    }
    assert_true(found->depth > 1);
    if (shape->unclear)
        assert_int_equal(found->places[1].kind, STACK_MARK);
    else if (!in_function(&found->places[1], (void *)shape->caller) ||
             found->places[found->depth - 1].kind != STACK_NATIVE)
        fail_msg("%s: the caller is not found", shape->name);
    close(silent[1]);
    pthread_join(t, NULL);
    close(silent[0]);
}

TEST(blocked_in_functions_that_begin_otherwise)
{
    if (!prologue_shapes_count) {
        print_message("not for this processor\n");
        skip();
    }
    for (size_t i = 0; i < prologue_shapes_count; i++)
        check_shape(&prologue_shapes[i]);
}

/* ---- threads that go on ---------------------------------------------------------------------- */

static bool never_still(void *arg)
{
    (void)arg;
    return false;
}

TEST(a_thread_that_ran_has_no_stack)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct stack_blocked_at at = {here & ~(uintptr_t)15,
                                        (uintptr_t)(void *)a_thread_that_ran_has_no_stack + 4,
                                        never_still, NULL};
    struct stacks_stats before, after;
    stacks_stats(&before);
    assert_int_equal(stack_blocked_walk(walker, &at), 0);
    stacks_stats(&after);
    assert_int_equal(before.distinct, after.distinct); /* nothing was stored */
}

/* Any stack pointer and instruction give a stack or none, and no fault. */
TEST(wrong_registers)
{
    uintptr_t words[512];
    struct stack_blocked_at at = {.still = always};
    srandom(7);
    for (int i = 0; i < 512; i++)
        words[i] = (i % 3 == 0   ? (uintptr_t)(void *)wrong_registers
                    : i % 3 == 1 ? (uintptr_t)dlsym(RTLD_DEFAULT, "poll")
                                 : (uintptr_t)words) +
                   (uintptr_t)random() % 4096;
    for (int i = 0; i < 20000; i++) {
        at.sp = (uintptr_t)&words[random() % 512] - (i % 7 == 0 ? (uintptr_t)random() % 16 : 0);
        at.pc = i % 5 == 0 ? (uintptr_t)random() : words[random() % 512];
        if (i % 11 == 0)
            at.sp = (uintptr_t)random() << (random() % 33);
        (void)stack_blocked_walk(walker, &at);
    }
    at = (struct stack_blocked_at){.still = always};
    assert_int_equal(stack_blocked_walk(walker, &at), 0);
}

/* ---- libraries that are closed, threads that end --------------------------------------------- */

static atomic_bool stop;
static _Atomic int32_t closer_tid, ender_tid;

/* Opens libraries at one address in turns, is blocked in each, and closes it. */
BLOCKS_FUNCTION static void *closes(void *unused)
{
    static const char *const files[] = {"./stack-one.so", "./stack-two.so", "./stack-nohdr.so"};
    atomic_store(&closer_tid, (int32_t)syscall(SYS_gettid));
    for (int i = 0; !atomic_load(&stop); i++) {
        void *handle;
        shape_fn *call = library(files[i % 3], "library_call", &handle);
        (void)call(blocks.rest, NULL, 1);
        dlclose(handle);
    }
    return unused;
}

BLOCKS_FUNCTION static void *ends_soon(void *unused)
{
    atomic_store(&ender_tid, (int32_t)syscall(SYS_gettid));
    blocks.rest(NULL);
    return unused;
}

static void *makes_threads(void *unused)
{
    while (!atomic_load(&stop)) {
        pthread_t t;
        if (pthread_create(&t, NULL, ends_soon, NULL) == 0)
            pthread_join(t, NULL);
    }
    return unused;
}

static bool is_in_closes(const struct stack_place *p)
{
    enum { LONGEST = 2048 }; /* bytes of the function with a sanitizer */
    return p->kind == STACK_NATIVE && p->module &&
           p->module->base + p->offset - (uintptr_t)(void *)closes < LONGEST;
}

/* Counts the frames of the test's libraries, which are called by closes. */
static unsigned check_closer(const struct stack *s)
{
    unsigned found = 0;
    for (unsigned i = 0; s && i < s->depth; i++) {
        const struct stack_place *p = &s->places[i];
        if (p->kind != STACK_NATIVE || !p->module || !strstr(p->module->path, "/stack-"))
            continue;
        found++;
        if (i + 1 >= s->depth || !is_in_closes(&s->places[i + 1]))
            fail_msg("a frame of %s (place %u of %u) is not called by `closes`", p->module->path, i,
                     s->depth);
    }
    return found;
}

TEST(libraries_close_and_threads_end)
{
    pthread_t closer, maker;
    unsigned in_library = 0, in_ender = 0;
    struct timespec begin, now;
    assert_int_equal(pthread_create(&closer, NULL, closes, NULL), 0);
    assert_int_equal(pthread_create(&maker, NULL, makes_threads, NULL), 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        struct said s;
        if (look(&s, atomic_load(&closer_tid)))
            in_library += check_closer(stack_of_thread(&s));
        if (look(&s, atomic_load(&ender_tid)))
            in_ender += place_in(stack_of_thread(&s), (void *)ends_soon) != NULL;
        /* Walks of a thread that has run on: their results are not used, but must do no harm. */
        for (int i = 0; i < 4 && s.sp; i++) {
            const struct stack_blocked_at at = {s.sp, s.pc, never_still, NULL};
            assert_int_equal(stack_blocked_walk(walker, &at), 0);
        }
        stacks_refresh();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 3 || (!INTERCEPTED && (!in_library || !in_ender)));
    atomic_store(&stop, true);
    pthread_join(closer, NULL);
    pthread_join(maker, NULL);
    print_message("stacks in a library that is closed: %u; in a thread that ends: %u\n", in_library,
                  in_ender);
}

/* A forked child has its own copies. */
TEST(in_a_child)
{
#ifdef __SANITIZE_THREAD__
    print_message("ThreadSanitizer allows no threads in a forked child\n");
    skip();
#endif
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct said s;
        _exit(blocks.begin() && (wait_for(&blocks, 0, &s) || INTERCEPTED) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool reads_nothing(void *arg, void *to, const void *from, size_t n)
{
    (void)arg, (void)to, (void)from, (void)n;
    return false;
}

/* A fork may come in the middle of a walk by another thread, whose id a thread of the child may
 * get. */
TEST(a_child_has_no_copier)
{
    const struct safe_copier copier = {.read = reads_nothing};
    char byte = 1, copy = 0;
    int status;
    safe_copy_with(&copier);
    pid_t pid = fork();
    if (pid == 0) {
        stacks_forget();
        _exit(!safe_copies() && safe_read(&copy, &byte, 1) && copy == 1 ? 0 : 1);
    }
    safe_copy_with(NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_in_every_kind_of_call),
        cmocka_unit_test(blocked_with_frame_pointers),
        cmocka_unit_test(blocked_in_a_library_with_frame_pointers),
        cmocka_unit_test(blocked_in_functions_that_begin_otherwise),
        cmocka_unit_test(a_thread_that_ran_has_no_stack),
        cmocka_unit_test(wrong_registers),
        cmocka_unit_test(libraries_close_and_threads_end),
        cmocka_unit_test(in_a_child),
        cmocka_unit_test(a_child_has_no_copier),
    };
    return cmocka_run_group_tests(tests, open_walker, close_walker);
}
