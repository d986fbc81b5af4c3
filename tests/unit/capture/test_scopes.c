/* Scopes from many threads: every opened scope is written or counted. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/clock.h"
#include "capture/session/session.h"
#include "capture/threads/threads.h"
#include "monitor/steady.h"
#include "tests/unit/support/tmpdir.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8 };

static int per_thread = FEWER(100000, 3 * RING_SLOTS / 2); /* more than a ring has room for */

static int setup(void **state)
{
    if (tmpdir_open(state))
        return -1;
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    return gpufl_init(&o);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    return tmpdir_close(state);
}

/* Scopes with a row that says that they were open at a flush or at the end. */
struct opens {
    size_t n, ended;
    int64_t instance[8192];
    bool all; /* all are collected: now count their ends */
};

static void opens_row(void *arg, enum record_type type, const int64_t *row)
{
    struct opens *o = arg;
    if (type == RECORD_scope_open && !o->all) {
        assert_true(o->n < sizeof o->instance / sizeof *o->instance);
        o->instance[o->n++] = ((const struct scope_open_row *)(const void *)row)->instance;
    } else if (type == RECORD_scope && o->all) {
        for (size_t i = 0; i < o->n; i++)
            o->ended += o->instance[i] == ((const struct scope_row *)(const void *)row)->instance;
    }
}

/* Returns how many scopes have only a row of their beginning. A scope that lasts over two flushes
 * has both rows. */
static int64_t never_ended(void)
{
    static struct opens o;
    o = (struct opens){0};
    for (int pass = 0; pass < 2; pass++) {
        struct parts parts = {.row = opens_row, .arg = &o};
        o.all = pass;
        parts_read_all(gpufl_session_dir(), &parts);
    }
    return (int64_t)(o.n - o.ended);
}

static void end(struct session_log *log)
{
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), log);
    const struct ledger_row *l = &log->ledger;
    assert_int_equal(l->final, 1);
    assert_int_equal(l->scopes_written, log->parts.rows[RECORD_scope]);
    assert_int_equal(l->scopes_opened, l->scopes_written + l->scopes_lost + never_ended());
}

static void *open_many(void *arg)
{
    char tag[32];
    snprintf(tag, sizeof tag, "thread %d", *(int *)arg);
    for (int i = 0; i < per_thread; i += 2) {
        uint64_t outer = gpufl_scope_begin("outer", tag);
        gpufl_scope_end(gpufl_scope_begin("inner", NULL));
        gpufl_scope_end(outer);
    }
    return NULL;
}

TEST(test_eight_threads)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    struct session_log log;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, open_many, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end(&log);
    assert_int_equal(log.ledger.scopes_opened, (int64_t)THREADS * per_thread);
    assert_int_equal(never_ended(), 0);
}

/* If the collector keeps pace, no scope is lost. */
TEST(test_slow_scopes_are_all_written)
{
    struct session_log log;
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 1000; k++)
            gpufl_scope_end(gpufl_scope_begin("scope", NULL));
        assert_int_equal(session_flush(), 0);
    }
    end(&log);
    assert_int_equal(log.ledger.scopes_written, 20000);
    assert_int_equal(log.ledger.scopes_lost, 0);
}

TEST(test_end_closes_the_inner_ones)
{
    struct session_log log;
    uint64_t a = gpufl_scope_begin("a", NULL);
    uint64_t b = gpufl_scope_begin("b", NULL);
    uint64_t c = gpufl_scope_begin("c", "t");
    assert_true(a && b && c && a != b && b != c);
    gpufl_scope_end(b);
    gpufl_scope_end(b); /* closed before */
    gpufl_scope_end(c);
    gpufl_scope_end(c + 1000000);
    uint64_t d = gpufl_scope_begin("d", NULL);
    gpufl_scope_end(a);
    gpufl_scope_end(d);
    end(&log);
    assert_int_equal(log.ledger.scopes_written, 4);
}

