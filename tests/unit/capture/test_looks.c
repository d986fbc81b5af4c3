/* test_looks.c - looks at a thread that is blocked: whether it has run since the look before. */
#include "tests/test.h"

#include "capture/samples/look.h"
#include "monitor/steady.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The thread reads a byte, counts it, and reads the next one. */
static struct {
    pthread_t thread;
    int ends[2];
    _Atomic int32_t tid;
    _Atomic int read;
} sleeper;

static void *sleeper_main(void *unused)
{
    char byte;
    (void)unused;
    atomic_store(&sleeper.tid, (int32_t)syscall(SYS_gettid));
    while (read(sleeper.ends[0], &byte, 1) == 1 && byte)
        atomic_fetch_add(&sleeper.read, 1);
    return NULL;
}

/* Looks until the thread is blocked in read(2), and returns that look. */
static struct look look_blocked(struct looks *l)
{
    for (;;) {
        looks_round(l, steady_ns());
        struct look k = looks_first(l, atomic_load(&sleeper.tid));
        assert_false(k.gone);
        if (k.state == HOST_BLOCKED && k.number == SYS_read)
            return k;
        sched_yield();
    }
}

static void wake(void)
{
    int before = atomic_load(&sleeper.read);
    assert_int_equal(write(sleeper.ends[1], "x", 1), 1);
    while (atomic_load(&sleeper.read) == before)
        sched_yield();
}

TEST(test_a_thread_rests)
{
    static struct looks l;
    assert_int_equal(pipe(sleeper.ends), 0);
    assert_int_equal(pthread_create(&sleeper.thread, NULL, sleeper_main, NULL), 0);
    while (!atomic_load(&sleeper.tid))
        sched_yield();
    looks_open(&l, true);
    struct look k = look_blocked(&l);
    if (!k.resting) {
        looks_close(&l);
        assert_int_equal(write(sleeper.ends[1], "", 1), 1);
        pthread_join(sleeper.thread, NULL);
        print_message("this kernel does not count how often a thread runs\n");
        skip();
    }
    assert_false(k.still);
    for (int i = 0; i < 100; i++) {
        k = look_blocked(&l);
        assert_non_null(k.resting);
        assert_true(k.still); /* nothing has woken it */
        assert_true(k.sp && k.pc);
        assert_true(looks_rests(&k));
        wake();
        assert_false(looks_rests(&k));        /* also if it is blocked at the same place again */
        assert_false(look_blocked(&l).still); /* it has run, however briefly */
    }
    looks_close(&l);
    assert_int_equal(write(sleeper.ends[1], "", 1), 1);
    pthread_join(sleeper.thread, NULL);
    close(sleeper.ends[0]);
    close(sleeper.ends[1]);
}

static _Atomic int spins; /* 1: the thread spins; 0: it ends */

static void *spinner_main(void *unused)
{
    (void)unused;
    atomic_store(&sleeper.tid, (int32_t)syscall(SYS_gettid));
    while (atomic_load(&spins))
        continue;
    return NULL;
}

TEST(test_a_thread_that_can_run_does_not_rest)
{
    static struct looks l;
    atomic_store(&sleeper.tid, 0);
    atomic_store(&spins, 1);
    assert_int_equal(pthread_create(&sleeper.thread, NULL, spinner_main, NULL), 0);
    while (!atomic_load(&sleeper.tid))
        sched_yield();
    looks_open(&l, true);
    for (int i = 0; i < 3; i++) {
        looks_round(&l, steady_ns());
        struct look k = looks_first(&l, atomic_load(&sleeper.tid));
        assert_null(k.resting);
        assert_false(k.still);
    }
    looks_close(&l);
    atomic_store(&spins, 0);
    pthread_join(sleeper.thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_rests),
        cmocka_unit_test(test_a_thread_that_can_run_does_not_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
