/* stats.c - see stats.h, which names the source of each formula. */
#include "analyze/common/stats.h"

#include "analyze/common/order.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- distributions --------------------------------------------------------------------------- */

double stats_normal(double z)
{
    return isnan(z) ? NAN : erfc(fabs(z) / sqrt(2));
}

/* Returns the continued fraction of the incomplete beta function, DLMF 8.17.22, evaluated from its
 * head (W. J. Lentz, Applied Optics 15, 1976). */
static double beta_fraction(double a, double b, double x)
{
    enum { STEPS = 10000 };
    const double tiny = 1e-300, close = 1e-15;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m <= STEPS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[] = {even, odd};
        double step = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + terms[k] * d;
            c = 1 + terms[k] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            f *= step;
        }
        if (fabs(step - 1) < close)
            break;
    }
    return f;
}

/* Returns I_x(a, b). */
static double beta_part(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_student(double t, double df)
{
    if (isnan(t) || isnan(df) || df <= 0)
        return NAN;
    return isinf(t) ? 0 : beta_part(df / 2, 0.5, df / (df + t * t));
}

double stats_student_inverse(double p, double df)
{
    double low = 0, high = 1;
    if (isnan(p) || isnan(df) || df <= 0 || p <= 0 || p > 1)
        return NAN;
    while (stats_student(high, df) > p && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (stats_student(middle, df) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- two samples ----------------------------------------------------------------------------- */

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : NAN;
}

/* Returns the variance of the mean. */
static double variance_of(const double *v, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return n > 1 ? sum / (double)(n - 1) / (double)n : NAN;
}

struct stats_welch stats_welch(const double *a, size_t na, const double *b, size_t nb)
{
    double ma = mean_of(a, na), mb = mean_of(b, nb);
    struct stats_welch w = {.difference = mb - ma, NAN, NAN, NAN, NAN, NAN};
    if (na < 2 || nb < 2)
        return w;
    double va = variance_of(a, na, ma), vb = variance_of(b, nb, mb), v = va + vb;
    if (v <= 0) { /* v < 0: equal values whose mean has a rounding error */
        w.low = w.high = w.difference;
        w.p = w.difference == 0 ? 1 : 0;
        return w;
    }
    w.t = w.difference / sqrt(v);
    w.df = v * v / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
    w.p = stats_student(w.t, w.df);
    double reach = stats_student_inverse(0.05, w.df) * sqrt(v);
    w.low = w.difference - reach;
    w.high = w.difference + reach;
    return w;
}

static uint64_t count_of(const struct stats_bin *b, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += b[i].count;
    return sum;
}

struct stats_rank stats_of_ranks(double sum, uint64_t na, uint64_t nb, double ties)
{
    struct stats_rank r = {NAN, NAN, NAN, na, nb};
    double n = (double)na, m = (double)nb, all = n + m, u = sum - m * (m + 1) / 2;
    if (!na || !nb)
        return r;
    r.better = u / (n * m);
    if (na < STATS_RANK_LEAST || nb < STATS_RANK_LEAST)
        return r;
    double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    double far = fabs(u - n * m / 2) - 0.5; /* continuity */
    r.z = variance > 0 && far > 0 ? copysign(far / sqrt(variance), u - n * m / 2) : 0;
    r.p = stats_normal(r.z);
    return r;
}

struct stats_rank stats_mann_whitney(const struct stats_bin *a, size_t na,
                                     const struct stats_bin *b, size_t nb)
{
    double sum = 0, before = 0, ties = 0;
    for (size_t i = 0, j = 0; i < na || j < nb;) {
        bool of_a = i < na && (j >= nb || a[i].bin <= b[j].bin);
        bool of_b = j < nb && (i >= na || b[j].bin <= a[i].bin);
        double ca = of_a ? (double)a[i].count : 0, cb = of_b ? (double)b[j].count : 0, t = ca + cb;
        sum += cb * (before + (t + 1) / 2);
        before += t;
        ties += t * (t * t - 1);
        i += of_a;
        j += of_b;
    }
    return stats_of_ranks(sum, count_of(a, na), count_of(b, nb), ties);
}

struct placed {
    double value;
    size_t at;
};

static int by_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value ? 1 : x->at < y->at ? -1 : x->at > y->at;
}

int stats_false_alarms(double *p, size_t n)
{
    struct placed *order = mem_array(n + 1, sizeof *order);
    size_t m = 0;
    double least = 1;
    if (!order)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i]))
            order[m++] = (struct placed){p[i], i};
    qsort(order, m, sizeof *order, by_placed);
    for (size_t k = m; k-- > 0;) {
        double q = order[k].value * (double)m / (double)(k + 1);
        least = q < least ? q : least;
        p[order[k].at] = least;
    }
    mem_free(order);
    return 0;
}

