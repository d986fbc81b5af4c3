/* test_counting.c - tests the collection of kernels' counters, over a library that this test
 * simulates: counters that arrive, counters that do not, and the end of waiting. */
#include "backend/amd/trace/agents.h"
#include "backend/amd/trace/calls.h"
#include "backend/amd/trace/counting.h"
#include "backend/amd/trace/symbols.h"
#include "tests/test.h"

#include <string.h>

enum { AGENT = 7, KERNEL = 70, COUNTER = 700, CONFIG = 7000, OPERATION = 5, CALLS_KEPT = 1 << 16 };

static struct {
    rocp_counting_new_fn *ask;
    int rows;
    uint64_t lost;
    struct counter_row row;
} me;

/* ---- the library --------------------------------------------------------------------- */

static int agents(int version, rocp_agents_fn *fn, size_t bytes, void *data)
{
    static const struct rocp_agent gpu = {
        .size = sizeof gpu, .id = AGENT, .type = ROCP_GPU, .gfx_target = 90010, .product = "MI210"};
    const void *list[] = {&gpu};
    (void)bytes;
    return fn(version, list, 1, data);
}

static int counters(uint64_t agent, rocp_counters_fn *fn, void *data)
{
    uint64_t ids[] = {COUNTER};
    return fn(agent, ids, 1, data);
}

static int info(uint64_t counter, int version, struct rocp_counter_info *out)
{
    (void)version;
    *out = (struct rocp_counter_info){.id = counter, .name = "SQ_WAVES"};
    return ROCP_OK;
}

static int config(uint64_t agent, uint64_t *ids, size_t count, uint64_t *out)
{
    (void)agent, (void)ids, (void)count;
    *out = CONFIG;
    return ROCP_OK;
}

static int service(uint64_t context, uint64_t buffer, void *fn, void *data)
{
    (void)context, (void)buffer, (void)data;
    *(void **)&me.ask = fn;
    return ROCP_OK;
}

static int counter_of(uint64_t instance, uint64_t *counter)
{
    *counter = instance;
    return ROCP_OK;
}

static int operations(int kind, rocp_operation_fn *fn, void *data)
{
    return fn(kind, OPERATION, data);
}

static int operation_name(int kind, uint32_t operation, const char **name, uint64_t *length)
{
    (void)kind, (void)operation, (void)length;
    *name = "hipLaunchKernel";
    return ROCP_OK;
}

static const struct rocp sdk = {
    .version = ROCP_NEW_FORM,
    .rocprofiler_query_available_agents = agents,
    .rocprofiler_iterate_agent_supported_counters = counters,
    .rocprofiler_query_counter_info = info,
    .rocprofiler_create_counter_config = config,
    .rocprofiler_configure_buffer_dispatch_counting_service = service,
    .rocprofiler_query_record_counter_id = counter_of,
    .rocprofiler_iterate_callback_tracing_kind_operations = operations,
    .rocprofiler_query_callback_tracing_kind_operation_name = operation_name,
};

/* ---- the session --------------------------------------------------------------------- */

static bool launch(struct sink *s, const struct launch *l)
{
    (void)s, (void)l;
    return true;
}

static uint32_t name(struct sink *s, const char *text)
{
    (void)s, (void)text;
    return 1;
}

static void row(struct sink *s, enum record_type type, const void *data)
{
    (void)s;
    if (type != RECORD_counter)
        return;
    me.rows++;
    memcpy(&me.row, data, sizeof me.row);
}

static void lost(struct sink *s, enum loss cause, uint64_t n)
{
    (void)s;
    assert_int_equal(cause, LOSS_SAMPLES);
    me.lost += n;
}

static const struct sink_ops ops = {.launch = launch, .name = name, .row = row, .lost = lost};
static struct sink sink = {.ops = &ops};

static uint32_t device(int agent)
{
    (void)agent;
    return 1;
}

