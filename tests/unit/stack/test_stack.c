/* test_stack.c - stacks are captured, cut, folded and interned; with threads, forks, without memory
 * or room. */
#include "stack/stack.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"
#include "tests/stack/shapes.h"
#include "tests/unit/stack/captured.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { CAPTURES = 100000 };
#else
enum { CAPTURES = 1000000 };
#endif

/* The only call site of these captures, however the loops around the calls are compiled. */
static __attribute__((noinline, noclone)) uint32_t path_id(int path)
{
    uint32_t id = 0;
    shape_path(capture, &id, path);
    return id;
}

static __attribute__((noinline, noclone)) uint32_t path_id_elsewhere(int path)
{
    uint32_t id = 1;
    shape_path(capture, &id, path);
    return id;
}

struct asked {
    int path;
    uint32_t id;
};

static void *answer(void *arg)
{
    struct asked *a = arg;
    a->id = path_id(a->path);
    return NULL;
}

/* Captures on a new thread, so that a path has the same stack for each caller. */
static uint32_t id_on_a_thread(int path)
{
    struct asked a = {path, 0};
    pthread_t t;
    if (pthread_create(&t, NULL, answer, &a) == 0)
        pthread_join(t, NULL);
    return a.id;
}

TEST(test_closed)
{
    uint32_t id = 7;
    shape_plain(capture, &id, 1);
    assert_int_equal(id, 0);
    assert_null(stacks_get(0));
    assert_null(stacks_get(1));
    assert_null(stacks_get(UINT32_MAX));
    stacks_refresh();
}

static void *capture_on_a_thread(void *arg)
{
    shape_plain(capture, arg, 1);
    return NULL;
}

/* Every allocation of opening, of first captures and of a second thread fails once, and later calls
 * work. Each round runs in a child, since stacks stay open in a process. */
TEST(test_every_allocation_failing_once)
{
    int64_t last = -1;
    for (int64_t n = 0; last < 0 || n <= last; n++) {
        int pid = fork(), status;
        assert_true(pid >= 0);
        if (pid == 0) {
            uint32_t id[4] = {0};
            pthread_t t;
            struct err e = {0};
            mem_fail_at(n);
            int rc = stacks_open(false, &e);
            shape_plain(capture, &id[0], 1);
            shape_deep(capture, &id[1], 3);
            pthread_create(&t, NULL, capture_on_a_thread, &id[2]);
            pthread_join(t, NULL);
            int64_t count = mem_count();
            mem_fail_at(-1);
            if (rc != 0 && (rc != GPUFL_E_NOMEM || !e.text[0]))
                _exit(200);
            if (rc != 0 && (id[0] || id[1] || id[2] || stacks_open(false, &e) != 0))
                _exit(201);
            shape_plain(capture, &id[3], 1);
            if (!id[3] || !stacks_get(id[3]))
                _exit(202);
            _exit(count > 100 ? 203 : (int)count);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) >= 200)
            fail_msg("allocation %ld: %d", (long)n, WEXITSTATUS(status));
        last = WEXITSTATUS(status) > last ? WEXITSTATUS(status) : last;
    }
    assert_true(last >= 3);
}

TEST(test_opens_once)
{
    struct err e;
    assert_int_equal(stacks_open(false, &e), 0);
    assert_int_equal(stacks_open(false, &e), 0);
    assert_non_null(stacks_python());
}

TEST(test_begins_at_the_caller)
{
    errno = 79;
    const struct stack *s = stack_of(shape_deep, 5);
    assert_int_equal(errno, 79);
    assert_non_null(s);
    assert_true(in_function(&s->places[0], (void *)shape_plain));
    for (unsigned i = 1; i <= 5; i++) /* the sixth has jumped to shape_plain */
        assert_true(in_function(&s->places[i], (void *)shape_deep));
    assert_true(in_function(&s->places[6], (void *)stack_of));
    assert_true(in_function(&s->places[7], (void *)test_begins_at_the_caller));
    assert_ptr_equal(s->places[0].module, s->places[7].module);
    char exe[512] = {0};
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    assert_string_equal(s->places[0].module->path, exe);
    assert_int_equal(s->places[s->depth - 1].kind, STACK_NATIVE); /* no mark at the end */

    uint32_t whole = stacks_capture(NULL);
    assert_non_null(stacks_get(whole));
    assert_ptr_equal(stacks_get(whole)->places[0].module, s->places[0].module);
}

TEST(test_equal_stacks_have_one_id)
{
    uint32_t a[3], b[3];
    for (int i = 0; i < 3; i++) {
        a[i] = id_on_a_thread(0x1234);
        b[i] = id_on_a_thread(0x1235);
    }
    assert_int_not_equal(path_id(0x1234), a[0]);
    assert_int_not_equal(a[0], 0);
    assert_int_equal(a[0], a[1]);
    assert_int_equal(a[0], a[2]);
    assert_int_equal(b[0], b[2]);
    assert_int_not_equal(a[0], b[0]);
}

