/* suite_rest.c - tests the other questions: copies, memory, metrics, sources, counts, history. */
#include "asked.h"

#include "base/alloc.h"

#include <math.h>

static struct store_session *fresh(const char *id)
{
    struct store_session *ss;
    OK(suite.ops->get(suite.store, "w", id, true, &ss, e));
    OK(suite.ops->begin(ss, e));
    return ss;
}

enum { CELLS_MOST = 8, COLUMNS_MOST = 8 };

/* A column of rows to be written. */
struct cells {
    unsigned column;
    int64_t values[CELLS_MOST];
};

static void put(struct store_session *ss, const struct wire_batch *b)
{
    OK(suite.ops->append(ss, b, e));
}

static struct wire_batch batch_of(enum record_type type, size_t rows)
{
    return (struct wire_batch){.type = type, .record = &records[type], .rows = rows};
}

static void put_cells(struct store_session *ss, enum record_type type, size_t rows,
                      const struct cells *cells, size_t count)
{
    struct wire_batch b = batch_of(type, rows);
    for (size_t i = 0; i < count; i++)
        b.col[cells[i].column] = cells[i].values;
    put(ss, &b);
}

/* PUT(ss, memcpy, 2, {COL_memcpy_start, {10, 20}}, ...): columns that are not named are unknown. */
#define PUT(ss, type, rows, ...)                                                                   \
    put_cells(ss, RECORD_##type, rows, (const struct cells[]){__VA_ARGS__},                        \
              sizeof(const struct cells[]){__VA_ARGS__} / sizeof(struct cells))

static void done(struct store_session *ss)
{
    OK(suite.ops->commit(ss, NULL, 0, e));
}

static void put_name(struct store_session *ss, uint32_t id, const char *text)
{
    size_t len = strlen(text);
    OK(suite.ops->names(ss, &id, &text, &len, 1, e));
}

/* Asks, and compares the first columns of every row with the expected cells; CELL_NULL: unknown. */
static void expect_rows(struct asked *a, struct store_session *ss, unsigned columns,
                        const int64_t (*want)[COLUMNS_MOST], size_t rows)
{
    const struct store_query_def *d = &store_queries[a->query];
    asked_run(a, ss);
    assert_int_equal(a->rows, rows);
    for (size_t r = 0; r < rows; r++)
        for (unsigned c = 0; c < columns; c++)
            if (want[r][c] == CELL_NULL)
                assert_false(asked_cell(a, r, d->columns[c].name)->known);
            else
                assert_int_equal(asked_get(a, r, d->columns[c].name), want[r][c]);
}

#define EXPECT(a, ss, columns, ...)                                                                \
    expect_rows(a, ss, columns, (const int64_t[][COLUMNS_MOST]){__VA_ARGS__},                      \
                sizeof(const int64_t[][COLUMNS_MOST]){__VA_ARGS__} /                               \
                    sizeof(int64_t[COLUMNS_MOST]))

