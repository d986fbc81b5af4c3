/* test_workers.c - tests a bounded pool: every accepted task runs, and tasks beyond the limit are
 * refused. */
#include "net/server/workers.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int ran;

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

/* A gate at which tasks wait until it opens. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside;
    bool open;
};

static void stand(void *arg)
{
    struct gate *g = arg;
    pthread_mutex_lock(&g->lock);
    g->inside++;
    pthread_cond_broadcast(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

TEST(test_full_queue_is_reported)
{
    struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
    struct workers *w;
    atomic_store(&ran, 0);
    assert_int_equal(workers_open(&w, "test", 2, 3, NULL), 0);
    assert_true(workers_submit(w, stand, &g));
    assert_true(workers_submit(w, stand, &g));
    pthread_mutex_lock(&g.lock);
    while (g.inside < 2)
        pthread_cond_wait(&g.changed, &g.lock);
    pthread_mutex_unlock(&g.lock);
    for (int i = 0; i < 3; i++)
        assert_true(workers_submit(w, count, NULL));
    assert_false(workers_submit(w, count, NULL));
    struct workers_load load = workers_load(w);
    assert_int_equal(load.busy, 2);
    assert_int_equal(load.waiting, 3);
    assert_int_equal(load.threads, 2);
    pthread_mutex_lock(&g.lock);
    g.open = true;
    pthread_cond_broadcast(&g.changed);
    pthread_mutex_unlock(&g.lock);
    workers_close(w); /* runs the tasks that wait */
    assert_int_equal(atomic_load(&ran), 3);
}

static void *feed(void *arg)
{
    for (int i = 0; i < 5000;)
        i += workers_submit(arg, count, NULL);
    return NULL;
}

TEST(test_many_feeders)
{
    struct workers *w;
    pthread_t threads[4];
    atomic_store(&ran, 0);
    assert_int_equal(workers_open(&w, "test", 3, 64, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, feed, w);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    workers_close(w);
    assert_int_equal(atomic_load(&ran), 20000);
}

TEST(test_bad_sizes)
{
    struct workers *w;
    struct err e = {0};
    assert_int_equal(workers_open(&w, "test", 0, 1, &e), GPUFL_E_INVAL);
    assert_null(w);
    assert_true(e.text[0]);
    assert_int_equal(workers_open(&w, "test", 100000, 1, &e), GPUFL_E_INVAL);
    workers_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_queue_is_reported),
        cmocka_unit_test(test_many_feeders),
        cmocka_unit_test(test_bad_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
