/* test_detach.c - tests when CUPTI is detached between windows, and when not. */
#include "backend/nvidia/life/detach.h"
#include "tests/test.h"

#include "backend/nvidia/life/object_calls.h"
#include "base/clock.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* ---- a CUPTI that counts --------------------------------------------------------------- */

enum { CREATE = 757 }; /* cuCtxCreate_v4 */

static int forced, finalized, finalize_result;
static void (*while_forced)(void); /* NULL: nothing happens meanwhile */

static int fake_flush(uint32_t flags)
{
    forced += flags == CUPTI_FLUSH_FORCED;
    if (flags == CUPTI_FLUSH_FORCED && while_forced)
        while_forced();
    return CUPTI_OK;
}

static int fake_finalize(void)
{
    finalized++;
    return finalize_result;
}

static int fake_dropped(cuda_context context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = 0;
    return CUPTI_OK;
}

static int subscribed, callbacks;
static int subscriber;

static int fake_subscribe(cupti_subscriber *out, cupti_callback_fn fn, void *user)
{
    (void)fn, (void)user;
    *out = (cupti_subscriber)&subscriber;
    subscribed++;
    return CUPTI_OK;
}

static int fake_callback(uint32_t on, cupti_subscriber s, int domain, uint32_t id)
{
    assert_ptr_equal(s, &subscriber);
    callbacks += on && domain == CUPTI_DOMAIN_DRIVER && id == CREATE;
    return CUPTI_OK;
}

static int woken;

static void wake(struct sink *s)
{
    (void)s;
    woken++;
}

static const struct cupti cupti = {.cuptiActivityFlushAll = fake_flush,
                                   .cuptiSubscribe = fake_subscribe,
                                   .cuptiEnableCallback = fake_callback,
                                   .cuptiActivityGetNumDroppedRecords = fake_dropped,
                                   .cuptiFinalize = fake_finalize};
static int messages;

static void message(struct sink *s, enum severity severity, const char *code, const char *format,
                    ...)
{
    (void)s, (void)severity, (void)format;
    assert_string_equal(code, "windows.not_quiet");
    messages++;
}

static const struct sink_ops ops = {.wake = wake, .message = message};
static struct sink sink = {.ops = &ops};
static struct trace trace;
static struct err err;

/* CUPTI is attached, and no window has been open yet. */
static int setup(void **state)
{
    (void)state;
    memset(&trace, 0, sizeof trace);
    trace.cupti = &cupti;
    trace.sink = &sink;
    trace.config.windows = trace.detaches = true;
    trace.config.rest_ns = 1;
    trace.config.detach = true;
    trace.config.engines = ENGINE_SYNC;
    trace.subscriber = (cupti_subscriber)&subscriber;
    atomic_store(&trace.pool, buffers_open(&trace.pools, 1 << 16, 1 << 20));
    assert_non_null(atomic_load(&trace.pool));
    forced = finalized = subscribed = callbacks = woken = messages = 0;
    finalize_result = CUPTI_OK;
    while_forced = NULL;
    detach_start(&trace);
    assert_int_equal(atomic_load(&trace.attach_state), ATTACH_NONE);
    atomic_store(&trace.attach_state, ATTACH_SHUT);
    object_calls_session();
    object_calls_begin(&trace);
    return 0;
}

static void window(void)
{
    assert_int_equal(detach_window(&trace, true, &err), 0);
    assert_int_equal(detach_window(&trace, false, &err), 0);
}

static void stays_after_a_window(void)
{
    window();
    detach_flush(&trace);
    detach_taken(&trace);
    detach_now(&trace, 7);
    assert_int_equal(forced, 0);
    assert_int_equal(finalized, 0);
}