/* ---- a series -------------------------------------------------------------------------------- */

double stats_median(double *values, size_t n)
{
    if (!n)
        return NAN;
    double upper = order_nth(values, n, n / 2);
    if (n % 2)
        return upper;
    double lower = values[0];
    for (size_t i = 1; i < n / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}

double stats_spread(double *values, size_t n)
{
    double middle = stats_median(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - middle);
    return 1.4826 * stats_median(values, n);
}

/* Holds a part of a series. Its places in ascending order of the values are in `order`, from `from`
 * to before `to`, since each step divides the order as it divides the series. */
struct series {
    const double *values;
    uint32_t *order, *room; /* room: scratch memory */
    double *ranks;          /* scratch memory: by place, from the part's first on */
};

struct segment {
    size_t from, to;
};

/* Ranks the values of a part; equal values get equal ranks. */
static void rank(const struct series *s, struct segment g)
{
    const uint32_t *order = s->order + g.from;
    size_t n = g.to - g.from;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && s->values[order[to]] == s->values[order[from]]; to++)
            ;
        for (size_t i = from; i < to; i++)
            s->ranks[order[i] - g.from] = ((double)from + (double)to + 1) / 2;
    }
}

/* Divides the order of a part at a place of the series. */
static void divide(const struct series *s, struct segment g, size_t at)
{
    size_t before = g.from, after = 0;
    for (size_t i = g.from; i < g.to; i++)
        if (s->order[i] < at)
            s->order[before++] = s->order[i];
        else
            s->room[after++] = s->order[i];
    memcpy(s->order + before, s->room, after * sizeof *s->room);
}

/* Computes K = max |U_t| with U_t = 2 x (ranks up to t) - t (n + 1); p = 2 exp(-6 K^2 / (n^3 +
 * n^2)). */
static struct stats_step pettitt(const struct series *s, struct segment g)
{
    struct stats_step best = {0, 1};
    size_t n = g.to - g.from;
    double sum = 0, k = -1, count = (double)n;
    rank(s, g);
    for (size_t t = 1; t < n; t++) {
        sum += s->ranks[t - 1];
        double u = fabs(2 * sum - (double)t * (count + 1));
        if (t >= STATS_STEP_LEAST && n - t >= STATS_STEP_LEAST && u > k) {
            k = u;
            best.at = t;
        }
    }
    if (k >= 0) {
        best.p = 2 * exp(-6 * k * k / (count * count * count + count * count));
        best.p = best.p > 1 ? 1 : best.p;
    }
    return best;
}

static int by_place(const void *a, const void *b)
{
    const struct stats_step *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int find_steps(const struct series *s, size_t n, double alpha, struct stats_step *out)
{
    struct segment left[STATS_STEPS_MAX + 2] = {{0, n}};
    size_t depth = 1;
    int count = 0;
    while (depth && count < STATS_STEPS_MAX) {
        const struct segment g = left[--depth];
        struct stats_step step = pettitt(s, g);
        if (!step.at || step.p > alpha)
            continue;
        step.at += g.from;
        out[count++] = step;
        divide(s, g, step.at);
        left[depth++] = (struct segment){g.from, step.at};
        left[depth++] = (struct segment){step.at, g.to};
    }
    if (count > 0)
        qsort(out, (size_t)count, sizeof *out, by_place);
    return count;
}

int stats_steps(const double *values, size_t n, double alpha, struct stats_step *out)
{
    struct series s = {values, mem_array(n + 1, sizeof *s.order), mem_array(n + 1, sizeof *s.room),
                       mem_array(n + 1, sizeof *s.ranks)};
    int rc = s.order && s.room && s.ranks ? order_values(values, n, s.order) : GPUFL_E_NOMEM;
    rc = rc ? rc : find_steps(&s, n, alpha, out);
    mem_free(s.order);
    mem_free(s.room);
    mem_free(s.ranks);
    return rc;
}
