/* test_nvidia_hold.c - when CUPTI is let go of between windows, and when not. */
#include "backend/nvidia/hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

/* ---- a CUPTI that counts --------------------------------------------------------------- */

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

static const struct cupti cupti = {.cuptiActivityFlushAll = fake_flush,
                                   .cuptiActivityGetNumDroppedRecords = fake_dropped,
                                   .cuptiFinalize = fake_finalize};
static int subscriber;
static struct trace trace;
static struct err err;

/* Attached, and nothing has been open yet. */
static int setup(void **state)
{
    (void)state;
    memset(&trace, 0, sizeof trace);
    trace.cupti = &cupti;
    trace.config.windows = trace.held = true;
    trace.config.engines = ENGINE_SYNC;
    trace.subscriber = (cupti_subscriber)&subscriber;
    atomic_store(&trace.pool, buffers_open(NULL, 1 << 16, 1 << 20));
    assert_non_null(atomic_load(&trace.pool));
    forced = finalized = 0;
    finalize_result = CUPTI_OK;
    while_forced = NULL;
    hold_start(&trace);
    return 0;
}

static void window(void)
{
    assert_int_equal(hold_switch(&trace, true, &err), 0);
    assert_int_equal(hold_switch(&trace, false, &err), 0);
}

static void goes_at_the_exit_of_a_call(void **state)
{
    (void)state;
    window();
    hold_let_go(&trace, 7);
    hold_taken(&trace);
    assert_int_equal(finalized, 0); /* nothing was flushed */
    hold_flush(&trace);
    hold_let_go(&trace, 7);
    assert_int_equal(finalized, 0); /* nor decoded */
    assert_int_equal(forced, 1);
    hold_taken(&trace);
    assert_true(hold_away(&trace));
    assert_int_equal(trace_id(&trace, 6), 6);
    hold_let_go(&trace, 7);
    assert_int_equal(finalized, 1);
    assert_null(trace.subscriber);
    assert_int_equal(trace_id(&trace, 1), 8); /* CUPTI will begin with 1 again */
}

/* Its records came behind the flush: they would go with CUPTI. */
static void not_behind_a_window_that_came_between(void **state)
{
    (void)state;
    window();
    hold_flush(&trace);
    window();
    hold_taken(&trace);
    hold_let_go(&trace, 7);
    assert_int_equal(finalized, 0);
    assert_false(hold_away(&trace));
    hold_flush(&trace);
    hold_taken(&trace);
    hold_let_go(&trace, 7);
    assert_int_equal(finalized, 1);
    assert_int_equal(forced, 2);
}

static void not_while_one_is_open(void **state)
{
    (void)state;
    window();
    hold_flush(&trace);
    hold_taken(&trace);
    assert_int_equal(hold_switch(&trace, true, &err), 0); /* takes the word back */
    hold_let_go(&trace, 7);
    hold_flush(&trace);
    hold_taken(&trace);
    assert_int_equal(finalized, 0);
    assert_int_equal(forced, 1);
    assert_int_equal(hold_switch(&trace, false, &err), 0);
}

/* A buffer that CUPTI has not given back holds kernels that still run. */
static void not_before_buffers_are_back(void **state)
{
    (void)state;
    struct buffers *pool = atomic_load(&trace.pool);
    uint8_t *b = buffers_take(pool);
    window();
    hold_flush(&trace);
    assert_int_equal(forced, 0);
    assert_true(buffers_give(pool, b, 0, false));
    hold_flush(&trace);
    assert_int_equal(forced, 1);
}

static pthread_t opener;
static _Atomic bool open_now;

static void *open_window(void *arg)
{
    (void)arg;
    assert_int_equal(hold_switch(&trace, true, &err), 0);
    atomic_store(&open_now, true);
    return NULL;
}

static void open_beside(void)
{
    assert_int_equal(pthread_create(&opener, NULL, open_window, NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_false(atomic_load(&open_now));
}

/* What a window launches while records are forced out would come without times. */
static void a_window_waits_for_what_is_forced_out(void **state)
{
    (void)state;
    window();
    atomic_store(&open_now, false);
    while_forced = open_beside;
    hold_flush(&trace);
    while_forced = NULL;
    pthread_join(opener, NULL);
    assert_true(atomic_load(&open_now));
    hold_taken(&trace);
    hold_let_go(&trace, 7);
    assert_int_equal(finalized, 0);
}

static void stays_where_it_was_refused(void **state)
{
    (void)state;
    uint64_t done, failed;
    finalize_result = CUPTI_E_UNKNOWN;
    for (int i = 0; i < 2; i++) {
        window();
        hold_flush(&trace);
        hold_taken(&trace);
        hold_let_go(&trace, 7);
    }
    hold_released(&trace, &done, &failed);
    assert_int_equal(finalized, 1);
    assert_int_equal(done, 0);
    assert_int_equal(failed, 1);
    assert_int_equal(trace_id(&trace, 8), 8);
    assert_false(hold_away(&trace));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(goes_at_the_exit_of_a_call, setup),
        cmocka_unit_test_setup(not_behind_a_window_that_came_between, setup),
        cmocka_unit_test_setup(not_while_one_is_open, setup),
        cmocka_unit_test_setup(not_before_buffers_are_back, setup),
        cmocka_unit_test_setup(a_window_waits_for_what_is_forced_out, setup),
        cmocka_unit_test_setup(stays_where_it_was_refused, setup),
    };
    return cmocka_run_group_tests_name("nvidia_hold", tests, NULL, NULL);
}
