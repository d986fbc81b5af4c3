/* test_events.c - an event belongs to the GPU that had its index when it came, even if the driver
 * renumbers its GPUs before the event is taken; events that are ready at the end are queued. */
#include "monitord/events.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const int64_t SECOND = 1000000000;

static _Atomic int ready; /* events of index 0 that the driver has */
static _Atomic bool turned;
static struct gpus gpus;
static struct events events;
static struct wakeup taker;
static struct event_seen seen[EVENTS_MOST];

static int open_devices(struct devices **out, struct err *e)
{
    (void)e;
    *out = (struct devices *)&ready;
    return 0;
}

static void close_devices(struct devices *d)
{
    (void)d;
}

static int count_devices(struct devices *d)
{
    (void)d;
    return 2;
}

static int describe(struct devices *d, int index, struct device_row *row, struct device_text *text)
{
    (void)d, (void)row;
    snprintf(text->uuid, sizeof text->uuid, "GPU-%d", index ^ (int)turned);
    return 0;
}

static void widen(struct devices *d, bool activity)
{
    (void)d, (void)activity;
}

static int wait_for_event(struct devices *d, int64_t timeout_ns, struct device_event *out)
{
    (void)d, (void)timeout_ns;
    int left = atomic_load(&ready);
    while (left > 0)
        if (atomic_compare_exchange_weak(&ready, &left, left - 1)) {
            *out = (struct device_event){.kind = DEVICE_EVENT_XID, .index = 0, .code = 79};
            return 1;
        }
    return GPUFL_E_UNAVAILABLE; /* the thread pauses until it is stopped */
}

static const struct device_watch_ops watch = {.widen = widen, .wait = wait_for_event};
static const struct device_ops ops = {.open = open_devices,
                                      .close = close_devices,
                                      .count = count_devices,
                                      .describe = describe,
                                      .watch = &watch};

static void no_event(void *arg, int gpu, const char *kind, int64_t code)
{
    (void)arg, (void)gpu, (void)kind, (void)code;
}

static int setup(void **state)
{
    (void)state;
    turned = false;
    gpus_init(&gpus, &ops, false, no_event, NULL);
    assert_int_equal(gpus_open(&gpus, SECOND), 0);
    assert_int_equal(wakeup_init(&taker), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    events_fini(&events);
    gpus_close(&gpus);
    wakeup_fini(&taker);
    return 0;
}

TEST(of_the_gpu_that_had_the_index)
{
    uint64_t lost;
    ready = 1;
    assert_int_equal(events_start(&events, &gpus, &taker), 0);
    assert_true(wakeup_wait(&taker, -1)); /* queued, not taken */
    turned = true;
    gpus.retry_at = 2 * SECOND;
    gpus_refresh(&gpus, 2 * SECOND);
    assert_int_equal(gpus.items[0].index, 1);
    ready = 2;
    events_stop(&events); /* and two events of the GPU that has the index now */
    assert_int_equal(events_waiting(&events), 3);
    assert_int_equal(events_take(&events, seen, &lost), 2);
    assert_int_equal(seen[0].gpu, 0);
    assert_int_equal(seen[0].count, 1);
    assert_int_equal(seen[1].gpu, 1);
    assert_int_equal(seen[1].count, 2);
    assert_int_equal(lost, 0);
    assert_int_equal(events_waiting(&events), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_the_gpu_that_had_the_index, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
