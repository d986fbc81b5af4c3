/* test_thread.c - tests the properties of a started thread, and wake-ups. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/process/thread.h"
#include "tests/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct seen {
    char name[16];
    int nice;
    int32_t id, kernel_id;
    sigset_t blocked;
};

static void *look(void *arg)
{
    struct seen *s = arg;
    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    s->id = thread_id();
    s->kernel_id = (int32_t)syscall(SYS_gettid);
    s->nice = getpriority(PRIO_PROCESS, (id_t)s->kernel_id);
    pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
    return NULL;
}

TEST(test_start_and_join)
{
    struct seen s = {.id = 0};
    struct thread t;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    int nice_here = getpriority(PRIO_PROCESS, 0);
    assert_int_equal(thread_start(&t, "a-name-far-too-long", 5, look, &s), 0);
    assert_true(t.running);
    thread_join(&t);
    assert_false(t.running);
    thread_join(&t); /* a second call does nothing */
    assert_string_equal(s.name, "a-name-far-too-");
    assert_int_equal(s.nice, nice_here + 5 > 19 ? 19 : nice_here + 5);
    assert_int_equal(s.id, s.kernel_id);
    assert_true(s.id != thread_id());
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGCHLD, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        assert_int_equal(sigismember(&s.blocked, signals[i]), 1);
    pthread_sigmask(SIG_BLOCK, NULL, &after); /* the starter's own mask is as it was */
    for (int sig = 1; sig < 32; sig++)
        assert_int_equal(sigismember(&after, sig), sigismember(&before, sig));
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice_here);
}

TEST(test_start_without_memory)
{
    struct thread t;
    mem_fail_at(0);
    assert_int_equal(thread_start(&t, "x", 0, look, NULL), GPUFL_E_NOMEM);
    mem_fail_at(-1);
    assert_false(t.running);
    thread_join(&t);
}

TEST(test_id_in_a_forked_child)
{
    assert_int_equal(thread_id(), getpid()); /* also fills the cache */
    pid_t child = fork();
    if (child == 0) {
        thread_id_forget();
        _exit(thread_id() == getpid() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

TEST(test_wakeup_alone)
{
    struct wakeup w;
    assert_int_equal(wakeup_init(&w), 0);
    int64_t start = now_ns();
    assert_false(wakeup_wait(&w, 20000000));
    assert_true(now_ns() - start >= 20000000);
    assert_false(wakeup_wait(&w, 0));
    wakeup_signal(&w);
    wakeup_signal(&w); /* two signals, one wake-up */
    assert_true(wakeup_wait(&w, INT64_MAX));
    assert_false(wakeup_wait(&w, 0));
    wakeup_signal(&w);
    assert_true(wakeup_wait(&w, -1));
    wakeup_fini(&w);
}

struct ping {
    struct wakeup to, from;
    _Atomic int rounds;
};

enum { ROUNDS = 2000 };

static void *answer(void *arg)
{
    struct ping *p = arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (!wakeup_wait(&p->to, -1))
            continue;
        atomic_fetch_add(&p->rounds, 1);
        wakeup_signal(&p->from);
    }
    return NULL;
}

/* If a wake-up was lost, both threads would wait: after a minute that is a failure. */
TEST(test_wakeup_is_never_lost)
{
    struct ping p = {.rounds = 0};
    struct thread t;
    assert_int_equal(wakeup_init(&p.to), 0);
    assert_int_equal(wakeup_init(&p.from), 0);
    assert_int_equal(thread_start(&t, "answer", 0, answer, &p), 0);
    for (int i = 0; i < ROUNDS; i++) {
        wakeup_signal(&p.to);
        assert_true(wakeup_wait(&p.from, 60000000000));
    }
    thread_join(&t);
    assert_int_equal(p.rounds, ROUNDS);
    wakeup_fini(&p.to);
    wakeup_fini(&p.from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_and_join),       cmocka_unit_test(test_start_without_memory),
        cmocka_unit_test(test_id_in_a_forked_child), cmocka_unit_test(test_wakeup_alone),
        cmocka_unit_test(test_wakeup_is_never_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