static void begin(bool windows)
{
    static bool made;
    struct err e = {0};
    uint32_t found[CALLS_MOST];
    struct trace_config c = {
        .windows = windows, .range_launches = 3, .counter_metrics = "SQ_WAVES"};
    if (!made) {
        struct rocp_symbol symbol = {.size = sizeof symbol, .kernel = KERNEL, .name = "scale.kd"};
        assert_int_equal(agents_find(&sdk, &e), 0);
        assert_int_equal(calls_find(&sdk, found), 1);
        assert_int_equal(counting_make(&sdk, 1, 1, &c, &e), 0);
        assert_true(symbols_add(&symbol));
    }
    made = true;
    me.rows = 0;
    me.lost = 0;
    calls_report(&sink, &c);
    counting_report(&sink, &c);
    if (windows)
        assert_true(calls_window(true, 0));
}

/* Returns what the session has lost in the end, and checks that it is counted once. */
static uint64_t finish(void)
{
    calls_report(NULL, NULL);
    counting_report(NULL, NULL);
    counting_describe(device, true);
    uint64_t first = me.lost;
    counting_describe(device, true);
    assert_int_equal(me.lost, first);
    assert_false(counting_waits());
    counting_close();
    return first;
}

static void call(uint64_t correlation)
{
    union rocp_user user = {0};
    struct rocp_call payload = {.size = sizeof payload};
    calls_event(&(struct call_event){correlation, OPERATION, ROCP_ENTER, &payload, &user});
}

/* A kernel of a call is enqueued. True: it is counted. */
static bool enqueue(uint64_t correlation, uint64_t dispatch)
{
    uint64_t chosen = 0;
    union rocp_user user = {0};
    struct rocp_counting_new d = {.size = sizeof d,
                                  .internal = correlation,
                                  .info = {.agent = AGENT, .kernel = KERNEL, .dispatch = dispatch}};
    me.ask(d, &chosen, &user, NULL);
    return chosen == CONFIG;
}

static void put_header(uint64_t correlation, uint64_t dispatch, uint64_t values)
{
    struct rocp_counted_new h = {.size = sizeof h,
                                 .values = values,
                                 .internal = correlation,
                                 .info = {.agent = AGENT, .kernel = KERNEL, .dispatch = dispatch}};
    counting_read(ROCP_COUNTED_DISPATCH, &h, 0, device);
}

static void put_value(uint64_t dispatch, double value)
{
    struct rocp_value v = {.instance = COUNTER, .value = value, .dispatch = dispatch};
    counting_read(ROCP_COUNTED_VALUE, &v, 0, device);
}

/* A kernel of a window is recorded, even if so many calls followed that its own is forgotten. */
TEST(calls_that_are_forgotten)
{
    begin(true);
    assert_false(enqueue(3, 1)); /* its call is not in the window */
    call(4);
    assert_true(enqueue(4, 2));
    call(4 + CALLS_KEPT);
    put_header(4, 2, 1);
    put_value(2, 12);
    assert_int_equal(me.rows, 1);
    assert_int_equal(me.row.value, 12);
    assert_int_equal(me.row.correlation, 4);
    assert_int_equal(finish(), 0);
}

/* Nobody waits for a kernel that has no values, nor for a complete one. */
TEST(nobody_waits_for_what_has_come)
{
    begin(false);
    assert_true(enqueue(1, 1));
    assert_true(counting_waits());
    put_header(1, 1, 0);
    assert_false(counting_waits());
    assert_true(enqueue(2, 2));
    put_value(2, 5); /* before its header, which announces 2 values */
    put_header(2, 2, 2);
    assert_true(counting_waits());
    put_value(2, 6);
    assert_false(counting_waits());
    assert_int_equal(me.rows, 1);
    assert_int_equal(me.row.value, 11);
    assert_int_equal(finish(), 1);
}

/* Kernels that are incomplete at the end are lost, even if nothing of them arrived. */
TEST(what_never_came_is_lost)
{
    begin(false);
    for (uint64_t i = 1; i <= 3; i++)
        assert_true(enqueue(i, i));
    assert_false(enqueue(4, 4)); /* only three launches of a kernel are counted */
    put_header(1, 1, 2);
    put_value(1, 1);
    put_value(2, 1);
    assert_true(counting_waits());
    assert_int_equal(finish(), 3);
    assert_int_equal(me.rows, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_that_are_forgotten),
                                       cmocka_unit_test(nobody_waits_for_what_has_come),
                                       cmocka_unit_test(what_never_came_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
