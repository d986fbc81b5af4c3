/* test_stats.c - tests against values from tables and by enumeration, not from the same formula. */
#include "analyze/common/stats.h"
#include "tests/test.h"

#include <stdbool.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%.12g is not %.12g +- %g", got, want, within);
}

/* Critical values of printed tables. */
TEST(test_distributions)
{
    static const struct {
        double df, t, p;
    } rows[] = {{1, 12.706, 0.05}, {2, 4.303, 0.05},  {4, 2.776, 0.05},   {10, 2.228, 0.05},
                {30, 2.042, 0.05}, {5, 4.032, 0.01},  {20, 2.845, 0.01},  {120, 1.980, 0.05},
                {1, 1, 0.5},       {3, 12.92, 0.001}, {1e6, 1.960, 0.05}, {15, 0, 1}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        near(stats_student(rows[i].t, rows[i].df), rows[i].p, 0.0005 * rows[i].p + 2e-5);
        near(stats_student(-rows[i].t, rows[i].df), rows[i].p, 0.0005 * rows[i].p + 2e-5);
        if (rows[i].t > 0)
            near(stats_student_inverse(rows[i].p, rows[i].df), rows[i].t, 0.001 * rows[i].t);
    }
    /* One degree of freedom gives Cauchy's distribution, two have a closed form. */
    for (double t = 0.1; t < 50; t *= 1.7) {
        near(stats_student(t, 1), 1 - 2 / M_PI * atan(t), 1e-12);
        near(stats_student(t, 2), 1 - t / sqrt(2 + t * t), 1e-12);
    }
    near(stats_normal(1.959964), 0.05, 1e-7);
    near(stats_normal(-2.575829), 0.01, 1e-7);
    near(stats_normal(0), 1, 0);
    assert_true(isnan(stats_student(1, 0)) && isnan(stats_student_inverse(0, 3)));
    assert_true(stats_student(INFINITY, 3) == 0);
}

/* Two samples worked out by hand: means 3 and 6, variances of the means 0.5 and 2. */
TEST(test_welch)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {2, 4, 6, 8, 10}, same[] = {7, 7, 7};
    struct stats_welch w = stats_welch(a, 5, b, 5);
    near(w.difference, 3, 1e-12);
    near(w.t, 3 / sqrt(2.5), 1e-12);
    near(w.df, 2.5 * 2.5 / (0.25 / 4 + 4.0 / 4), 1e-12);
    near(w.p, 0.1074, 0.0005);
    near(w.low, 3 - 2.459 * sqrt(2.5), 0.01); /* tables: 2.571 for df 5, 2.447 for df 6 */
    assert_true(w.low < 0 && w.high > 6);
    assert_true(isnan(stats_welch(a, 1, b, 5).p));
    assert_true(isnan(stats_welch(a, 5, b, 0).difference));
    assert_true(stats_welch(same, 3, same, 2).p == 1);
    const double other[] = {8, 8};
    assert_true(stats_welch(same, 3, other, 2).p == 0);
}

/* p is below 0.05 one time in twenty if the null hypothesis holds. */
TEST(test_welch_is_calibrated)
{
    enum { ROUNDS = 20000 };
    unsigned below = 0;
    srand(7); /* NOLINT: the numbers must be the same every time */
    for (int i = 0; i < ROUNDS; i++) {
        double v[9];
        for (int k = 0; k < 9; k++) {
            v[k] = 0;
            for (int n = 0; n < 12; n++)
                v[k] += rand() / (double)RAND_MAX; /* NOLINT */
            v[k] *= k < 4 ? 1 : 3;                 /* other variances, equal means below */
            v[k] -= k < 4 ? 6 : 18;
        }
        below += stats_welch(v, 4, v + 4, 5).p < 0.05;
    }
    near(below / (double)ROUNDS, 0.05, 0.008);
}