void suite_copies_by_kind(void **state)
{
    struct store_session *ss = fresh("copies");
    struct asked a;
    (void)state;
    PUT(ss, memcpy, 5, {COL_memcpy_start, {10, 20, 30, 40, CELL_NULL}},
        {COL_memcpy_duration, {5, 7, 1, 9, 100}}, {COL_memcpy_bytes, {1024, 4096, 0, 1500, 99}},
        {COL_memcpy_kind, {1, 2, 1, 1, 1}}, {COL_memcpy_src_memory, {2, 3, 2, 2, 2}},
        {COL_memcpy_dst_memory, {3, 2, 3, 3, 3}});
    done(ss);
    asked_init(&a, QUERY_copies);
    EXPECT(&a, ss, 6, {1, 2, 3, 3, 2524, 15}, {2, 3, 2, 1, 4096, 7});
    asked_int(&a, "from", 20);
    asked_int(&a, "to", 40);
    EXPECT(&a, ss, 6, {2, 3, 2, 1, 4096, 7}, {1, 2, 3, 1, 0, 1});
    asked_fini(&a);
    asked_init(&a, QUERY_copy_sizes);
    EXPECT(&a, ss, 5, {1, -1, 1, 0, 1}, {1, 10, 2, 2524, 14}, {2, 12, 1, 4096, 7});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_memory_held(void **state)
{
    struct store_session *ss = fresh("memory");
    struct asked a;
    (void)state;
    PUT(ss, alloc, 7, {COL_alloc_time, {5, 12, 12, 25, 26, 7, 41}},
        {COL_alloc_op, {1, 1, 2, 2, 1, 1, 2}}, {COL_alloc_bytes, {100, 50, 100, 20, 300, 1000, 30}},
        {COL_alloc_device, {1, 1, 1, 1, 1, 2, 1}});
    done(ss);
    asked_init(&a, QUERY_allocations);
    asked_int(&a, "device", 1);
    asked_int(&a, "step", 10);
    EXPECT(&a, ss, 4, {0, 100, 100, 1}, {10, 50, 150, 2}, {20, 330, 330, 2}, {40, 300, 300, 1});
    asked_fini(&a);
    suite.ops->put(ss);
    ss = fresh("addresses"); /* frees on AMD's GPUs have an address, no size, and maybe no device */
    PUT(ss, alloc, 6, {COL_alloc_time, {5, 12, 13, 25, 31, 41}}, {COL_alloc_op, {1, 2, 1, 2, 2, 1}},
        {COL_alloc_bytes, {100, CELL_NULL, 60, CELL_NULL, CELL_NULL, 7}},
        {COL_alloc_address, {64, 64, 64, 64, 64, 128}}, {COL_alloc_device, {1, 1, 1, 0, 1, 1}});
    done(ss);
    asked_init(&a, QUERY_allocations);
    asked_int(&a, "device", 1);
    asked_int(&a, "step", 10);
    EXPECT(&a, ss, 4, {0, 100, 100, 1}, {10, 60, 60, 2}, {20, 0, 0, 1},
           {30, CELL_NULL, CELL_NULL, 1}, {40, CELL_NULL, CELL_NULL, 1});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_series_of_metrics(void **state)
{
    struct store_session *ss = fresh("series");
    struct asked a;
    struct err e;
    (void)state;
    PUT(ss, device_metric, 5, {COL_device_metric_time, {-15, 3, 4, 11, 30}},
        {COL_device_metric_device, {1, 1, 1, 1, 2}},
        {COL_device_metric_power, {7, 100, 300, CELL_NULL, 5}});
    PUT(ss, host_metric, 5, {COL_host_metric_time, {-15, 3, 4, 11, 30}},
        {COL_host_metric_cpu, {7, 100, 300, CELL_NULL, 5}});
    done(ss);
    asked_init(&a, QUERY_device_series);
    asked_int(&a, "device", 1);
    asked_int(&a, "metric", COL_device_metric_power);
    asked_int(&a, "step", 10);
    EXPECT(&a, ss, 2, {-20, 7}, {0, 100});
    assert_true(asked_real(&a, 1, "mean") == 200);
    assert_int_equal(asked_get(&a, 1, "most"), 300);
    assert_int_equal(asked_get(&a, 1, "samples"), 2);
    asked_int(&a, "metric", COL_device_metric_device);
    assert_int_equal(asked_try(&a, ss, &e), GPUFL_E_INVAL);
    asked_int(&a, "metric", COL_device_metric_COUNT);
    assert_int_equal(asked_try(&a, ss, &e), GPUFL_E_INVAL);
    asked_int(&a, "metric", COL_device_metric_power);
    asked_int(&a, "step", 0);
    assert_int_equal(asked_try(&a, ss, &e), GPUFL_E_INVAL);
    asked_fini(&a);
    asked_init(&a, QUERY_host_series);
    asked_int(&a, "metric", COL_host_metric_cpu);
    asked_int(&a, "step", 1000);
    asked_int(&a, "from", 0);
    EXPECT(&a, ss, 2, {0, 5});
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_counters_over_time(void **state)
{
    struct store_session *ss = fresh("counters");
    struct asked a;
    (void)state;
    put_name(ss, 1, "sm__warps_active.avg");
    put_name(ss, 2, "dram__bytes.sum");
    PUT(ss, counter, 6, {COL_counter_start, {5, 12, 14, 31, 5, 12}},
        {COL_counter_source, {1, 1, 1, 1, 1, 3}}, {COL_counter_device, {1, 1, 1, 1, 2, 1}},
        {COL_counter_metric, {1, 1, 1, 1, 2, 1}}, {COL_counter_value, {25, 3, 5, CELL_NULL, 7, 9}},
        {COL_counter_exponent, {-1, CELL_NULL, 1, 0, 0, 0}});
    done(ss);
    asked_init(&a, QUERY_counters);
    EXPECT(&a, ss, 2, {1, 1}, {2, 2});
    assert_string_equal(asked_cell(&a, 0, "name")->text, "sm__warps_active.avg");
    assert_int_equal(asked_get(&a, 0, "samples"), 4); /* a kernel's replays are no samples */
    asked_fini(&a);
    asked_init(&a, QUERY_counter_series);
    asked_int(&a, "device", 1);
    asked_int(&a, "counter", 1);
    asked_int(&a, "step", 10);
    EXPECT(&a, ss, 1, {0}, {10});
    assert_true(fabs(asked_real(&a, 0, "mean") - 2.5) < 1e-9);
    assert_true(fabs(asked_real(&a, 1, "least") - 3) < 1e-9);
    assert_true(fabs(asked_real(&a, 1, "mean") - 26.5) < 1e-9);
    assert_true(fabs(asked_real(&a, 1, "most") - 50) < 1e-9);
    assert_int_equal(asked_get(&a, 1, "samples"), 2);
    asked_int(&a, "from", 10);
    asked_int(&a, "to", 13);
    EXPECT(&a, ss, 1, {10});
    assert_int_equal(asked_get(&a, 0, "samples"), 1);
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_who_samples(void **state)
{
    struct store_session *ss = fresh("samplers");
    struct asked a;
    (void)state;
    put_name(ss, 1, "another-session");
    put_name(ss, 2, "node7");
    put_name(ss, 3, "GPU-1234");
    put_name(ss, 4, "H200");
    PUT(ss, device, 2, {COL_device_id, {2, 1}}, {COL_device_index, {1, 0}},
        {COL_device_name, {4, 0}}, {COL_device_uuid, {3, 0}});
    PUT(ss, sampler, 3, {COL_sampler_time, {7, 5, 5}}, {COL_sampler_device, {0, 2, 0}},
        {COL_sampler_taken_by, {0, 1, 1}}, {COL_sampler_host, {0, 2, 2}},
        {COL_sampler_interval, {CELL_NULL, 1000, 1000}});
    done(ss);
    asked_init(&a, QUERY_devices);
    EXPECT(&a, ss, 2, {1, 0}, {2, 1});
    assert_string_equal(asked_cell(&a, 1, "uuid")->text, "GPU-1234");
    asked_fini(&a);
    asked_init(&a, QUERY_samplers);
    EXPECT(&a, ss, 2, {5, 0}, {5, 2}, {7, 0});
    assert_string_equal(asked_cell(&a, 0, "session")->text, "another-session");
    assert_string_equal(asked_cell(&a, 1, "host")->text, "node7");
    assert_int_equal(asked_get(&a, 1, "interval"), 1000);
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_events_of_gpus(void **state)
{
    struct store_session *ss = fresh("gpu_events");
    struct asked a;
    (void)state;
    put_name(ss, 1, "xid");
    put_name(ss, 2, "lost");
    PUT(ss, gpu_event, 3, {COL_gpu_event_time, {5, 9, 7}}, {COL_gpu_event_device, {1, 2, 1}},
        {COL_gpu_event_kind, {1, 2, 1}}, {COL_gpu_event_code, {31, CELL_NULL, 79}},
        {COL_gpu_event_count, {4, 1, 1}});
    done(ss);
    asked_init(&a, QUERY_gpu_events);
    asked_int(&a, "limit", 2);
    EXPECT(&a, ss, 2, {9, 2}, {7, 1}); /* the newest first */
    assert_string_equal(asked_cell(&a, 0, "kind")->text, "lost");
    assert_false(asked_cell(&a, 0, "code")->known);
    assert_int_equal(asked_get(&a, 1, "code"), 79);
    asked_fini(&a);
    asked_init(&a, QUERY_gpu_events);
    asked_int(&a, "limit", 10);
    EXPECT(&a, ss, 3, {9, 2}, {7, 1}, {5, 1});
    assert_int_equal(asked_get(&a, 2, "count"), 4);
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_counts_of_rows(void **state)
{
    struct store_session *ss = suite_loaded("counts", &suite.recorded);
    struct asked a;
    size_t row = 0;
    (void)state;
    asked_init(&a, QUERY_counts);
    asked_run(&a, ss);
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        if (!suite.recorded.count[i])
            continue;
        assert_string_equal(asked_cell(&a, row, "record")->text, records[i].type);
        assert_int_equal(asked_get(&a, row++, "rows"), suite.recorded.count[i]);
    }
    assert_int_equal(a.rows, row);
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_sources_in_pieces(void **state)
{
    struct store_session *ss = fresh("sources");
    struct asked a;
    (void)state;
    put_name(ss, 1, "b.py");
    put_name(ss, 2, "a.py");
    put_name(ss, 3, "first");
    put_name(ss, 4, "last");
    put_name(ss, 5, "one");
    PUT(ss, source, 4, {COL_source_path, {1, 2, 1, 1}}, {COL_source_offset, {0, 0, 5, 0}},
        {COL_source_text, {3, 5, 4, 3}}, {COL_source_size, {9, 3, 9, 9}},
        {COL_source_hash, {-7, 8, -7, -7}});
    done(ss);
    asked_init(&a, QUERY_sources);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    assert_string_equal(asked_cell(&a, 0, "path")->text, "a.py");
    assert_int_equal(asked_get(&a, 0, "kept"), 3);
    assert_string_equal(asked_cell(&a, 1, "path")->text, "b.py");
    assert_int_equal(asked_get(&a, 1, "kept"), 9); /* a piece that came twice counts once */
    assert_int_equal(asked_get(&a, 1, "size"), 9);
    assert_int_equal(asked_get(&a, 1, "hash"), -7);
    asked_fini(&a);
    asked_init(&a, QUERY_source);
    asked_text(&a, "path", "b.py");
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    assert_string_equal(asked_cell(&a, 0, "text")->text, "first");
    assert_string_equal(asked_cell(&a, 1, "text")->text, "last");
    asked_text(&a, "path", "c.py' OR 'a' = 'a");
    asked_run(&a, ss);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
    suite.ops->put(ss);
}

/* Every question about a session gets an empty answer if the session is empty. */
void suite_nothing_to_report(void **state)
{
    struct store_session *ss = fresh("nothing");
    int64_t lane = lane_make(LANE_KERNEL, 0, 1);
    (void)state;
    done(ss);
    for (unsigned q = 0; q < STORE_QUERY_COUNT; q++) {
        const struct store_query_def *d = &store_queries[q];
        struct asked a;
        if (d->of_workspace)
            continue;
        asked_init(&a, q);
        for (unsigned i = 0; i < d->param_count; i++) {
            if (d->params[i].type == STORE_LIST)
                asked_list(&a, d->params[i].name, &lane, 1);
            else if (d->params[i].type == STORE_TEXT)
                asked_text(&a, d->params[i].name, "x");
            else if (strcmp(d->params[i].name, "offset") != 0)
                asked_int(&a, d->params[i].name, strcmp(d->params[i].name, "metric") ? 1 : 2);
        }
        asked_run(&a, ss);
        assert_int_equal(a.rows, 0);
        asked_fini(&a);
    }
    suite.ops->put(ss);
}

/* Cells of absurd values in every column: every question is answered. */
void suite_absurd_numbers(void **state)
{
    static const int64_t values[] = {CELL_NULL, INT64_MIN + 1,   -(1ll << 62), -1,       0, 1, 7,
                                     1ll << 53, (1ll << 62) - 1, 1ll << 62,    INT64_MAX};
    enum { VALUES = sizeof values / sizeof *values, ROWS = VALUES * VALUES };
    static int64_t cells[RECORD_MAX_COLUMNS][ROWS];
    struct store_session *ss = fresh("absurd");
    int64_t lanes[] = {lane_make(LANE_KERNEL, 0, 7), lane_make(LANE_COPY, 0, 1),
                       lane_make(LANE_SCOPE, 255, 0), lane_make(LANE_WAIT, 0, 0)};
    (void)state;
    for (unsigned c = 0; c < RECORD_MAX_COLUMNS; c++)
        for (size_t i = 0; i < ROWS; i++) /* every pair in the first two columns */
            cells[c][i] = values[c == 0   ? i / VALUES
                                 : c == 1 ? i % VALUES
                                          : (i * c + i / 5) % VALUES];
    for (unsigned type = 0; type < RECORD_COUNT; type++) {
        struct wire_batch b = batch_of(type, ROWS);
        for (unsigned c = 0; c < records[type].column_count; c++)
            b.col[c] = cells[c];
        put(ss, &b);
    }
    done(ss);
    for (unsigned q = 0; q < STORE_QUERY_COUNT; q++) {
        const struct store_query_def *d = &store_queries[q];
        for (int round = 0; round < 3 && !d->of_workspace; round++) {
            static const int64_t froms[] = {INT64_MIN + 1, 0, INT64_MIN + 1};
            static const int64_t tos[] = {INT64_MAX, 1ll << 62, 0};
            struct asked a;
            asked_init(&a, q);
            for (unsigned i = 0; i < d->param_count; i++) {
                const char *name = d->params[i].name;
                if (d->params[i].type == STORE_LIST)
                    asked_list(&a, name, lanes, 4);
                else if (d->params[i].type == STORE_TEXT)
                    asked_text(&a, name, "");
                else if (!strcmp(name, "from") || !strcmp(name, "to"))
                    asked_int(&a, name, *name == 'f' ? froms[round] : tos[round]);
                else if (!strcmp(name, "metric") || !strcmp(name, "step"))
                    asked_int(&a, name, 2);
                else if (!strcmp(name, "level") || !strcmp(name, "back") || !strcmp(name, "order"))
                    asked_int(&a, name, round);
                else if (round && strcmp(name, "limit") != 0 && strcmp(name, "offset") != 0)
                    asked_int(&a, name, round == 1 ? 7 : INT64_MAX);
            }
            if (q == QUERY_allocations || q == QUERY_device_series || q == QUERY_counter_series)
                asked_int(&a, "device", 7);
            if (q == QUERY_counter_series)
                asked_int(&a, "counter", 7);
            if (q == QUERY_kernel_configs || q == QUERY_kernel_histogram)
                asked_int(&a, "name", 7);
            if (q == QUERY_search)
                a.args[1].null = true;
            asked_run(&a, ss);
            asked_fini(&a);
        }
    }
    suite.ops->put(ss);
}

/* ---- history --------------------------------------------------------------------------------- */

enum { HISTORY = 15, KIND = 14 };

static void put_history(const char *session, int64_t started, const char *name, size_t rows,
                        int64_t kind)
{
    struct store_text texts[HISTORY][2];
    int64_t ints[2] = {5, 6};
    int64_t starts[2] = {started, started}, kinds[2] = {kind, kind};
    double reals[2] = {1.5, 2.5};
    struct store_vec columns[HISTORY];
    const struct store_query_def *d = &store_queries[QUERY_kernel_history];
    assert_int_equal(d->column_count, HISTORY);
    for (unsigned i = 0; i < HISTORY; i++) {
        const char *text = i == 0 ? session : i == 5 ? name : d->columns[i].name;
        for (int k = 0; k < 2; k++)
            texts[i][k] = (struct store_text){text, strlen(text)};
        columns[i] =
            (struct store_vec){.type = d->columns[i].type, .texts = texts[i], .reals = reals};
        columns[i].ints = i == 1 ? starts : i == KIND ? kinds : ints;
    }
    const struct store_chunk chunk = {rows, HISTORY, columns};
    OK(suite.ops->put_history(suite.store, "w", &(struct store_history){session, &chunk}, 1, e));
}

void suite_history_of_kernels(void **state)
{
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_kernel_history);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    put_history("late", 200, "gemm_a", 2, 0);
    put_history("early", 100, "Gemm_B", 1, 0);
    put_history("late", 200, "gemm_a", 1, 0); /* replaces the rows */
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 2);
    assert_string_equal(asked_cell(&a, 0, "session")->text, "early");
    assert_string_equal(asked_cell(&a, 0, "name")->text, "Gemm_B");
    assert_int_equal(asked_get(&a, 0, "calls"), 5);
    assert_true(asked_real(&a, 0, "share") == 1.5);
    assert_string_equal(asked_cell(&a, 1, "session")->text, "late");
    asked_text(&a, "pattern", "gemm_b");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    asked_text(&a, "pattern", "GEMM");
    asked_int(&a, "from", 150);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    assert_int_equal(asked_get(&a, 0, "started"), 200);
    put_history("late", 200, "gemm_a", 0, 0); /* forgets the rows */
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
}

/* Rows that are not kernels are distinguished from kernels, and whole names from parts. */
void suite_history_of_scopes(void **state)
{
    struct asked a;
    (void)state;
    put_history("kernels", 100, "inner", 1, 0);
    put_history("scopes", 300, "outer|inner", 1, 1);
    asked_init(&a, QUERY_kernel_history);
    asked_text(&a, "name", "inner");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    assert_string_equal(asked_cell(&a, 0, "session")->text, "kernels");
    asked_text(&a, "name", "outer|inner");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    asked_int(&a, "kind", 1);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    assert_string_equal(asked_cell(&a, 0, "name")->text, "outer|inner");
    assert_int_equal(asked_get(&a, 0, "kind"), 1);
    asked_text(&a, "name", "inner");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    asked_text(&a, "name", "outer|inner");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    asked_int(&a, "kind", 2);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
}

/* Rows of a session whose real columns are unknown in the second row. */
static void put_trend(const char *session, int64_t started, const char *name, const char *host)
{
    static const uint64_t first_only = 1;
    const struct store_query_def *d = &store_queries[QUERY_kernel_history];
    struct store_vec columns[HISTORY];
    struct store_text texts[HISTORY][2];
    const int64_t ints[2] = {5, 6}, starts[2] = {started, started}, kinds[2] = {0, 0};
    const double reals[2] = {1.5, 2.5};
    for (unsigned i = 0; i < HISTORY; i++) {
        const char *text = i == 0 ? session : i == 3 ? host : i == 5 ? name : d->columns[i].name;
        for (int k = 0; k < 2; k++)
            texts[i][k] = (struct store_text){text, strlen(text)};
        columns[i] =
            (struct store_vec){.type = d->columns[i].type, .texts = texts[i], .reals = reals};
        columns[i].ints = i == 1 ? starts : i == KIND ? kinds : ints;
        if (d->columns[i].type == STORE_REAL)
            columns[i].valid = &first_only;
    }
    const struct store_chunk chunk = {2, HISTORY, columns};
    OK(suite.ops->put_history(suite.store, "w", &(struct store_history){session, &chunk}, 1, e));
}

/* Every row that the question about a trend gives is a row of kernel_history, and none is missing;
 * an unknown number is unknown in both. */
void suite_history_of_trends(void **state)
{
    static const char *const shared[] = {"session", "app", "host", "device", "shape"};
    static const char *const numbers[] = {"started", "calls", "total", "p50", "p99", "share"};
    struct asked all, trend;
    size_t unknown = 0;
    (void)state;
    put_trend("t1", 300, "trend_a", "h1");
    put_trend("t2", 100, "trend_a", "h2");
    put_trend("t3", 200, "trend_b", "h1");
    asked_init(&all, QUERY_kernel_history);
    asked_init(&trend, QUERY_trend);
    asked_text(&all, "name", "trend_a");
    asked_text(&trend, "name", "trend_a");
    asked_run(&all, NULL);
    asked_run(&trend, NULL);
    assert_int_equal(all.rows, 4);
    assert_int_equal(trend.rows, 4);
    for (size_t i = 0; i < all.rows; i++) {
        size_t matches = 0;
        for (size_t k = 0; k < trend.rows; k++) {
            bool same = true;
            for (size_t c = 0; c < sizeof shared / sizeof *shared; c++)
                same = same && strcmp(asked_cell(&all, i, shared[c])->text,
                                      asked_cell(&trend, k, shared[c])->text) == 0;
            for (size_t c = 0; c < sizeof numbers / sizeof *numbers; c++) {
                const struct asked_cell *a = asked_cell(&all, i, numbers[c]);
                const struct asked_cell *b = asked_cell(&trend, k, numbers[c]);
                same =
                    same && a->known == b->known && (!a->known || (a->i == b->i && a->r == b->r));
            }
            matches += same;
        }
        assert_int_equal(matches, 1);
        unknown += !asked_cell(&all, i, "share")->known;
    }
    assert_int_equal(unknown, 2);
    asked_text(&trend, "host", "h2");
    asked_run(&trend, NULL);
    assert_int_equal(trend.rows, 2);
    assert_string_equal(asked_cell(&trend, 0, "session")->text, "t2");
    asked_int(&trend, "from", 101);
    asked_run(&trend, NULL);
    assert_int_equal(trend.rows, 0);
    asked_fini(&trend);
    asked_fini(&all);
}

void suite_history_names(void **state)
{
    struct asked a;
    (void)state;
    put_trend("n1", 300, "names_a", "h1");
    put_trend("n2", 100, "names_a", "h2");
    put_trend("n3", 200, "names_b", "h1");
    asked_init(&a, QUERY_history_names);
    asked_text(&a, "pattern", "NAMES_");
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 2);
    assert_string_equal(asked_cell(&a, 0, "name")->text, "names_a");
    assert_int_equal(asked_get(&a, 0, "sessions"), 2);
    assert_int_equal(asked_get(&a, 0, "calls"), 22);
    assert_int_equal(asked_get(&a, 0, "total"), 22);
    assert_string_equal(asked_cell(&a, 1, "name")->text, "names_b");
    assert_int_equal(asked_get(&a, 1, "sessions"), 1);
    asked_int(&a, "limit", 1);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 1);
    asked_int(&a, "kind", 1);
    asked_run(&a, NULL);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
}