TEST(test_driver_frames_are_folded)
{
    void *handle;
    shape_fn *call = library("stack-driver/libcuda.so.1", "library_call", &handle);
    const struct stack *s = stack_of(call, 1);
    assert_non_null(s);
    assert_true(in_function(&s->places[0], (void *)stack_of));
    for (unsigned i = 0; i < s->depth; i++)
        assert_null(strstr(s->places[i].module->path, "libcuda"));
}

TEST(test_a_thread_of_the_driver)
{
    void *handle;
    shape_fn *call = library("stack-driver/libcuda.so.1", "library_thread", &handle);
    const struct stack *s = stack_of(call, 1);
    assert_non_null(s);
    assert_int_equal(s->depth, 1);
    assert_true(is_mark(&s->places[0], "<driver-internal>"));
}

TEST(test_deeper_than_a_stack_is_kept)
{
    const struct stack *s = stack_of(shape_deep, 3000);
    assert_non_null(s);
    assert_int_equal(s->depth, STACK_DEPTH + 1);
    assert_true(is_mark(&s->places[STACK_DEPTH], "<truncated>"));
    assert_true(in_function(&s->places[STACK_DEPTH - 1], (void *)shape_deep));
    assert_ptr_equal(stack_of(shape_deep, 3001), s); /* the same innermost frames */
}

#if defined(__x86_64__)
/* Is code as a JIT compiler makes it: no frame pointer, and a table registered with libgcc. */
static const unsigned char generated[] = {
    0x48, 0x83, 0xec, 0x38, /* sub rsp, 56 */
    0x48, 0x89, 0xf8,       /* mov rax, rdi */
    0x48, 0x89, 0xf7,       /* mov rdi, rsi */
    0xff, 0xd0,             /* call rax */
    0x48, 0x83, 0xc4, 0x38, /* add rsp, 56 */
    0xc3,                   /* ret */
};

struct __attribute__((packed)) generated_table {
    uint32_t cie_length, cie_id;
    unsigned char cie[16];
    uint32_t fde_length, fde_back;
    uint64_t begin, bytes;
    unsigned char fde[8];
    uint32_t end;
};

extern void __register_frame(void *);
extern void __deregister_frame(void *);

struct registered {
    void (*code)(void (*)(void *), void *);
    uint32_t id;
    size_t libgcc; /* frames that libgcc sees */
};

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *arg)
{
    (void)context;
    ++*(size_t *)arg;
    return _URC_NO_REASON;
}

static void capture_registered(void *arg)
{
    struct registered *r = arg;
    _Unwind_Backtrace(count_frame, &r->libgcc);
    capture(&r->id);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((optimize("no-omit-frame-pointer"))) void call_registered(void *arg)
{
    struct registered *r = arg;
    r->code(capture_registered, r);
    __asm__ volatile("" ::: "memory");
}

/* libgcc's list of such tables has a lock, and only libgcc may read it: the stack ends at the
 * generated code, with a mark. */
TEST(test_registered_code_ends_the_stack)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, generated, sizeof generated);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    static struct generated_table t = {
        .cie_length = 20,
        /* Version 1, "zR", 1, -8, rip, absolute pointers; CFA rsp + 8, rip at CFA - 8. */
        .cie = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0},
        .fde_length = 28,
        .fde_back = 28,
        .bytes = sizeof generated,
        .fde = {0, 0x44, 0x0e, 64, 0x4c, 0x0e, 8, 0}, /* CFA: rsp + 64 from 4 on, + 8 from 16 on */
    };
    t.begin = (uintptr_t)page;
    struct registered r = {.code = (void (*)(void (*)(void *), void *))page};
    __register_frame(&t);
    shape_keeps_fp(call_registered, &r, 1);
    __deregister_frame(&t);
    const struct stack *s = stacks_get(r.id);
    assert_non_null(s);
    assert_int_equal(s->depth, 3);
    assert_true(in_function(&s->places[0], (void *)capture_registered));
    assert_int_equal(s->places[1].kind, STACK_NATIVE);
    assert_null(s->places[1].module);
    assert_in_range(s->places[1].offset, (uintptr_t)page, (uintptr_t)page + sizeof generated);
    assert_true(is_mark(&s->places[2], "<truncated>"));
    assert_true(r.libgcc > 5); /* libgcc could use the table */
    munmap(page, 4096);
}
#endif

enum { THREADS = 8, PATHS = 400 };

struct worker {
    int number;
    uint32_t ids[PATHS];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < PATHS; i++) {
            int path = w->number % 2 ? i : (i * 7 + w->number) % PATHS;
            uint32_t id = path_id(path);
            if (w->ids[path] && w->ids[path] != id)
                id = UINT32_MAX; /* is noticed below */
            w->ids[path] = id;
        }
    return NULL;
}

