/* test_history_rows.c - sessions and shapes of rows that come in any order are those that the rows
 * give in order of start, session and total. */
#include "server/api/history_rows.h"
#include "tests/test.h"

#include "base/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 11, SESSIONS = 700, ROWS = 3 * SESSIONS, TEXT = 24 };

/* Holds a row of the answer, made by the test. */
struct made {
    char session[TEXT], app[TEXT], host[TEXT], device[TEXT], shape[TEXT];
    int64_t started, calls, total;
    double p50, p99, share; /* NAN: unknown */
};

static struct made made[ROWS], shuffled[ROWS];
static size_t count;

static int pick(int n)
{
    return rand() % n; /* NOLINT: the numbers must be the same every time */
}

/* Makes one to three rows a session; some start at the same time, some have no duration. */
static void make_rows(void)
{
    count = 0;
    srand(7); /* NOLINT */
    for (int i = 0; i < SESSIONS; i++) {
        int rows = 1 + pick(3), gpu = pick(4), several = pick(2);
        for (int k = 0; k < rows; k++) {
            struct made *m = &made[count++];
            snprintf(m->session, TEXT, "s-%03d", i);
            snprintf(m->app, TEXT, "app-%d", i % 5);
            snprintf(m->host, TEXT, "host-%d", gpu);
            snprintf(m->device, TEXT, "GPU-%d", gpu * 2 + (several ? k % 2 : 0));
            snprintf(m->shape, TEXT, "%s", k == 2 ? "" : k ? "64x1x1/32x1x1" : "8x1x1/32x1x1");
            m->started = INT64_C(1728086400000000000) + i / 4 * INT64_C(1000003);
            m->calls = 1 + pick(50);
            m->total = pick(9) ? 1 + 10 * pick(1000) + k : 0;
            m->p50 = pick(6) ? pick(1000) / 7.0 : NAN;
            m->p99 = pick(1000) / 3.0;
            m->share = pick(4) ? pick(1000) / 999.0 : NAN;
        }
    }
}

/* ---- rows in order, added up one by one ------------------------------------------------------ */

static int in_order(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    if (x->started != y->started)
        return x->started < y->started ? -1 : 1;
    int order = strcmp(x->session, y->session);
    return order ? order : (y->total > x->total) - (y->total < x->total);
}

static struct history_session want[SESSIONS];
static struct history_shape want_shapes[2];
static size_t want_count;

static void want_row(const struct made *m)
{
    struct history_session *s = want_count ? &want[want_count - 1] : NULL;
    bool first = !s || strcmp(s->session, m->session) != 0;
    if (first) {
        s = &want[want_count++];
        *s = (struct history_session){m->session, m->app,   m->host, m->device, "",      m->started,
                                      m->calls,   m->total, m->p50,  m->p99,    m->share};
    } else {
        s->gpu = strcmp(s->gpu, m->device) == 0 ? s->gpu : "";
        s->calls += m->calls;
        s->total += m->total;
        s->p50 = s->p99 = NAN;
        s->share = isnan(s->share) || isnan(m->share) ? m->share : s->share + m->share;
    }
    if (*m->shape) {
        struct history_shape *shape = &want_shapes[m->shape[0] == '6'];
        shape->sessions++;
        shape->calls += m->calls;
        shape->total += m->total;
    }
}

static void want_all(void)
{
    memset(want_shapes, 0, sizeof want_shapes);
    want_count = 0;
    qsort(made, count, sizeof *made, in_order);
    for (size_t i = 0; i < count; i++)
        if (made[i].total > 0)
            want_row(&made[i]);
}

/* ---- rows in any order, in chunks ------------------------------------------------------------ */

static struct store_text text_of(const char *text)
{
    return (struct store_text){text, strlen(text)};
}

