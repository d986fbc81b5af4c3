/* test_turns.c - tests the part of a second in which a thread may capture. */
#include "capture/threads/gate.h"
#include "capture/threads/threads.h"
#include "capture/threads/turns.h"
#include "tests/test.h"

#include "base/clock.h"

#include <pthread.h>
#include <semaphore.h>

#define MS     1000000ll
#define SECOND (1000 * MS)

static void expect_parts(const int64_t *worked, const uint32_t *expected, int n)
{
    uint32_t parts[8] = {0};
    turns_share(worked, parts, n, SECOND);
    for (int i = 0; i < n; i++)
        assert_int_equal(parts[i], expected[i]);
}

TEST(one_thread_has_the_whole_second)
{
    expect_parts((int64_t[]){SECOND}, (uint32_t[]){TURN_WHOLE}, 1);
    expect_parts((int64_t[]){3 * MS}, (uint32_t[]){TURN_WHOLE}, 1); /* it waits for input */
    expect_parts((int64_t[]){0}, (uint32_t[]){TURN_WHOLE}, 1);
}

TEST(threads_that_take_turns_share_a_second)
{
    expect_parts((int64_t[]){500 * MS, 500 * MS}, (uint32_t[]){128, 128}, 2);
    expect_parts((int64_t[]){300 * MS, 100 * MS}, (uint32_t[]){192, 64}, 2); /* both also wait */
    expect_parts((int64_t[]){999 * MS, MS}, (uint32_t[]){255, TURN_LEAST}, 2);
    expect_parts((int64_t[]){0, 0}, (uint32_t[]){128, 128}, 2);
}

TEST(threads_that_work_at_once_have_a_second_each)
{
    expect_parts((int64_t[]){SECOND, SECOND, SECOND}, (uint32_t[]){256, 256, 256}, 3);
    expect_parts((int64_t[]){SECOND, SECOND / 2}, (uint32_t[]){256, 128}, 2);
    /* The clock of processor time may be ahead of ours; a check may cover two seconds. */
    expect_parts((int64_t[]){2 * SECOND, 400 * MS}, (uint32_t[]){256, 102}, 2);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    struct thread_state *state;
    sem_t go, done;
    int64_t ms; /* processor time of a turn; below 0: the thread ends */
    bool captures;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    for (;;) {
        w->state = thread_self();
        sem_post(&w->done);
        sem_wait(&w->go);
        if (w->ms < 0)
            return NULL;
        if (w->captures)
            counter_add(&w->state->counters.launches_captured, 1);
        for (int64_t end = clock_thread_cpu() + w->ms * MS; clock_thread_cpu() < end;)
            continue;
    }
}

static void turn(struct worker *w, int64_t ms, bool captures)
{
    w->ms = ms;
    w->captures = captures;
    sem_post(&w->go);
    if (ms >= 0)
        sem_wait(&w->done);
}

static void worker_start(struct worker *w)
{
    *w = (struct worker){0};
    sem_init(&w->go, 0, 0);
    sem_init(&w->done, 0, 0);
    assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
    sem_wait(&w->done);
}

static uint32_t part(const struct worker *w)
{
    return atomic_load(&w->state->turn);
}

static void no_scopes(struct thread_state *t)
{
    (void)t;
}

static void session_starts(void)
{
    atomic_fetch_add(&capture_gate.session, 1);
    atomic_store(&capture_gate.gate, GATE_ON);
    threads_begin_session();
    turns_begin();
}

TEST(the_collector_looks_at_threads_that_capture)
{
    struct worker a, b;
    int64_t now = 7 * SECOND;
    assert_int_equal(threads_init(no_scopes), 0);
    session_starts();
    worker_start(&a);
    worker_start(&b);

    turn(&a, 1, true);
    turn(&b, 1, true);
    turns_look(now); /* the first check: how long they worked is unknown */
    assert_int_equal(part(&a), 0);
    turn(&a, 60, true);
    turn(&b, 20, true);
    turns_look(now + SECOND - 1); /* too early */
    assert_int_equal(part(&a), 0);
    turns_look(now += SECOND);
    assert_in_range(part(&a), 180, 204); /* three quarters */
    assert_in_range(part(&b), 52, 76);

    turn(&a, 20, true);
    turn(&b, 60, false); /* works, but no launch is captured */
    turns_look(now += SECOND);
    assert_int_equal(part(&a), TURN_WHOLE);
    assert_in_range(part(&b), 52, 76); /* as before */

    session_starts();
    turn(&a, 20, true);
    turn(&b, 20, true);
    assert_int_equal(part(&a), 0);
    turn(&a, 20, true);
    turn(&b, 20, true);
    turns_look(now += SECOND); /* the first check of this session */
    assert_int_equal(part(&a), 0);
    turn(&a, 30, true);
    turn(&b, 30, true);
    turns_look(now += SECOND);
    assert_in_range(part(&a), 116, 140);
    assert_in_range(part(&b), 116, 140);

    turn(&b, -1, false);
    pthread_join(b.thread, NULL);
    turn(&a, 10, true);
    turns_look(now += SECOND); /* the other thread has ended */
    assert_int_equal(part(&a), TURN_WHOLE);
    turn(&a, -1, false);
    pthread_join(a.thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_has_the_whole_second),
        cmocka_unit_test(threads_that_take_turns_share_a_second),
        cmocka_unit_test(threads_that_work_at_once_have_a_second_each),
        cmocka_unit_test(the_collector_looks_at_threads_that_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