TEST(test_threads_agree_on_ids)
{
    static struct worker workers[THREADS];
    pthread_t t[THREADS];
    struct stacks_stats before, after;
    stacks_stats(&before);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&t[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    stacks_stats(&after);
    for (int p = 0; p < PATHS; p++) {
        const struct stack *s = stacks_get(workers[0].ids[p]);
        assert_non_null(s);
        assert_int_equal(s->id, workers[0].ids[p]);
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(workers[i].ids[p], workers[0].ids[p]);
        for (int q = 0; q < p; q++)
            assert_int_not_equal(workers[0].ids[p], workers[0].ids[q]);
    }
    assert_int_equal(after.distinct - before.distinct, PATHS);
    assert_int_equal(after.captured - before.captured, THREADS * PATHS * 3);
    assert_int_equal(after.lost, before.lost);
}

TEST(test_memory_grows_with_sites_only)
{
    struct stacks_stats before, after;
    stacks_stats(&before);
    mem_fail_at(-1);
    for (int i = 0; i < CAPTURES; i++) {
        assert_int_not_equal(path_id(1000 + i % 100), 0);
        if (i == 100) {
            stacks_stats(&after);
            assert_int_equal(after.distinct - before.distinct, 100);
            mem_fail_at(-1);
        }
    }
    assert_int_equal(mem_count(), 0); /* known stacks need no allocation */
    stacks_stats(&after);
    assert_int_equal(after.captured - before.captured, CAPTURES);
    assert_int_equal(after.distinct - before.distinct, 100);
    assert_true(after.bytes - before.bytes < 1 << 20);
}

/* ---- captures inside captures ---- */

static volatile sig_atomic_t interruptions;
static uint32_t interrupted_ids[64];

static void interrupt(int signal)
{
    (void)signal;
    uint32_t id = 0;
    int saved = errno;
    capture(&id);
    interrupted_ids[interruptions % 64] = id;
    interruptions = interruptions + 1;
    errno = saved;
}

TEST(test_a_signal_in_the_middle)
{
    struct sigaction sa = {.sa_handler = interrupt, .sa_flags = SA_RESTART}, old;
    struct itimerval often = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &sa, &old);
    uint32_t first = 0, wrong = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile int i = 0; interruptions < 300 && i < 50000000; i++) {
        uint32_t id = path_id(99);
        first = first ? first : id;
        wrong += id != first;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(wrong, 0);
    assert_true(interruptions >= 300);
    for (int i = 0; i < 64; i++) {
        const struct stack *s = stacks_get(interrupted_ids[i]);
        assert_non_null(s);
        /* The stack reaches through the interrupted function to the beginning of the program. */
        assert_int_equal(s->places[s->depth - 1].kind, STACK_NATIVE);
        assert_true(s->depth > 4);
    }
}

TEST(test_a_forked_child)
{
    uint32_t mine = id_on_a_thread(4242);
    int pid = fork(), status;
    if (pid == 0) {
        stacks_forget();
        _exit(id_on_a_thread(4242) == mine && id_on_a_thread(4243) && stacks_get(mine) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* There are more different stacks than the table has room for. A child may fill the table. */
TEST(test_a_full_table)
{
    if (SANITIZED)
        skip();
    int pid = fork(), status;
    if (pid == 0) {
        uint64_t lost = 0;
        struct stacks_stats s;
        stacks_stats(&s);
        uint64_t before = s.lost;
        uint32_t first = id_on_a_thread(0);
        for (int i = 0; i < 40000; i++) {
            lost += path_id(i) == 0;
            lost += path_id_elsewhere(i) == 0;
        }
        stacks_stats(&s);
        bool good = lost > 0 && s.lost - before == lost && id_on_a_thread(0) == first &&
                    s.distinct <= STACK_DISTINCT && s.distinct > STACK_DISTINCT / 2 &&
                    s.bytes < 200u << 20;
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_every_allocation_failing_once),
        cmocka_unit_test(test_opens_once),
        cmocka_unit_test(test_begins_at_the_caller),
        cmocka_unit_test(test_equal_stacks_have_one_id),
        cmocka_unit_test(test_driver_frames_are_folded),
        cmocka_unit_test(test_a_thread_of_the_driver),
        cmocka_unit_test(test_deeper_than_a_stack_is_kept),
#if defined(__x86_64__)
        cmocka_unit_test(test_registered_code_ends_the_stack),
#endif
        cmocka_unit_test(test_threads_agree_on_ids),
        cmocka_unit_test(test_memory_grows_with_sites_only),
        cmocka_unit_test(test_a_signal_in_the_middle),
        cmocka_unit_test(test_a_forked_child),
        cmocka_unit_test(test_a_full_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