TEST(goes_at_the_exit_of_a_call)
{
    window();
    detach_now(&trace, 7);
    detach_taken(&trace);
    assert_int_equal(finalized, 0); /* nothing was flushed */
    detach_flush(&trace);
    detach_now(&trace, 7);
    assert_int_equal(finalized, 0); /* nor decoded */
    assert_int_equal(forced, 1);
    detach_taken(&trace);
    assert_true(detach_is_away(&trace));
    assert_int_equal(trace_id(&trace, 6), 6);
    detach_now(&trace, 7);
    assert_int_equal(finalized, 1);
    assert_null(trace.subscriber);
    assert_int_equal(trace_id(&trace, 1), 8); /* CUPTI will begin with 1 again */
}

/* The second window's records came after the flush: a detach would lose them. */
TEST(not_after_a_window_that_came_between)
{
    window();
    detach_flush(&trace);
    window();
    detach_taken(&trace);
    detach_now(&trace, 7);
    assert_int_equal(finalized, 0);
    assert_false(detach_is_away(&trace));
    detach_flush(&trace);
    detach_taken(&trace);
    detach_now(&trace, 7);
    assert_int_equal(finalized, 1);
    assert_int_equal(forced, 2);
}

TEST(not_while_one_is_open)
{
    window();
    detach_flush(&trace);
    detach_taken(&trace);
    assert_int_equal(detach_window(&trace, true, &err), 0); /* cancels the detach */
    detach_now(&trace, 7);
    detach_flush(&trace);
    detach_taken(&trace);
    assert_int_equal(finalized, 0);
    assert_int_equal(forced, 1);
    assert_int_equal(detach_window(&trace, false, &err), 0);
}

/* A buffer that CUPTI has not given back holds kernels that still run. */
TEST(not_before_buffers_are_back)
{
    struct buffers *pool = atomic_load(&trace.pool);
    uint8_t *b = buffers_take(pool);
    window();
    detach_flush(&trace);
    assert_int_equal(forced, 0);
    assert_true(buffers_give(pool, b, 0, false));
    detach_flush(&trace);
    assert_int_equal(forced, 1);
}

static pthread_t opener;
static _Atomic bool open_now;

static void *open_window(void *arg)
{
    (void)arg;
    assert_int_equal(detach_window(&trace, true, &err), 0);
    atomic_store(&open_now, true);
    return NULL;
}

static void open_meanwhile(void)
{
    assert_int_equal(pthread_create(&opener, NULL, open_window, NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_false(atomic_load(&open_now));
}

/* Launches of a window that opens while records are forced out would have no times. */
TEST(a_window_waits_for_what_is_forced_out)
{
    window();
    atomic_store(&open_now, false);
    while_forced = open_meanwhile;
    detach_flush(&trace);
    while_forced = NULL;
    pthread_join(opener, NULL);
    assert_true(atomic_load(&open_now));
    detach_taken(&trace);
    detach_now(&trace, 7);
    assert_int_equal(finalized, 0);
}

TEST(stays_where_it_was_refused)
{
    uint64_t done, failed;
    finalize_result = CUPTI_E_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        window();
        detach_flush(&trace);
        detach_taken(&trace);
        detach_now(&trace, 7);
    }
    detach_released(&trace, &done, &failed);
    assert_int_equal(finalized, 1);
    assert_int_equal(done, 0);
    assert_int_equal(failed, 1);
    assert_int_equal(trace_id(&trace, 8), 8);
    assert_false(detach_is_away(&trace));
}

static void a_call(int site, uint32_t correlation)
{
    assert_true(object_calls_take(
        CREATE, &(struct cupti_callback){.site = site, .correlation = correlation}));
}

static const struct timespec many_times_longer = {.tv_nsec = 50000000};

/* If CUPTI is finalized while a context is made, the program faults. */
TEST(not_while_a_context_is_made)
{
    window();
    detach_flush(&trace);
    detach_taken(&trace);
    a_call(CUPTI_SITE_ENTER, 5);
    a_call(CUPTI_SITE_ENTER, 6);
    a_call(CUPTI_SITE_EXIT, 4); /* its begin was not reported */
    nanosleep(&many_times_longer, NULL);
    detach_now(&trace, 7);
    a_call(CUPTI_SITE_EXIT, 5);
    assert_true(object_calls_under_way());
    detach_now(&trace, 7);
    assert_int_equal(finalized, 0);
    a_call(CUPTI_SITE_EXIT, 6);
    while (!object_calls_quiet(trace.config.rest_ns))
        continue;
    detach_now(&trace, 7);
    assert_int_equal(finalized, 1);
}

/* If too many objects are made at once to follow each, it is unknown when all are made. */
TEST(not_where_too_many_are_made)
{
    for (uint32_t i = 1; i <= 2000; i++)
        a_call(CUPTI_SITE_ENTER, i);
    for (uint32_t i = 1; i <= 2000; i++)
        a_call(CUPTI_SITE_EXIT, i);
    struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL); /* many times what it took */
    assert_false(object_calls_quiet(0));
    object_calls_begin(&trace);
    while (!object_calls_quiet(0))
        nanosleep(&pause, NULL);
}

