/* test_tick.c - tests the curve between counter and clock: with simulated counters, whose true time
 * is known, and with the machine's counter. */
#include "base/tick.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t seed;

static int64_t random_in(int64_t least, int64_t most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return least + (int64_t)((seed >> 20) % (uint64_t)(most - least + 1));
}

static int64_t away(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* ---- simulated counters ----------------------------------------------------------------- */

/* A machine whose counter is steady and whose clock is slewed: a tick lasts `rate` ns. */
struct machine {
    double ticks, ns; /* now */
    double rate;
};

static void pass(struct machine *m, double ticks)
{
    m->ticks += ticks;
    m->ns += ticks * m->rate;
}

static void mark(struct tick_curve *c, const struct machine *m, int64_t noise)
{
    int64_t ns = (int64_t)m->ns + random_in(-noise, noise);
    const struct tick_knot *last = &c->knots[(c->count + TICK_KNOTS - 1) % TICK_KNOTS];
    tick_curve_add(c, (uint64_t)m->ticks, c->count > 0 && ns < last->ns ? last->ns : ns);
}

/* Counters of 24 MHz to 5 GHz are read at random times, while the clock's rate changes by up to
 * 500 ppm: the time of every note is right, and not before that of the note before. */
TEST(test_slewed_clock)
{
    enum { ROUNDS = 400, NOTES = 50, NOISE = 30 };
    static const double mhz[] = {24, 100, 1000, 2100, 5000};
    for (size_t k = 0; k < sizeof mhz / sizeof *mhz; k++) {
        double nominal = 1000 / mhz[k];
        struct machine m = {.ticks = 1e15, .ns = 5e12, .rate = nominal};
        struct tick_curve c;
        int64_t last = 0;
        tick_curve_init(&c);
        mark(&c, &m, NOISE);
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t tick[NOTES];
            double ns[NOTES];
            double length = (double)random_in(100000, 300000000) / nominal;
            double change = (double)random_in(-500, 500) * 1e-6;
            for (int i = 0; i < NOTES; i++) {
                if (i == NOTES / 2)
                    m.rate = nominal * (1 + change);
                pass(&m, length / NOTES);
                tick[i] = (uint64_t)m.ticks;
                ns[i] = m.ns;
            }
            mark(&c, &m, NOISE);
            /* The rates of two stretches differ by at most twice 500 ppm, which is an error of a
             * quarter of that over a stretch; a tick's length is added. */
            double bound = NOISE + length * nominal * 1e-3 / 4 + nominal + 2;
            for (int i = 0; i < NOTES; i++) {
                int64_t got = tick_curve_ns(&c, tick[i]);
                assert_true(away(got, (int64_t)ns[i]) <= (int64_t)bound);
                assert_true(got >= last);
                last = got;
            }
        }
    }
}

/* If the clock is steady, only the noise of the knots remains. */
TEST(test_steady_clock)
{
    struct machine m = {.ticks = 123456789, .ns = 1e9, .rate = 1 / 2.1};
    struct tick_curve c;
    tick_curve_init(&c);
    mark(&c, &m, 20);
    for (int round = 0; round < 2000; round++) {
        struct machine at[8];
        for (int i = 0; i < 8; i++) {
            pass(&m, (double)random_in(100, 100000000));
            at[i] = m;
        }
        mark(&c, &m, 20);
        for (int i = 0; i < 8; i++)
            assert_true(away(tick_curve_ns(&c, (uint64_t)at[i].ticks), (int64_t)at[i].ns) <= 23);
    }
}

/* The curve never decreases over all knots that are kept. */
TEST(test_monotone_over_all_that_is_kept)
{
    struct machine m = {.ticks = 1e6, .ns = 1e9, .rate = 0.5};
    struct tick_curve c;
    tick_curve_init(&c);
    mark(&c, &m, 40);
    uint64_t first = 0;
    for (int i = 0; i < 200; i++) {
        if (i == 200 - TICK_KNOTS)
            first = (uint64_t)m.ticks;
        pass(&m, (double)random_in(10, 500)); /* less than the noise */
        mark(&c, &m, 40);
    }
    int64_t last = INT64_MIN;
    for (uint64_t t = first - 1000; t < (uint64_t)m.ticks + 1000; t++) {
        int64_t ns = tick_curve_ns(&c, t);
        assert_true(ns >= last && ns <= (int64_t)m.ns + 40);
        last = ns;
    }
}