/* The result equals a count over all pairs, and the exact distribution of small samples. */
TEST(test_mann_whitney)
{
    const struct stats_bin a[] = {{1, 3}, {4, 5}, {9, 2}}, b[] = {{0, 1}, {4, 2}, {8, 4}, {20, 3}};
    double greater = 0, all = 10 * 10;
    for (size_t i = 0; i < COUNT(a); i++)
        for (size_t j = 0; j < COUNT(b); j++)
            greater += (b[j].bin > a[i].bin    ? 1
                        : b[j].bin == a[i].bin ? 0.5
                                               : 0) *
                       (double)(a[i].count * b[j].count);
    struct stats_rank r = stats_mann_whitney(a, COUNT(a), b, COUNT(b));
    near(r.better, greater / all, 1e-12);
    near(stats_mann_whitney(b, COUNT(b), a, COUNT(a)).better, 1 - greater / all, 1e-12);
    near(stats_mann_whitney(b, COUNT(b), a, COUNT(a)).p, r.p, 1e-12);
    assert_true(r.z > 0);
    /* No ties: variance n m (n + m + 1) / 12. 8 against 8, completely apart: z = 31.5 / 9.522. */
    struct stats_bin low[8], high[8];
    for (uint32_t i = 0; i < 8; i++) {
        low[i] = (struct stats_bin){i, 1};
        high[i] = (struct stats_bin){100 + i, 1};
    }
    r = stats_mann_whitney(low, 8, high, 8);
    near(r.better, 1, 0);
    near(r.z, 31.5 / sqrt(8 * 8 * 17 / 12.0), 1e-9);
    assert_true(isnan(stats_mann_whitney(low, 7, high, 8).p));
    /* All tied: nothing is greater. */
    const struct stats_bin one[] = {{5, 1000}};
    r = stats_mann_whitney(one, 1, one, 1);
    assert_true(r.better == 0.5 && r.p == 1);
}

/* The paper has an example with 15 p-values: 4 of them are rejected at 0.05. */
TEST(test_false_alarms)
{
    double p[] = {0.0201, 0.0001, NAN,    0.0344, 0.0004, 0.0459, 0.0019, 0.3240,
                  0.0095, 0.4262, 0.0278, 0.5719, 0.0298, 0.6528, 0.7590, 1.0};
    unsigned rejected = 0;
    assert_int_equal(stats_false_alarms(p, COUNT(p)), 0);
    for (size_t i = 0; i < COUNT(p); i++)
        rejected += p[i] <= 0.05;
    assert_int_equal(rejected, 4);
    near(p[1], 0.0015, 1e-12);
    near(p[8], 0.0095 * 15 / 4, 1e-12);
    assert_true(isnan(p[2]));
    assert_true(p[15] == 1);
    assert_int_equal(stats_false_alarms(p, 0), 0);
}

TEST(test_median_and_spread)
{
    double odd[] = {5, 1, 1000}, even[] = {4, 1, 3, 2}, v[] = {1, 2, 3, 4, 1000000};
    near(stats_median(odd, 3), 5, 0);
    near(stats_median(even, 4), 2.5, 0);
    near(stats_spread(v, 5), 1.4826, 1e-12);
    assert_true(isnan(stats_median(NULL, 0)));
}

TEST(test_steps)
{
    struct stats_step s[STATS_STEPS_MAX];
    double v[60];
    srand(11); /* NOLINT */
    for (int i = 0; i < 60; i++)
        v[i] = 100 + rand() % 5 + (i >= 20 ? 10 : 0) - (i >= 45 ? 30 : 0); /* NOLINT */
    v[7] = 100000; /* an outlier is no step */
    assert_int_equal(stats_steps(v, 60, 0.01, s), 2);
    assert_int_equal(s[0].at, 20);
    assert_int_equal(s[1].at, 45);
    assert_true(s[0].p < 0.01 && s[1].p < 0.01);
    for (int i = 0; i < 60; i++)
        v[i] = 5;
    assert_int_equal(stats_steps(v, 60, 0.05, s), 0);
    assert_int_equal(stats_steps(v, 7, 0.05, s), 0);
    assert_int_equal(stats_steps(v, 0, 0.05, s), 0);
    /* Steps are found as long as there is room for them. */
    static double stairs[40 * (STATS_STEPS_MAX + 10)];
    for (size_t i = 0; i < COUNT(stairs); i++)
        stairs[i] = (double)(i / 40);
    assert_int_equal(stats_steps(stairs, COUNT(stairs), 0.05, s), STATS_STEPS_MAX);
}

