/* test_history.c - planted steps, runs, hosts and GPUs are found; noise is not. */
#include "analyze/compare/history.h"
#include "tests/test.h"

#include <stdbool.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 200 };

static struct history_point points[MANY];
static struct history h;
static struct region mem;

static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rand() / (double)RAND_MAX; /* NOLINT: the numbers must be the same every time */
    return sum;
}

/* n sessions of 3 hosts with a GPU each, 1 % of noise. */
static void begin(size_t n, unsigned seed)
{
    static const char *const hosts[] = {"h0", "h1", "h2"}, *const gpus[] = {"g0", "g1", "g2"};
    srand(seed); /* NOLINT */
    for (size_t i = 0; i < n; i++)
        points[i] = (struct history_point){.session = "s",
                                           .host = hosts[i % 3],
                                           .gpu = gpus[i % 3],
                                           .mean = 10000 * (1 + 0.01 * noise())};
    region_init(&mem, 16 << 20);
}

static void find(size_t n)
{
    assert_int_equal(history_find(&h, points, n, &mem), 0);
}

static size_t outliers(size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += points[i].outlier;
    return found;
}

TEST(test_step)
{
    begin(100, 1);
    for (size_t i = 60; i < 100; i++)
        points[i].mean *= 1.08;
    points[20].mean *= 3; /* an outlier, which makes no step */
    points[80].mean *= 1.3;
    find(100);
    assert_int_equal(h.step_count, 1);
    assert_true(h.steps[0].at >= 59 && h.steps[0].at <= 61 && h.steps[0].p < 1e-6);
    assert_true(fabs(h.steps[0].after / h.steps[0].before - 1.08) < 0.01);
    assert_false(h.steps[0].other_machines);
    assert_true(points[20].outlier && points[80].outlier && outliers(100) <= 4);
    assert_true(fabs(points[80].ratio - 1.3) < 0.05 && points[80].far > STATS_OUTLIER);
    for (size_t i = 0; i < h.host_count; i++)
        assert_false(h.hosts[i].outlying);
    region_fini(&mem);
}

TEST(test_nothing)
{
    size_t steps = 0, found = 0, groups = 0;
    for (unsigned seed = 0; seed < 200; seed++) {
        begin(60, seed);
        find(60);
        steps += h.step_count;
        found += outliers(60);
        for (size_t i = 0; i < h.host_count; i++)
            groups += h.hosts[i].outlying;
        region_fini(&mem);
    }
    assert_true(steps <= 2);
    assert_true(found <= 60); /* of 12000 */
    assert_int_equal(groups, 0);
}

/* The step is certain, but too small to be reported. */
TEST(test_small_step)
{
    begin(MANY, 2);
    for (size_t i = 100; i < MANY; i++)
        points[i].mean *= 1.012;
    find(MANY);
    assert_int_equal(h.step_count, 0);
    for (size_t i = 0; i < MANY; i++)
        assert_true(points[i].level == points[0].level);
    region_fini(&mem);
}

TEST(test_slow_host)
{
    begin(90, 3);
    for (size_t i = 1; i < 90; i += 3)
        points[i].mean *= 1.1;
    find(90);
    assert_int_equal(h.step_count, 0);
    assert_int_equal(h.host_count, 3);
    assert_string_equal(h.hosts[0].name, "h1");
    assert_true(h.hosts[0].outlying && h.gpus[0].outlying && h.hosts[0].sessions == 30);
    assert_true(fabs(h.hosts[0].ratio - 1.1) < 0.01 && h.hosts[0].q < 1e-6);
    region_fini(&mem);
}

/* The runs from the 40th on are on another machine, and slower: the step says both. */
TEST(test_other_machines)
{
    begin(80, 4);
    for (size_t i = 40; i < 80; i++) {
        points[i].mean *= 1.2;
        points[i].host = "new";
        points[i].gpu = "";
    }
    find(80);
    assert_int_equal(h.step_count, 1);
    assert_true(h.steps[0].other_machines);
    assert_int_equal(h.gpu_count, 3);
    region_fini(&mem);
}

TEST(test_few)
{
    for (size_t n = 0; n < 12; n++) {
        begin(n, 5);
        if (n > 2)
            points[1].mean *= 5;
        find(n);
        assert_int_equal(h.step_count, 0);
        assert_int_equal(outliers(n), n >= HISTORY_OUTLIERS_FROM);
        for (size_t i = 0; i < h.host_count; i++)
            assert_true(isnan(h.hosts[i].p) && !h.hosts[i].outlying);
        region_fini(&mem);
    }
    begin(20, 6);
    for (int i = 0; i < 20; i++)
        points[i].mean = 77; /* no spread at all */
    points[3].mean = 77.2;
    points[4].mean = 90;
    find(20);
    assert_true(!points[3].outlier && points[4].outlier && outliers(20) == 1);
    region_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),           cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_small_step),     cmocka_unit_test(test_slow_host),
        cmocka_unit_test(test_other_machines), cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