static void *leave_anothers(void *arg)
{
    gpufl_scope_leave(*(uint64_t *)arg);
    return NULL;
}

TEST(test_leave_closes_that_scope_alone)
{
    pthread_t t;
    struct parts parts = {0};
    uint64_t a = gpufl_scope_begin("a", NULL);
    uint64_t b = gpufl_scope_begin("b", NULL);
    gpufl_scope_leave(a);
    gpufl_scope_leave(a); /* closed before */
    gpufl_scope_leave(0);
    uint64_t c = gpufl_scope_begin("c", NULL);
    pthread_create(&t, NULL, leave_anothers, &c);
    pthread_join(t, NULL);
    gpufl_scope_end(c); /* closed by the other thread */
    gpufl_scope_leave(b);
    gpufl_shutdown();
    parts_read_all(gpufl_session_dir(), &parts);
    assert_int_equal(parts.rows[RECORD_scope], 3);
    assert_int_equal(never_ended(), 0);
}

static void *end_anothers(void *arg)
{
    gpufl_scope_end(*(uint64_t *)arg);
    uint64_t own = gpufl_scope_begin("own", NULL);
    gpufl_scope_end(*(uint64_t *)arg);
    gpufl_scope_end(own);
    return NULL;
}

TEST(test_another_threads_handle)
{
    pthread_t t;
    struct session_log log;
    uint64_t h = gpufl_scope_begin("mine", NULL);
    pthread_create(&t, NULL, end_anothers, &h);
    pthread_join(t, NULL);
    gpufl_scope_end(h);
    end(&log);
    assert_int_equal(log.ledger.scopes_written, 2);
}

static void *end_inside(void *arg)
{
    (void)arg;
    gpufl_scope_begin("never ends", NULL);
    gpufl_scope_begin("nor this", NULL);
    return NULL;
}

TEST(test_threads_that_end_inside_scopes)
{
    struct session_log log;
    for (int i = 0; i < 50; i++) {
        pthread_t t;
        pthread_create(&t, NULL, end_inside, NULL);
        pthread_join(t, NULL);
        if (i % 10 == 0)
            assert_int_equal(session_flush(), 0);
    }
    assert_int_equal(session_flush(), 0);
    int alive = 0; /* the memory of ended threads is given back, except the newest's */
    for (struct thread_state *t = threads_first(); t; t = t->next)
        alive++;
    assert_true(alive <= 3);
    end(&log);
    assert_int_equal(log.ledger.scopes_opened, 100);
    assert_int_equal(log.parts.rows[RECORD_scope_open], 100);
    assert_int_equal(never_ended(), 100);
}

/* Returns the size of the address space in MiB. */
static long mapped(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    return pages / 256;
}

/* Thousands of threads begin and end between two flushes, each with a ring of half a MiB: their
 * memory is freed before the next flush. */
TEST(test_short_threads_are_given_back)
{
    struct session_log log;
    gpufl_shutdown();
    setenv("GPUFL_FLUSH_INTERVAL_MS", "10000", 1);
    struct gpufl_options o = session_options(tmpdir_path("slow"));
    int64_t flush_due = steady_ns() + 10000000000;
    assert_int_equal(gpufl_init(&o), 0);
    unsetenv("GPUFL_FLUSH_INTERVAL_MS");
    long before = mapped();
    for (int i = 0; i < 2048; i++) {
        pthread_t t;
        pthread_create(&t, NULL, end_inside, NULL);
        pthread_join(t, NULL);
    }
    while (mapped() - before >= 512) {
        assert_true(steady_ns() < flush_due);
        sched_yield();
    }
    end(&log);
    assert_int_equal(log.ledger.scopes_opened, 2 * 2048);
    assert_int_equal(log.ledger.scopes_lost, 0);
}