/* ---- steps, part by part --------------------------------------------------------------------- */

/* Pettitt's test of v[from] .. v[to - 1], whose ranks are counted value by value. */
static struct stats_step plain_step(const double *v, size_t from, size_t to)
{
    struct stats_step best = {0, 1};
    double n = (double)(to - from), sum = 0, k = -1;
    for (size_t t = 1; t < to - from; t++) {
        double smaller = 0, equal = 0;
        for (size_t i = from; i < to; i++) {
            smaller += v[i] < v[from + t - 1];
            equal += v[i] == v[from + t - 1];
        }
        sum += smaller + (equal + 1) / 2;
        double u = fabs(2 * sum - (double)t * (n + 1));
        if (t >= STATS_STEP_LEAST && to - from - t >= STATS_STEP_LEAST && u > k) {
            k = u;
            best.at = from + t;
        }
    }
    if (k >= 0)
        best.p = fmin(1, 2 * exp(-6 * k * k / (n * n * n + n * n)));
    return best;
}

/* Appends the steps of a part in order of place, as long as there is room for them. */
static size_t plain_steps(const double *v, size_t from, size_t to, struct stats_step *out, size_t n)
{
    struct stats_step step = plain_step(v, from, to);
    if (n == STATS_STEPS_MAX || !step.at || step.p > 0.01)
        return n;
    n = plain_steps(v, from, step.at, out, n);
    if (n < STATS_STEPS_MAX)
        out[n++] = step;
    return plain_steps(v, step.at, to, out, n);
}

/* Dividing the order of the whole series gives what ranking each part afresh gives, to the bit. */
TEST(test_steps_by_parts)
{
    enum { ROUNDS = 40, LONG = 900 };
    static double v[LONG];
    size_t found = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct stats_step got[STATS_STEPS_MAX], want[STATS_STEPS_MAX];
        size_t n = 30 + (size_t)round * 22;
        srand((unsigned)round); /* NOLINT */
        double level = 0;
        for (size_t i = 0; i < n; i++) {
            level += rand() % 70 == 0 ? rand() % 9 - 4 : 0;         /* NOLINT */
            v[i] = level + (round % 2 ? rand() % 4 : rand() / 1e9); /* NOLINT: ties, or none */
        }
        size_t count = plain_steps(v, 0, n, want, 0);
        assert_int_equal(stats_steps(v, n, 0.01, got), count);
        for (size_t i = 0; i < count && count < STATS_STEPS_MAX; i++)
            assert_true(got[i].at == want[i].at && got[i].p == want[i].p);
        found += count;
    }
    assert_true(found > ROUNDS);
}

/* A series without a step seldom gets one: Pettitt's p is an upper bound. */
TEST(test_steps_are_calibrated)
{
    enum { ROUNDS = 5000 };
    unsigned found = 0;
    struct stats_step s[STATS_STEPS_MAX];
    srand(3); /* NOLINT */
    for (int i = 0; i < ROUNDS; i++) {
        double v[40];
        for (int k = 0; k < 40; k++)
            v[k] = rand(); /* NOLINT */
        found += stats_steps(v, 40, 0.05, s) > 0;
    }
    assert_true(found / (double)ROUNDS < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_welch),
        cmocka_unit_test(test_welch_is_calibrated),
        cmocka_unit_test(test_mann_whitney),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_median_and_spread),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_steps_by_parts),
        cmocka_unit_test(test_steps_are_calibrated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
