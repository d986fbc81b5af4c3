/* The sampler: continuous, in windows, in scopes; failing devices; its end. The test provides the
 * devices, and waits until the sampler asks them. */
#include "monitor/sampler.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/process/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct devices {
    int unused;
};

static struct devices the_devices;
static _Atomic int samples, opens, closes;
static _Atomic bool fail_open, fail_sample, scope_open;

static int fake_open(struct devices **out, struct err *e)
{
    if (fail_open)
        return err_set(e, GPUFL_E_UNAVAILABLE, "no driver: install one");
    opens++;
    *out = &the_devices;
    return 0;
}

static int fake_count(struct devices *d)
{
    (void)d;
    return 2;
}

static int fake_describe(struct devices *d, int index, struct device_row *row,
                         struct device_text *text)
{
    (void)d;
    row->memory_total = 1000 + index;
    snprintf(text->name, sizeof text->name, "device %d", index);
    return 0;
}

static int fake_sample(struct devices *d, int index, struct device_metric_row *row)
{
    (void)d;
    samples++;
    if (fail_sample && index == 1)
        return GPUFL_E_VENDOR;
    row->power = 100 * index;
    return 0;
}

static void fake_close(struct devices *d)
{
    (void)d;
    closes++;
}

static const struct device_ops fake = {.open = fake_open,
                                       .count = fake_count,
                                       .describe = fake_describe,
                                       .sample = fake_sample,
                                       .close = fake_close};

static struct {
    int devices, windows, device_rows, host_rows, wrong;
} seen;

static void see_device(void *arg, int index, const struct device_row *row,
                       const struct device_text *text)
{
    (void)arg;
    seen.devices++;
    seen.wrong += row->index != index || row->memory_total != 1000 + index ||
                  row->sm_count != CELL_NULL || strncmp(text->name, "device", 6) != 0;
}

static void see_row(void *arg, enum record_type type, const int64_t *cells)
{
    (void)arg;
    const struct device_metric_row *d = (const void *)cells;
    seen.windows += type == RECORD_window;
    seen.host_rows += type == RECORD_host_metric;
    seen.device_rows += type == RECORD_device_metric;
    if (type == RECORD_device_metric)
        seen.wrong += d->power != 100 * d->device || d->gpu_util != CELL_NULL;
}

static const struct sampler_visitor visitor = {.device = see_device, .row = see_row};

static bool in_scope(void *arg)
{
    (void)arg;
    return scope_open;
}

static void wake(void *arg)
{
    (void)arg;
}

static int setup(void **state)
{
    (void)state;
    samples = opens = closes = 0;
    fail_open = fail_sample = scope_open = false;
    memset(&seen, 0, sizeof seen);
    return 0;
}

static struct sampler *start(int64_t interval_ms, bool continuous)
{
    struct sampler *s;
    struct sampler_config c = {.devices = &fake,
                               .interval_ns = interval_ms * 1000000,
                               .continuous = continuous,
                               .in_scope = in_scope,
                               .wake = wake};
    assert_int_equal(sampler_open(&s, &c), 0);
    return s;
}

static void wait_for_samples(int n)
{
    while (samples < n)
        sched_yield();
}

static void end(struct sampler *s, struct sampler_status *status)
{
    sampler_stop(s);
    sampler_drain(s, &visitor);
    sampler_status(s, status);
    sampler_close(s);
    assert_int_equal(seen.wrong, 0);
}

TEST(test_continuous)
{
    struct sampler_status st;
    struct sampler *s = start(1, true);
    wait_for_samples(4);
    sampler_drain(s, &visitor);
    wait_for_samples(10);
    end(s, &st);
    assert_int_equal(seen.devices, 2);
    assert_true(seen.device_rows >= 10 && seen.device_rows == samples);
    assert_int_equal(seen.host_rows * 2, seen.device_rows);
    assert_int_equal(seen.windows, 0);
    assert_int_equal(st.devices, 2);
    assert_int_equal(st.device_samples, seen.device_rows);
    assert_true(st.cpu_ns > 0);
    assert_int_equal(opens, 1);
    assert_int_equal(closes, 1);
}

/* An hour between samples: the first is taken at once all the same. */
TEST(test_first_sample_at_once)
{
    struct sampler_status st;
    struct sampler *s = start(3600000, true);
    wait_for_samples(2);
    end(s, &st);
    assert_int_equal(seen.device_rows, 2);
    assert_int_equal(seen.host_rows, 1);
}