/* Most programs make objects when they begin; one that keeps making them is never quiet. */
TEST(not_sooner_than_is_usual)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    assert_true(object_calls_quiet(INT64_MAX)); /* no call was made yet */
    a_call(CUPTI_SITE_ENTER, 1);
    assert_false(object_calls_quiet(0));
    a_call(CUPTI_SITE_EXIT, 1);
    assert_false(object_calls_quiet(INT64_MAX));
    nanosleep(&pause, NULL);
    int64_t begin = clock_mono();
    a_call(CUPTI_SITE_ENTER, 2);
    a_call(CUPTI_SITE_EXIT, 2);
    while (!object_calls_quiet(0))
        nanosleep(&pause, NULL);
    assert_true(clock_mono() - begin >= 10 * (int64_t)pause.tv_nsec);
}

/* If the program is never quiet, that is reported once. */
TEST(not_where_it_is_never_quiet)
{
    a_call(CUPTI_SITE_ENTER, 1);
    stays_after_a_window();
    assert_int_equal(messages, 0);
    detach_conclude(&trace);
    detach_conclude(&trace);
    assert_int_equal(messages, 1);
}

/* After CUPTI was finalized, the collector subscribes again, once, so that new contexts are
 * reported. */
TEST(comes_back_for_contexts)
{
    window();
    detach_flush(&trace);
    detach_taken(&trace);
    detach_return(&trace);
    assert_int_equal(subscribed, 0);
    detach_now(&trace, 7);
    assert_int_equal(woken, 1);
    assert_null(trace.subscriber);
    callbacks = 0;
    detach_return(&trace);
    detach_return(&trace);
    assert_int_equal(subscribed, 1);
    assert_int_equal(callbacks, 1);
    assert_ptr_equal(trace.subscriber, &subscriber);
    assert_true(detach_is_away(&trace));
}

TEST(not_before_it_has_rested)
{
    const int64_t rests[] = {3600000000000, 0}; /* an hour; never */
    for (int i = 0; i < 2; i++) {
        trace.config.rest_ns = rests[i];
        stays_after_a_window();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(goes_at_the_exit_of_a_call, setup),
        cmocka_unit_test_setup(not_after_a_window_that_came_between, setup),
        cmocka_unit_test_setup(not_while_one_is_open, setup),
        cmocka_unit_test_setup(not_before_buffers_are_back, setup),
        cmocka_unit_test_setup(a_window_waits_for_what_is_forced_out, setup),
        cmocka_unit_test_setup(stays_where_it_was_refused, setup),
        cmocka_unit_test_setup(not_while_a_context_is_made, setup),
        cmocka_unit_test_setup(not_where_too_many_are_made, setup),
        cmocka_unit_test_setup(not_sooner_than_is_usual, setup),
        cmocka_unit_test_setup(not_where_it_is_never_quiet, setup),
        cmocka_unit_test_setup(comes_back_for_contexts, setup),
        cmocka_unit_test_setup(not_before_it_has_rested, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