TEST(test_open_scopes_are_written_once)
{
    struct session_log log;
    uint64_t h = gpufl_scope_begin("long", NULL);
    for (int i = 0; i < 5; i++)
        assert_int_equal(session_flush(), 0);
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_scope_open], 1); /* while the session runs */
    gpufl_scope_end(h);
    gpufl_scope_begin("open at the end", NULL);
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_scope_open], 2);
    assert_int_equal(log.ledger.scopes_written, 1);
    assert_int_equal(log.ledger.scopes_opened, 2);
}

TEST(test_too_deep_is_counted)
{
    enum { DEPTH = OPEN_MOST + 500 };
    struct session_log log;
    static uint64_t handles[DEPTH];
    int accepted = 0;
    for (int i = 0; i < DEPTH; i++) {
        handles[i] = gpufl_scope_begin("deeper", NULL);
        accepted += handles[i] != 0;
        if (i % 1000 == 0)
            assert_int_equal(session_flush(), 0);
    }
    assert_int_equal(accepted, OPEN_MOST);
    for (int i = DEPTH; i-- > 0;)
        gpufl_scope_end(handles[i]);
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.scopes_opened, DEPTH);
    assert_int_equal(log.ledger.scopes_written, OPEN_MOST);
    assert_int_equal(log.ledger.scopes_lost, 500);
}

TEST(test_names_are_compared_by_content)
{
    char name[32];
    struct session_log log;
    for (int i = 0; i < 300; i++) { /* one buffer, many names */
        snprintf(name, sizeof name, "name %d", i % 150);
        gpufl_scope_end(gpufl_scope_begin(name, NULL));
        gpufl_scope_end(gpufl_scope_begin("", ""));
        gpufl_scope_end(gpufl_scope_begin(NULL, NULL));
    }
    end(&log);
    assert_int_equal(log.ledger.scopes_written, 900);
}

struct launcher {
    _Atomic bool stop;
    int64_t began;
};