/* The end comes while the thread starts. */
TEST(test_a_life_without_time_has_a_sample)
{
    struct sampler_status st;
    end(start(3600000, true), &st);
    assert_int_equal(seen.device_rows, 2);
    assert_int_equal(seen.host_rows, 1);
    assert_int_equal(st.device_samples, 2);
}

TEST(test_windows)
{
    struct sampler_status st;
    struct sampler *s = start(3600000, false);
    assert_false(sampler_window(s, 5, false));
    assert_true(sampler_window(s, 5, true));
    wait_for_samples(2);
    assert_true(sampler_window(s, 6, true)); /* inside the window: no sample of its own */
    assert_true(sampler_window(s, 5, false));
    assert_false(sampler_window(s, 5, false));
    assert_true(sampler_window(s, 6, false));
    end(s, &st);
    assert_int_equal(seen.windows, 4);
    assert_int_equal(seen.device_rows, 2);
}

TEST(test_nothing_outside_of_windows)
{
    struct sampler_status st = {.devices = -1};
    struct sampler *s = start(1, false);
    while (st.devices < 0)
        sampler_status(s, &st);
    end(s, &st);
    assert_int_equal(samples, 0);
    assert_int_equal(seen.device_rows + seen.host_rows + seen.windows, 0);
}

TEST(test_scopes_open_a_window)
{
    struct sampler_status st;
    struct sampler *s = start(1, false);
    scope_open = true;
    wait_for_samples(6);
    scope_open = false;
    do {
        sampler_drain(s, &visitor);
        sched_yield();
    } while (seen.windows < 2);
    end(s, &st);
    assert_int_equal(seen.windows, 2);
    assert_true(seen.device_rows >= 6);
}

TEST(test_too_many_windows)
{
    struct sampler_status st;
    struct sampler *s = start(3600000, false);
    int opened = 0;
    for (uint32_t i = 1; i < 200; i++)
        opened += sampler_window(s, i, true);
    assert_int_equal(opened, 64);
    end(s, &st);
    assert_int_equal(seen.windows, 64);
}

TEST(test_devices_that_fail)
{
    struct sampler_status st;
    fail_sample = true;
    struct sampler *s = start(1, true);
    wait_for_samples(6);
    end(s, &st);
    assert_true(st.device_failures >= 3);
    assert_int_equal(seen.device_rows, st.device_samples);
    assert_true(seen.host_rows > 0);

    setup(NULL);
    fail_open = true;
    s = start(1, true);
    do
        sampler_status(s, &st);
    while (st.host_samples < 3);
    end(s, &st);
    assert_string_equal(st.problem, "no driver: install one");
    assert_int_equal(st.devices, 0);
    assert_int_equal(seen.device_rows, 0);
    assert_true(seen.host_rows >= 3); /* the host is still sampled */
    assert_int_equal(closes, 0);
}

/* Nobody takes the rows: the queue is bounded and says what it left out. */
TEST(test_queue_is_bounded)
{
    struct sampler_status st;
    struct sampler *s = start(3600000, false);
    for (int i = 0; i < 20000; i++) {
        assert_true(sampler_window(s, 1, true));
        assert_true(sampler_window(s, 1, false));
    }
    end(s, &st);
    assert_true(st.dropped > 0);
    assert_true(seen.windows <= 16384);
    assert_true(seen.windows + st.dropped >= 40000);
}

TEST(test_no_memory)
{
    struct sampler *s;
    struct sampler_config c = {.devices = &fake, .interval_ns = 1, .in_scope = in_scope};
    int rc = GPUFL_E_NOMEM, n = 0;
    for (; rc == GPUFL_E_NOMEM; n++) {
        mem_fail_at(n);
        rc = sampler_open(&s, &c);
        mem_fail_at(-1);
        assert_true(rc ? !s : s != NULL);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 3); /* the sampler, and what it reads of the control group */
    sampler_close(s);
}

#define CASE(fn) cmocka_unit_test_setup(fn, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_continuous),
        CASE(test_first_sample_at_once),
        CASE(test_a_life_without_time_has_a_sample),
        CASE(test_windows),
        CASE(test_nothing_outside_of_windows),
        CASE(test_scopes_open_a_window),
        CASE(test_too_many_windows),
        CASE(test_devices_that_fail),
        CASE(test_queue_is_bounded),
        CASE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