/* A thread may lose its processor between reading and publishing for longer than knots are kept. */
TEST(test_late_note)
{
    struct machine m = {.ticks = 1e9, .ns = 1e12, .rate = 1 / 3.0};
    struct tick_curve c;
    tick_curve_init(&c);
    mark(&c, &m, 40);
    struct machine begin = m;
    pass(&m, 3e7);
    struct machine early = m;
    for (int i = 0; i < 10 * TICK_KNOTS; i++) {
        pass(&m, 450000); /* 150 us */
        mark(&c, &m, 40);
    }
    assert_true(away(tick_curve_ns(&c, (uint64_t)early.ticks), (int64_t)early.ns) < 2000);
    /* No time is before the session. */
    assert_true(tick_curve_ns(&c, (uint64_t)begin.ticks) >= c.floor);
    assert_true(tick_curve_ns(&c, 0) == c.floor);
    assert_true(away(c.floor, (int64_t)begin.ns) <= 40);
    assert_true(tick_curve_ns(&c, UINT64_MAX) == c.knots[(c.count - 1) % TICK_KNOTS].ns);
}

/* While a machine sleeps, the counter runs and the clock stands still, or the reverse. */
TEST(test_suspended_machine)
{
    static const struct {
        double ticks, ns;
    } gaps[] = {{7.56e12, 0}, {0, 3.6e12}, {7.56e12, 100}, {2.1e14, 1e9}};
    for (size_t k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        struct machine m = {.ticks = 1e10, .ns = 1e10, .rate = 1 / 2.1}, at[64];
        struct tick_curve c;
        tick_curve_init(&c);
        mark(&c, &m, 0);
        for (int i = 0; i < 64; i++) { /* 16 notes a stretch; the gap is in the third */
            at[i] = m;
            if (i == 40) {
                m.ticks += gaps[k].ticks;
                m.ns += gaps[k].ns;
            }
            pass(&m, 1e6);
            if (i % 16 == 15)
                mark(&c, &m, 0);
        }
        int64_t last = 0;
        for (int i = 0; i < 64; i++) {
            int64_t ns = tick_curve_ns(&c, (uint64_t)at[i].ticks);
            assert_true(ns >= last);
            last = ns;
            if (i / 16 != 2)
                assert_true(away(ns, (int64_t)at[i].ns) <= 2);
            else
                assert_true(ns >= (int64_t)at[32].ns - 2 && ns <= (int64_t)at[48].ns + 2);
        }
    }
}

/* A machine was restored from a snapshot: its counter begins at 0 or at another lower value. */
TEST(test_counter_that_begins_again)
{
    static const double again[] = {0, 1000, 5e8, 9e9};
    for (size_t k = 0; k < sizeof again / sizeof *again; k++) {
        struct machine m = {.ticks = 1e10, .ns = 1e10, .rate = 1 / 2.1};
        struct tick_curve c;
        tick_curve_init(&c);
        mark(&c, &m, 0);
        pass(&m, 5e6);
        mark(&c, &m, 0);
        pass(&m, 1e6);
        struct machine before = m, knot = m;
        m.ticks = again[k];
        pass(&m, 2e6);
        struct machine after = m;
        pass(&m, 2e6);
        mark(&c, &m, 0);
        int64_t ns = tick_curve_ns(&c, (uint64_t)before.ticks);
        assert_true(ns >= (int64_t)knot.ns - 1000000 && ns <= (int64_t)m.ns);
        /* A time after the restart is reckoned back from the next knot. */
        assert_true(away(tick_curve_ns(&c, (uint64_t)after.ticks), (int64_t)after.ns) <= 250000);
        struct machine at = m;
        pass(&m, 7e6);
        pass(&at, 3e6);
        mark(&c, &m, 0);
        assert_true(away(tick_curve_ns(&c, (uint64_t)at.ticks), (int64_t)at.ns) <= 2);
    }
}

TEST(test_counter_that_stands_still)
{
    struct tick_curve c;
    tick_curve_init(&c);
    for (int i = 0; i < 5; i++)
        tick_curve_add(&c, 1000, 5000 + i);
    assert_true(c.count == 1);
    assert_true(tick_curve_ns(&c, 999) == 5000 && tick_curve_ns(&c, 1000) == 5000);
    tick_curve_add(&c, 1001, INT64_MAX / 2); /* the steepest possible curve */
    assert_true(tick_curve_ns(&c, 1000) == 5000);
    assert_true(tick_curve_ns(&c, 1001) == INT64_MAX / 2);
    tick_curve_add(&c, 0, INT64_MAX / 2);
    assert_true(tick_curve_ns(&c, 0) == INT64_MAX / 2);
}

/* ---- the machine's counter -------------------------------------------------------------- */

enum { THREADS = 3, NOTES = 4000, BATCHES = 25 };

struct note {
    int64_t before, after; /* clock_mono */
    uint64_t tick;
};

struct noter {
    struct note notes[BATCHES * NOTES];
    _Atomic size_t count; /* published: release, taken: acquire */
};

static void *note_times(void *arg)
{
    struct noter *n = arg;
    for (size_t i = 0; i < BATCHES * NOTES; i++) {
        n->notes[i].before = clock_mono();
        n->notes[i].tick = tick_now();
        n->notes[i].after = clock_mono();
        atomic_store_explicit(&n->count, i + 1, memory_order_release);
    }
    return NULL;
}

