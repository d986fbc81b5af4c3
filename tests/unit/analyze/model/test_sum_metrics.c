/* test_sum_metrics.c - unknown is not zero; energy by counter or by power. */
#include "analyze/model/model.h"
#include "tests/test.h"

#include "tests/unit/support/rows.h"

#include <math.h>

static void put_sample(struct model *m, int64_t time, int64_t util, int64_t power, int64_t energy,
                       int64_t throttle)
{
    struct device_metric_row r;
    int64_t *cells = (int64_t *)&r;
    for (unsigned c = 0; c < COL_device_metric_COUNT; c++)
        cells[c] = CELL_NULL;
    r.time = time;
    r.device = 1;
    r.gpu_util = util;
    r.power = power;
    r.energy = energy;
    r.throttle = throttle;
    rows_put(m, RECORD_device_metric, &r);
}

static void open_model(struct model *m)
{
    struct device_row d = {.id = 1, .index = 0};
    model_init(m, names);
    rows_put(m, RECORD_device, &d);
}

static const struct device_metrics *only(const struct model *m)
{
    assert_int_equal(m->metrics.device_count, 2);
    return &m->metrics.devices[1];
}

TEST(test_unknown)
{
    struct model m;
    open_model(&m);
    put_sample(&m, 1, CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL);
    put_sample(&m, 2, 50, CELL_NULL, CELL_NULL, CELL_NULL);
    put_sample(&m, 3, 0, CELL_NULL, CELL_NULL, CELL_NULL);
    const struct device_metrics *d = only(&m);
    const struct metric_sum *util = &d->metrics[COL_device_metric_gpu_util];
    double joules;
    bool counter;
    assert_int_equal(d->samples, 3);
    assert_int_equal(util->count, 2);
    assert_true(util->min == 0 && util->max == 50 && sum_metrics_mean(util) == 25);
    assert_int_equal(d->metrics[COL_device_metric_power].count, 0);
    assert_true(sum_metrics_mean(&d->metrics[COL_device_metric_power]) == 0);
    assert_false(sum_metrics_energy(d, &joules, &counter));
    assert_int_equal(d->throttle_known, 0);
    model_fini(&m);
}

/* A counter that was reset in between: that step is unknown, the others count. */
TEST(test_counter)
{
    static const int64_t energies[] = {1000, 1500, CELL_NULL, 2000, 10, 60};
    struct model m;
    double joules;
    bool counter;
    open_model(&m);
    for (int64_t i = 0; i < 6; i++)
        put_sample(&m, i * 1000000000, 1, 100000, energies[i], 0);
    assert_true(sum_metrics_energy(only(&m), &joules, &counter));
    assert_true(counter);
    assert_true(fabs(joules - 1.05) < 1e-9);
    model_fini(&m);
}

/* 100 W rising to 300 W within 2 s, then 1 s at 300 W: 400 J + 300 J. */
TEST(test_power)
{
    struct model m;
    double joules;
    bool counter;
    open_model(&m);
    put_sample(&m, 1000000000, 1, 100000, CELL_NULL, 0);
    put_sample(&m, 3000000000, 1, 300000, CELL_NULL, 0);
    put_sample(&m, 3500000000, 1, CELL_NULL, CELL_NULL, 0);
    put_sample(&m, 4000000000, 1, 300000, CELL_NULL, 0);
    assert_true(sum_metrics_energy(only(&m), &joules, &counter));
    assert_false(counter);
    assert_true(fabs(joules - 700) < 1e-9);
    model_fini(&m);
}

TEST(test_throttle)
{
    struct model m;
    open_model(&m);
    put_sample(&m, 1, 1, 1, 1, 4 | 64);
    put_sample(&m, 2, 1, 1, 1, 4);
    put_sample(&m, 3, 1, 1, 1, CELL_NULL);
    put_sample(&m, 4, 1, 1, 1, 0);
    const struct device_metrics *d = only(&m);
    assert_int_equal(d->throttle_known, 3);
    assert_int_equal(d->throttled[2], 2);
    assert_int_equal(d->throttled[6], 1);
    assert_string_equal(sum_metrics_throttle_key(2), "power_cap");
    assert_true(sum_metrics_throttle_bad(2));
    assert_false(sum_metrics_throttle_bad(0)); /* idle */
    model_fini(&m);
}

/* Two processes sampled one device: its energy is not added up. */
TEST(test_merge)
{
    struct model all, m;
    double joules;
    bool counter;
    model_init(&all, names);
    for (int i = 0; i < 2; i++) {
        open_model(&m);
        put_sample(&m, 1, 10, 1, 5000, 0);
        put_sample(&m, 2, 30, 1, 9000 - i * 1000, 0);
        assert_int_equal(model_finish(&m), 0);
        assert_int_equal(model_merge(&all, &m), 0);
        model_fini(&m);
    }
    assert_int_equal(model_settle(&all), 0);
    const struct device_metrics *d = only(&all);
    assert_int_equal(d->samples, 4);
    assert_true(sum_metrics_mean(&d->metrics[COL_device_metric_gpu_util]) == 20);
    assert_true(sum_metrics_energy(d, &joules, &counter) && joules == 4);
    model_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_counter), cmocka_unit_test(test_power),
                                       cmocka_unit_test(test_throttle),
                                       cmocka_unit_test(test_merge)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
