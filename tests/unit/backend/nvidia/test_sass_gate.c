/* test_sass_gate.c - tests for which threads the gate waits, and which threads wait at the gate. */
#include "backend/nvidia/engine/sass/gate.h"
#include "tests/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { SHORT = 20000000, ROUNDS = 2000, THREADS = 4 }; /* ns */
static const int64_t LONG = 60000000000;               /* ns */

/* A thread that enters, posts `entered`, and leaves when `leave` is posted. */
struct visitor {
    pthread_t thread;
    sem_t entered, leave;
};

static void *visit(void *arg)
{
    struct visitor *v = arg;
    sass_gate_enters();
    sem_post(&v->entered);
    sem_wait(&v->leave);
    sass_gate_leaves();
    return NULL;
}

static void visitor_start(struct visitor *v)
{
    sem_init(&v->entered, 0, 0);
    sem_init(&v->leave, 0, 0);
    assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
}

static void visitor_end(struct visitor *v)
{
    sem_post(&v->leave);
    pthread_join(v->thread, NULL);
    sem_destroy(&v->entered);
    sem_destroy(&v->leave);
}

static bool shut_and_open(int64_t patience)
{
    bool alone = sass_gate_shut(patience);
    sass_gate_open();
    return alone;
}

TEST(others_are_waited_for)
{
    struct visitor v;
    sass_gate_begin();
    assert_true(shut_and_open(0));
    visitor_start(&v);
    sem_wait(&v.entered);
    assert_false(shut_and_open(0));
    assert_false(shut_and_open(SHORT));
    sem_post(&v.leave); /* the call returns during the wait, or before */
    assert_true(shut_and_open(LONG));
    visitor_end(&v);
}

/* A thread that shuts the gate from inside a call does not wait for itself. */
TEST(own_calls_are_not)
{
    sass_gate_begin();
    sass_gate_enters();
    assert_true(shut_and_open(0));
    sass_gate_leaves();
    assert_true(shut_and_open(0));
}

TEST(who_comes_waits_outside)
{
    struct visitor v;
    sass_gate_begin();
    assert_true(sass_gate_shut(0));
    visitor_start(&v);
    assert_true(sass_gate_shut(SHORT));
    assert_int_not_equal(sem_trywait(&v.entered), 0);
    sass_gate_open();
    sem_wait(&v.entered);
    assert_false(shut_and_open(0));
    visitor_end(&v);
    assert_true(shut_and_open(0));
}

/* The gate does not wait for a call that was under way when the session began. */
TEST(calls_of_before)
{
    struct visitor v;
    sass_gate_begin();
    sass_gate_leaves();
    assert_true(shut_and_open(0));
    visitor_start(&v);
    sem_wait(&v.entered);
    sass_gate_begin();
    assert_true(shut_and_open(0));
    visitor_end(&v);
    assert_true(shut_and_open(0));
}

static _Atomic bool over;
static _Atomic int inside;

static void *come_and_go(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        sass_gate_enters();
        atomic_fetch_add(&inside, 1);
        atomic_fetch_sub(&inside, 1);
        sass_gate_leaves();
    }
    return NULL;
}

TEST(nobody_is_inside)
{
    pthread_t threads[THREADS];
    sass_gate_begin();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(sass_gate_shut(LONG));
        assert_int_equal(atomic_load(&inside), 0);
        sass_gate_open();
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_waited_for),   cmocka_unit_test(own_calls_are_not),
        cmocka_unit_test(who_comes_waits_outside), cmocka_unit_test(calls_of_before),
        cmocka_unit_test(nobody_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