/* Checks all notes so far, at the moments when the collector would read them. */
static size_t take(struct tick_curve *c, struct noter *n, size_t from, int64_t *last)
{
    size_t to = atomic_load_explicit(&n->count, memory_order_acquire);
    tick_curve_mark(c);
    int64_t bound = tick_curve_uncertainty(c) + 50; /* 50: the clock's steps, and a read */
    for (size_t i = from; i < to; i++) {
        int64_t ns = tick_curve_ns(c, n->notes[i].tick);
        assert_true(ns >= n->notes[i].before - bound && ns <= n->notes[i].after + bound);
        assert_true(ns >= *last);
        *last = ns;
    }
    return to;
}

/* On several threads each note lies between two readings of the clock, within the bound. */
TEST(test_against_the_clock)
{
    struct tick_curve c;
    pthread_t threads[THREADS];
    struct noter *n = calloc(THREADS, sizeof *n);
    size_t taken[THREADS] = {0}, all = 0;
    int64_t last[THREADS] = {0};
    assert_non_null(n);
    tick_begin(&c);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_times, &n[i]), 0);
    while (all < (size_t)THREADS * BATCHES * NOTES) {
        all = 0;
        for (int i = 0; i < THREADS; i++)
            all += taken[i] = take(&c, &n[i], taken[i], &last[i]);
        usleep(300); /* else there would be thousands of knots */
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    print_message("%s: uncertainty %lld ns\n", c.counts ? "the counter" : "clock_mono",
                  (long long)tick_curve_uncertainty(&c));
    free(n);
}

static int64_t simulated;

static int64_t simulated_now(void)
{
    return simulated;
}

/* A length of time is so many ticks. */
TEST(test_ticks_of_a_time)
{
    struct tick_curve c;
    tick_curve_init(&c);
    assert_true(tick_curve_ticks(&c, 1000) == 0); /* a tick's length is unknown */
    tick_curve_add(&c, 5000, 100);
    assert_true(tick_curve_ticks(&c, 1000) == 0);
    tick_curve_add(&c, 5000 + 21000, 100 + 10000); /* 2.1 GHz */
    assert_true(away((int64_t)tick_curve_ticks(&c, 100000), 210000) <= 1);
    assert_true(away((int64_t)tick_curve_ticks(&c, 1000000000), 2100000000) <= 10);
    assert_true(tick_curve_ticks(&c, 0) == 0);
}

TEST(test_replaced_source)
{
    struct tick_curve c;
    clock_set_source(simulated_now, 0);
    tick_begin(&c);
    assert_false(c.counts);
    assert_true(tick_curve_ticks(&c, 1000) == 1000); /* also with one knot */
    simulated = 77;
    tick_curve_mark(&c);
    assert_true(tick_now() == 77);
    assert_true(tick_curve_ns(&c, 77) == 77 && tick_curve_ns(&c, 1) == 1);
    assert_true(tick_curve_ns(&c, 1000) == 1000); /* a thread's simulated time may be ahead */
    assert_true(tick_curve_uncertainty(&c) == 1);
    clock_set_source(NULL, 0);
    int64_t before = clock_mono();
    tick_begin(&c);
    uint64_t tick = tick_now();
    tick_curve_mark(&c);
    assert_true(tick_curve_ns(&c, tick) >= before - tick_curve_uncertainty(&c) - 50);
}

/* A child of fork uses the same counter, and begins a curve of its own. */
TEST(test_fork)
{
    struct tick_curve c;
    int status;
    tick_begin(&c);
    pid_t pid = fork();
    if (pid == 0) {
        struct note n;
        tick_begin(&c);
        n = (struct note){.before = clock_mono(), .tick = tick_now()};
        n.after = clock_mono();
        tick_curve_mark(&c);
        int64_t ns = tick_curve_ns(&c, n.tick), bound = tick_curve_uncertainty(&c) + 50;
        _exit(ns >= n.before - bound && ns <= n.after + bound ? 0 : 1);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

/* The counter is not read if the process must not read it. */
TEST(test_forbidden_counter)
{
#if defined __x86_64__
    struct tick_curve c;
    assert_int_equal(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
    tick_begin(&c);
    assert_int_equal(prctl(PR_SET_TSC, PR_TSC_ENABLE), 0);
    assert_false(c.counts);
    int64_t before = clock_mono(), now = (int64_t)tick_now();
    assert_true(before <= now && now <= clock_mono());
    tick_begin(&c);
#else
    skip();
#endif
}

int main(void)
{
    seed = 20261120;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slewed_clock),
        cmocka_unit_test(test_steady_clock),
        cmocka_unit_test(test_monotone_over_all_that_is_kept),
        cmocka_unit_test(test_late_note),
        cmocka_unit_test(test_suspended_machine),
        cmocka_unit_test(test_counter_that_begins_again),
        cmocka_unit_test(test_counter_that_stands_still),
        cmocka_unit_test(test_against_the_clock),
        cmocka_unit_test(test_ticks_of_a_time),
        cmocka_unit_test(test_replaced_source),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_forbidden_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
