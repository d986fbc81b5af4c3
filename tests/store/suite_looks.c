/* suite_looks.c - tests data of host threads: samples, captured launches, waits with their
 * stacks. */
#include "asked.h"

#include "wire/tile.h"

enum { ROWS = 6 };

static struct wire_batch batch_of(enum record_type type, size_t rows)
{
    return (struct wire_batch){.type = type, .record = &records[type], .rows = rows};
}

/* Six samples of two threads, and one of a thread that nobody knows. */
static void put_samples(struct store_session *ss)
{
    static const int64_t start[] = {1000, 1500, 1900, 2100, 1200, 1300},
                         thread[] = {7, 7, 7, 7, 9, CELL_NULL}, stack[] = {3, 3, 5, 5, 0, 3},
                         state[] = {1, 3, 1, 4, 2, 1};
    struct wire_batch b = batch_of(RECORD_host_sample, ROWS);
    b.col[COL_host_sample_start] = (int64_t *)(uintptr_t)start;
    b.col[COL_host_sample_thread] = (int64_t *)(uintptr_t)thread;
    b.col[COL_host_sample_stack] = (int64_t *)(uintptr_t)stack;
    b.col[COL_host_sample_state] = (int64_t *)(uintptr_t)state;
    OK(suite.ops->append(ss, &b, e));
}

static void put_launches(struct store_session *ss)
{
    static const int64_t start[] = {1100, 1200, 2500}, own[] = {50, CELL_NULL, 70},
                         correlation[] = {11, 12, 13}, thread[] = {7, 7, 8}, stack[] = {4, 4, 6};
    struct wire_batch b = batch_of(RECORD_launch, 3);
    b.col[COL_launch_start] = (int64_t *)(uintptr_t)start;
    b.col[COL_launch_own] = (int64_t *)(uintptr_t)own;
    b.col[COL_launch_correlation] = (int64_t *)(uintptr_t)correlation;
    b.col[COL_launch_thread] = (int64_t *)(uintptr_t)thread;
    b.col[COL_launch_stack] = (int64_t *)(uintptr_t)stack;
    OK(suite.ops->append(ss, &b, e));
}

static void put_waits(struct store_session *ss)
{
    static const int64_t start[] = {1000, 3000, 9000}, duration[] = {500, 4000, 10},
                         thread[] = {7, 7, 7}, stack[] = {21, 22, 23}, correlation[] = {1, 2, 3};
    struct wire_batch b = batch_of(RECORD_wait, 3);
    b.col[COL_wait_start] = (int64_t *)(uintptr_t)start;
    b.col[COL_wait_duration] = (int64_t *)(uintptr_t)duration;
    b.col[COL_wait_thread] = (int64_t *)(uintptr_t)thread;
    b.col[COL_wait_stack] = (int64_t *)(uintptr_t)stack;
    b.col[COL_wait_correlation] = (int64_t *)(uintptr_t)correlation;
    OK(suite.ops->append(ss, &b, e));
    b = batch_of(RECORD_sync, 1);
    b.col[COL_sync_start] = (int64_t *)(uintptr_t)&start[1];
    b.col[COL_sync_duration] = (int64_t *)(uintptr_t)&duration[0];
    b.col[COL_sync_thread] = (int64_t *)(uintptr_t)thread;
    b.col[COL_sync_stack] = (int64_t *)(uintptr_t)stack;
    b.col[COL_sync_correlation] = (int64_t *)(uintptr_t)correlation;
    OK(suite.ops->append(ss, &b, e));
}

static struct store_session *looked(const char *id)
{
    struct store_session *ss;
    OK(suite.ops->get(suite.store, "w", id, true, &ss, e));
    OK(suite.ops->begin(ss, e));
    put_samples(ss);
    put_launches(ss);
    put_waits(ss);
    OK(suite.ops->commit(ss, NULL, 0, e));
    return ss;
}

/* The known INT cells of a row in the order of the columns; -1: unknown. */
static void expect(const struct asked *a, size_t row, const int64_t *want)
{
    const struct store_query_def *d = &store_queries[a->query];
    for (unsigned c = 0; c < d->column_count; c++) {
        const struct asked_cell *cell = asked_cell(a, row, d->columns[c].name);
        if ((cell->known ? cell->i : -1) != want[c])
            fail_msg("%s, row %zu, %s: %lld, not %lld", d->id, row, d->columns[c].name,
                     (long long)(cell->known ? cell->i : -1), (long long)want[c]);
    }
}

void suite_threads_looked_at(void **state)
{
    struct store_session *ss = looked("looked_at");
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_looked_at);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 3);
    expect(&a, 0, (const int64_t[]){7, 4, 4, 2, 1000, 2100});
    expect(&a, 1, (const int64_t[]){8, 0, 0, 1, 2500, 2500});
    expect(&a, 2, (const int64_t[]){9, 1, 0, 0, 1200, 1200});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_samples_in_steps(void **state)
{
    struct store_session *ss = looked("samples");
    static const int64_t threads[] = {7, 9};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_samples);
    asked_list(&a, "threads", threads, 2);
    asked_int(&a, "from", 1000);
    asked_int(&a, "to", 3000);
    asked_int(&a, "step", 1000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 3);
    expect(&a, 0, (const int64_t[]){7, 1000, 3, 2, 0, 1, 0, 3});
    expect(&a, 1, (const int64_t[]){7, 2000, 1, 0, 0, 0, 1, 5});
    expect(&a, 2, (const int64_t[]){9, 1000, 1, 0, 1, 0, 0, -1});
    asked_int(&a, "step", 1);
    asked_int(&a, "to", 1900);
    asked_int(&a, "limit", 2);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    expect(&a, 1, (const int64_t[]){7, 1500, 1, 0, 0, 1, 0, 3});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_captured_launches(void **state)
{
    struct store_session *ss = looked("captured");
    static const int64_t threads[] = {7, 8};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_captured);
    asked_list(&a, "threads", threads, 2);
    asked_int(&a, "from", 0);
    asked_int(&a, "to", 3000);
    asked_int(&a, "step", 1000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    expect(&a, 0, (const int64_t[]){7, 1000, 2, 50, 12, 4});
    expect(&a, 1, (const int64_t[]){8, 2000, 1, 70, 13, 6});
    asked_int(&a, "step", 1);
    asked_int(&a, "correlation", 12);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 1);
    expect(&a, 0, (const int64_t[]){7, 1200, 1, -1, 12, 4});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_waits_with_stacks(void **state)
{
    struct store_session *ss = looked("waits");
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_waits);
    asked_int(&a, "from", 1200);
    asked_int(&a, "to", 8000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 3);
    assert_int_equal(asked_get(&a, 0, "lane"), lane_make(LANE_WAIT, 0, 7));
    assert_int_equal(asked_get(&a, 0, "stack"), 22);
    assert_int_equal(asked_get(&a, 1, "start"), 1000);
    assert_int_equal(asked_get(&a, 2, "lane"), lane_make(LANE_SYNC, 0, 7));
    assert_int_equal(asked_get(&a, 2, "stack"), 21);
    asked_int(&a, "limit", 1);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 1);
    assert_int_equal(asked_get(&a, 0, "duration"), 4000);
    asked_fini(&a);
    suite.ops->put(ss);
}
