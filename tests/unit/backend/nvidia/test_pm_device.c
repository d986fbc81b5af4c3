/* test_pm_device.c - tests a device that is drained by a delayed thread: its samples keep their
 * times, within the reported error. */

#include "backend/nvidia/engine/pm/device.h"
#include "base/clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

#define MS INT64_C(1000000)

static const uint64_t AHEAD = UINT64_C(1700000000000000000);

/* A library of one device, which ends a record every millisecond. */
static struct {
    int64_t began, read, held_before, held_after;
    uint64_t ahead;
    uint64_t ends[1000];
    size_t count, room;
} device;

static void hold(int64_t ns)
{
    for (int64_t until = clock_mono() + ns; clock_mono() < until;)
        nanosleep(&(struct timespec){.tv_nsec = MS / 10}, NULL);
}

static int decode(struct pm_decode_params *p)
{
    hold(device.held_before);
    int64_t now = clock_mono();
    device.count = 0;
    for (; device.read + MS <= now && device.count < device.room; device.read += MS)
        device.ends[device.count++] = (uint64_t)(device.read + MS) + device.ahead;
    hold(device.held_after);
    p->stop = device.read + MS <= now ? PM_STOP_IMAGE_FULL : PM_STOP_END;
    p->overflow = 0;
    return CUPTI_OK;
}

static int info(struct pm_info_params *p)
{
    p->completed = p->populated = p->room = device.count;
    return CUPTI_OK;
}

static int sample(struct pm_sample_params *p)
{
    p->end = device.ends[p->index];
    p->start = p->end - (uint64_t)MS;
    return CUPTI_OK;
}

static void drained(struct pm_device *d, int64_t before, int64_t after)
{
    device.held_before = before;
    device.held_after = after;
    hold(5 * MS);
    assert_int_equal(pm_device_drain(d), CUPTI_OK);
    assert_true(d->samples >= 4);
    int64_t error = pm_clock_error(&d->clock);
    for (size_t i = 0; i < d->samples; i++) {
        int64_t off =
            pm_clock_ours(&d->clock, device.ends[i]) - (int64_t)(device.ends[i] - device.ahead);
        assert_true(llabs(off) <= error);
    }
}

static const struct profiler_library library = {
    .cuptiPmSamplingDecodeData = decode,
    .cuptiPmSamplingGetCounterDataInfo = info,
    .cuptiPmSamplingCounterDataGetSampleInfo = sample,
};

/* By the first drain there are more samples than the image holds, and the device's clock is the
 * wall clock. */
static void a_first_drain_that_is_late(void **state)
{
    struct pm_device d = {.state = PM_STARTED,
                          .object = (struct pm_object *)&device,
                          .library = &library,
                          .setup.interval = MS,
                          .room = 20};
    (void)state;
    device.room = 20;
    device.ahead = (uint64_t)(clock_real() - clock_mono());
    device.began = device.read = d.began = d.counted = clock_mono();
    hold(60 * MS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pm_device_drain(&d), CUPTI_OK);
        for (size_t k = 0; k < d.samples; k++) {
            int64_t truth = (int64_t)(device.ends[k] - device.ahead);
            assert_true(llabs(pm_clock_ours(&d.clock, device.ends[k]) - truth) < MS);
        }
    }
    assert_false(d.clock.apart);
}

static void a_thread_that_is_held_up(void **state)
{
    struct pm_device d = {.state = PM_STARTED,
                          .object = (struct pm_object *)&device,
                          .library = &library,
                          .setup.interval = MS,
                          .room = 1000};
    (void)state;
    device.room = 1000;
    device.ahead = AHEAD;
    device.held_before = device.held_after = 0;
    device.began = device.read = d.began = d.counted = clock_mono();
    drained(&d, 0, 0);
    drained(&d, 40 * MS, 0); /* delayed before the read, which reads later samples, too */
    drained(&d, 0, 40 * MS);
    drained(&d, 0, 0);
    assert_true(pm_clock_error(&d.clock) < 40 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_drain_that_is_late),
        cmocka_unit_test(a_thread_that_is_held_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