static void *until_stopped(void *arg)
{
    enum { BURST = 256 }; /* then a pause: without it the rows would keep a processor busy */
    struct launcher *l = arg;
    while (!atomic_load(&l->stop)) {
        for (int i = 0; i < BURST; i++) {
            uint64_t h = gpufl_scope_begin("busy", NULL);
            l->began += h != 0;
            gpufl_scope_end(h);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

/* Sessions begin and end while threads open scopes all the time. */
TEST(test_shutdown_while_threads_work)
{
    pthread_t threads[3];
    static struct launcher l[3];
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, until_stopped, &l[i]);
    for (int round = 0; round < 10; round++) {
        assert_int_equal(gpufl_init(&o), 0);
        assert_int_equal(session_flush(), 0);
        gpufl_shutdown();
        session_log_read(gpufl_session_dir(), &log);
        int64_t known = log.ledger.scopes_written + log.ledger.scopes_lost + never_ended();
        /* A scope that begins as the session ends may be counted, not written, or the reverse. */
        assert_true(log.ledger.scopes_opened - known <= 3 && known - log.ledger.scopes_opened <= 3);
    }
    for (int i = 0; i < 3; i++) {
        atomic_store(&l[i].stop, true);
        pthread_join(threads[i], NULL);
    }
}

/* ---- times ---------------------------------------------------------------------------------- */

enum {
    TIMED = 3000,  /* pairs of an outer and an inner scope a thread */
    BOUND = 20000, /* ns; test_tick.c tests the clock itself, with a closer bound */
};

struct timed {
    uint64_t outer, inner;
    int64_t at[5]; /* clock_mono: before, between, inside, between, after */
    struct scope_row rows[2];
};

struct timer {
    struct timed timed[TIMED];
    _Atomic int done;
};

static void *time_scopes(void *arg)
{
    struct timer *t = arg;
    for (int i = 0; i < TIMED; i++) {
        struct timed *s = &t->timed[i];
        s->at[0] = clock_mono();
        s->outer = gpufl_scope_begin("outer", NULL);
        s->at[1] = clock_mono();
        s->inner = gpufl_scope_begin("inner", NULL);
        s->at[2] = clock_mono();
        gpufl_scope_end(s->inner);
        s->at[3] = clock_mono();
        gpufl_scope_end(s->outer);
        s->at[4] = clock_mono();
    }
    atomic_fetch_add(&t->done, 1);
    return NULL;
}

static struct timer timers[3];

/* Says where the row of a scope belongs; `places` has all, sorted by instance. */
struct place {
    int64_t instance;
    struct scope_row *row;
};

static struct place places[3 * 2 * TIMED];

static int by_instance(const void *a, const void *b)
{
    int64_t left = ((const struct place *)a)->instance;
    int64_t right = ((const struct place *)b)->instance;
    return (left > right) - (left < right);
}

static void sort_places(void)
{
    size_t n = 0;
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < TIMED; i++) {
            struct timed *s = &timers[t].timed[i];
            places[n++] = (struct place){(int64_t)s->outer, &s->rows[0]};
            places[n++] = (struct place){(int64_t)s->inner, &s->rows[1]};
        }
    qsort(places, n, sizeof *places, by_instance);
}

static void keep_row(void *arg, enum record_type type, const int64_t *row)
{
    const struct scope_row *r = (const void *)row;
    (void)arg;
    if (type != RECORD_scope)
        return;
    struct place key = {.instance = r->instance};
    struct place *p =
        bsearch(&key, places, sizeof places / sizeof *places, sizeof *places, by_instance);
    if (p)
        *p->row = *r;
}

static void check_near(int64_t ns, int64_t from, int64_t to)
{
    assert_true(ns >= from - BOUND && ns <= to + BOUND);
}

static void check_timed(const struct timed *s, int64_t after)
{
    const struct scope_row *o = &s->rows[0], *i = &s->rows[1];
    check_near(o->start, s->at[0], s->at[1]);
    check_near(i->start, s->at[1], s->at[2]);
    check_near(i->start + i->duration, s->at[2], s->at[3]);
    check_near(o->start + o->duration, s->at[3], s->at[4]);
    assert_true(o->start >= after && i->start >= o->start && i->duration >= 0);
    assert_true(i->start + i->duration <= o->start + o->duration);
}

/* The times of a scope lie between the readings of the clock around it, on every thread, even if
 * the scope waited in the ring for long; and scopes stay nested. */
TEST(test_times_are_the_clocks)
{
    pthread_t threads[3];
    struct session_log log;
    struct parts parts = {.row = keep_row};
    int done = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, time_scopes, &timers[i]);
    while (done < 3) {
        assert_int_equal(session_flush(), 0);
        done = 0;
        for (int i = 0; i < 3; i++)
            done += atomic_load(&timers[i].done);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    end(&log);
    assert_int_equal(log.ledger.scopes_written, 3 * 2 * TIMED);
    sort_places();
    parts_read_all(gpufl_session_dir(), &parts);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < TIMED; i++) {
            const struct scope_row *before = i ? &timers[t].timed[i - 1].rows[0] : NULL;
            check_timed(&timers[t].timed[i], before ? before->start + before->duration : 0);
        }
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        per_thread = 1000000; /* the long test */
    const struct CMUnitTest tests[] = {
        CASE(test_eight_threads),
        CASE(test_slow_scopes_are_all_written),
        CASE(test_end_closes_the_inner_ones),
        CASE(test_leave_closes_that_scope_alone),
        CASE(test_another_threads_handle),
        CASE(test_threads_that_end_inside_scopes),
        CASE(test_short_threads_are_given_back),
        CASE(test_open_scopes_are_written_once),
        CASE(test_too_deep_is_counted),
        CASE(test_names_are_compared_by_content),
        CASE(test_shutdown_while_threads_work),
        CASE(test_times_are_the_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