static int give(const struct store_visitor *v, const struct made *rows, size_t n)
{
    static const enum store_type types[COLUMNS] = {STORE_TEXT, STORE_INT,  STORE_TEXT, STORE_TEXT,
                                                   STORE_TEXT, STORE_TEXT, STORE_INT,  STORE_INT,
                                                   STORE_REAL, STORE_REAL, STORE_REAL};
    static struct store_text texts[COLUMNS][64];
    static int64_t ints[COLUMNS][64];
    static double reals[COLUMNS][64];
    static uint64_t known[COLUMNS];
    struct store_vec columns[COLUMNS];
    memset(known, 0, sizeof known);
    for (size_t i = 0; i < n; i++) {
        const struct made *m = &rows[i];
        const char *const of[COLUMNS] = {m->session, NULL, m->app, m->host, m->device, m->shape};
        const double real[3] = {m->p50, m->p99, m->share};
        for (int c = 0; c < COLUMNS; c++)
            texts[c][i] = text_of(of[c] ? of[c] : "");
        ints[1][i] = m->started;
        ints[6][i] = m->calls;
        ints[7][i] = m->total;
        for (int c = 0; c < 3; c++) {
            reals[8 + c][i] = isnan(real[c]) ? 0 : real[c];
            known[8 + c] |= (uint64_t)!isnan(real[c]) << i;
        }
    }
    for (int c = 0; c < COLUMNS; c++)
        columns[c] = (struct store_vec){types[c], ints[c], reals[c], texts[c],
                                        types[c] == STORE_REAL ? &known[c] : NULL};
    return v->chunk(v->arg, &(struct store_chunk){n, COLUMNS, columns});
}

static void same_real(double a, double b)
{
    assert_true(isnan(a) ? isnan(b) : a == b);
}

static void same_session(const struct history_session *got, const struct history_session *w)
{
    assert_string_equal(got->session, w->session);
    assert_string_equal(got->app, w->app);
    assert_string_equal(got->host, w->host);
    assert_string_equal(got->gpu, w->gpu);
    assert_true(got->started == w->started && got->calls == w->calls && got->total == w->total);
    same_real(got->p50, w->p50);
    same_real(got->p99, w->p99);
    same_real(got->share, w->share);
}

TEST(test_any_order)
{
    for (int round = 0; round < 4; round++) {
        struct history_rows h;
        make_rows();
        memcpy(shuffled, made, sizeof shuffled);
        for (size_t i = count; round && i > 1; i--) {
            size_t k = (size_t)pick((int)i);
            struct made m = shuffled[i - 1];
            shuffled[i - 1] = shuffled[k];
            shuffled[k] = m;
        }
        want_all();
        history_rows_init(&h);
        const struct store_visitor v = history_rows_visitor(&h);
        for (size_t at = 0, n; at < count; at += n) {
            n = count - at < 60 ? count - at : 60;
            assert_int_equal(give(&v, shuffled + at, n), 0);
        }
        assert_int_equal(history_rows_finish(&h), 0);
        assert_int_equal(h.count, want_count);
        for (size_t i = 0; i < want_count; i++) {
            same_session(h.sessions[i], &want[i]);
            assert_true(h.points[i].mean == (double)want[i].total / (double)want[i].calls);
        }
        assert_int_equal(h.shape_count, 2);
        for (size_t i = 0; i < 2; i++) {
            const struct history_shape *w = &want_shapes[h.shapes[i].shape[0] == '6'];
            assert_true(h.shapes[i].sessions == w->sessions && h.shapes[i].calls == w->calls &&
                        h.shapes[i].total == w->total);
        }
        assert_true(h.shapes[0].total >= h.shapes[1].total);
        history_rows_fini(&h);
    }
}

TEST(test_bounds)
{
    struct history_rows h;
    make_rows();
    history_rows_init(&h);
    const struct store_visitor v = history_rows_visitor(&h);
    int rc = 0;
    size_t given = 0;
    for (; rc == 0 && given <= HISTORY_ROWS_MAX; given += 64)
        rc = give(&v, made, 64);
    assert_int_equal(rc, GPUFL_E_FULL);
    assert_int_equal(h.count, HISTORY_ROWS_MAX);
    history_rows_fini(&h);
    history_rows_init(&h); /* no rows at all */
    assert_int_equal(history_rows_finish(&h), 0);
    assert_int_equal(h.count, 0);
    history_rows_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
