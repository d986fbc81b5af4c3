/* stats.h - makes statistical tests: is a difference more than chance? Each test names the source
 * of its formula.
 *
 * The tests suit durations of kernels, scopes and runs, which are skewed, have outliers, and may be
 * in bins. A p-value is two-sided, and NAN if there are too few values. The functions have no
 * state. Called by any thread. */
#ifndef GPUFL_ANALYZE_COMMON_STATS_H
#define GPUFL_ANALYZE_COMMON_STATS_H

#include <stddef.h>
#include <stdint.h>

/* ---- distributions --------------------------------------------------------------------------- */

/* The tests below use these functions. They are declared so that the unit test can check each
 * alone. [tests] */

/* Returns P(|Z| >= |z|) of the standard normal distribution. */
double stats_normal(double z);

/* Returns P(|T| >= |t|) of Student's distribution with df degrees of freedom (not only whole ones):
 * I_{df/(df+t^2)}(df/2, 1/2), DLMF 26.5 and 8.17. */
double stats_student(double t, double df);

/* Returns the t with P(|T| >= t) = p. */
double stats_student_inverse(double p, double df);

/* ---- two samples ----------------------------------------------------------------------------- */

struct stats_welch {
    double difference; /* mean of b - mean of a */
    double low, high;  /* its 95 % confidence interval; NAN: unknown */
    double t, df, p;
};

/* Makes Welch's t test: means of two samples whose variances differ (B. L. Welch, Biometrika 34,
 * 1947; degrees of freedom after Satterthwaite). p is NAN with less than two values on a side.
 * Durations should be given as logarithms, whose difference is a ratio. If no side has any spread,
 * p is 0 if the means differ, and 1 if they are equal. */
struct stats_welch stats_welch(const double *a, size_t na, const double *b, size_t nb);

/* Says how many values a bin has. Arrays of bins are in ascending order. */
struct stats_bin {
    uint32_t bin;
    uint64_t count;
};

struct stats_rank {
    double better; /* P(b > a) + P(b = a) / 2: 0.5 if neither is greater */
    double z, p;   /* normal approximation, corrected for ties and continuity */
    uint64_t na, nb;
};

enum { STATS_RANK_LEAST = 8 /* values on each side; with fewer p is NAN */ };

/* Runs the Mann-Whitney U test (H. B. Mann, D. R. Whitney, Ann. Math. Stat. 18, 1947): whether
 * values of one sample tend to be greater than those of the other, whatever their distribution;
 * with the variance for ties of E. L. Lehmann, Nonparametrics, 1975, 1.4. A bin is a tie. */
struct stats_rank stats_mann_whitney(const struct stats_bin *a, size_t na,
                                     const struct stats_bin *b, size_t nb);

/* Does what stats_mann_whitney does, for a caller that has ranked the values: sum is the sum of the
 * ranks of b's values among all, ties the sum of t^3 - t over ties of t values. */
struct stats_rank stats_of_ranks(double sum, uint64_t na, uint64_t nb, double ties);

/* Turns p-values of many tests into q-values: the share of false alarms among the tests whose p is
 * not larger (Y. Benjamini, Y. Hochberg, J. R. Stat. Soc. B 57, 1995). NANs stay and do not count.
 * 0 or GPUFL_E_NOMEM. */
int stats_false_alarms(double *p, size_t n);

/* ---- a series -------------------------------------------------------------------------------- */

/* Returns the median; moves the values. NAN if n is 0. */
double stats_median(double *values, size_t n);

/* Returns 1.4826 x the median of the distances from the median. For a normal distribution this is
 * the standard deviation, and outliers hardly change it (F. R. Hampel, J. Am. Stat. Assoc. 69,
 * 1974). Overwrites the values. */
double stats_spread(double *values, size_t n);

/* An outlier has |value - median| / spread above this (B. Iglewicz, D. C. Hoaglin, How to Detect
 * and Handle Outliers, 1993: 3.5). */
#define STATS_OUTLIER 3.5

struct stats_step {
    size_t at; /* the first value after it */
    double p;
};

enum { STATS_STEPS_MAX = 16, STATS_STEP_LEAST = 4 /* values on each side */ };

/* Finds where a series changes its level: Pettitt's test (A. N. Pettitt, Applied Statistics 28,
 * 1979), which compares ranks, so that outliers count little. The test is repeated on both sides of
 * a step (binary segmentation) while p <= alpha, for at most STATS_STEPS_MAX steps. Steps are
 * sorted by position. Returns their number, or GPUFL_E_NOMEM. */
int stats_steps(const double *values, size_t n, double alpha, struct stats_step *out);

#endif
