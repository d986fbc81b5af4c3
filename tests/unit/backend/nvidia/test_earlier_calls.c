/* test_earlier_calls.c - calls from before CUPTI reported calls: the gate waits for a thread
 * that can run until the thread has had some milliseconds of a processor, however long that takes;
 * it does not wait for a thread that sleeps or is gone. */
#include "backend/nvidia/life/earlier_calls.h"
#include "base/clock.h"
#include "base/process/thread.h"
#include "tests/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

static const int64_t RUN = 5000000; /* ns */

struct other {
    pthread_t thread;
    _Atomic int32_t tid;
    _Atomic bool over; /* ends a thread that runs */
    sem_t begun, end;  /* end: ends a thread that sleeps */
};

static void *run_on(void *arg)
{
    struct other *o = arg;
    atomic_store(&o->tid, thread_id());
    sem_post(&o->begun);
    while (!atomic_load(&o->over))
        continue;
    return NULL;
}

static void *sleep_on(void *arg)
{
    struct other *o = arg;
    atomic_store(&o->tid, thread_id());
    sem_post(&o->begun);
    while (sem_wait(&o->end))
        continue;
    return NULL;
}

static void other_start(struct other *o, void *(*fn)(void *))
{
    sem_init(&o->begun, 0, 0);
    sem_init(&o->end, 0, 0);
    atomic_store(&o->over, false);
    assert_int_equal(pthread_create(&o->thread, NULL, fn, o), 0);
    while (sem_wait(&o->begun))
        continue;
}

static void other_end(struct other *o)
{
    atomic_store(&o->over, true);
    sem_post(&o->end);
    assert_int_equal(pthread_join(o->thread, NULL), 0);
    sem_destroy(&o->begun);
    sem_destroy(&o->end);
}

static void wait_for_return(void)
{
    while (!earlier_calls_returned())
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

TEST(a_thread_that_can_run)
{
    struct other o;
    other_start(&o, run_on);
    int64_t before = clock_cpu_of_thread(atomic_load(&o.tid));
    assert_true(before >= 0);
    earlier_calls_begin();
    wait_for_return();
    assert_true(clock_cpu_of_thread(atomic_load(&o.tid)) - before >= RUN);
    assert_true(earlier_calls_returned());
    other_end(&o);
}

TEST(threads_that_cannot)
{
    struct other sleeps, goes;
    other_start(&sleeps, sleep_on);
    other_start(&goes, sleep_on);
    earlier_calls_begin();
    other_end(&goes);
    wait_for_return(); /* the other one sleeps until the end */
    other_end(&sleeps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_can_run),
        cmocka_unit_test(threads_that_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
