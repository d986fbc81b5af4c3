/* test_launches.c - tests what the launch callback reports to the sink: a launch for each call,
 * failed launches again, graphs with their kernels, and joins only in scopes. */
#include <stdio.h>
#include <string.h>

#include "backend/nvidia/record/faults.h"
#include "backend/nvidia/record/graphs.h"
#include "backend/nvidia/record/launches.h"
#include "backend/nvidia/record/waits.h"
#include "base/clock.h"
#include "tests/test.h"

/* ---- a sink that remembers ------------------------------------------------------------- */

enum { REMEMBERED = 64 };

static struct launch seen[REMEMBERED];
static int seen_count;
static bool scope_open;

static bool sink_launch(struct sink *s, const struct launch *l)
{
    (void)s;
    assert_true(seen_count < REMEMBERED);
    seen[seen_count++] = *l;
    return true;
}

static void sink_kernel(struct sink *s, uint32_t correlation)
{
    sink_launch(s,
                &(struct launch){.kind = LAUNCH_KERNEL, .correlation = correlation, .kernels = 1});
}

static bool sink_in_scope(struct sink *s)
{
    (void)s;
    return scope_open;
}

static char reported[256];
static int reported_count;

static void sink_message(struct sink *s, enum severity severity, const char *code, const char *fmt,
                         ...)
{
    va_list args;
    (void)s;
    assert_int_equal(severity, SEVERITY_WARNING);
    assert_string_equal(code, "program.fault");
    va_start(args, fmt);
    vsnprintf(reported, sizeof reported, fmt, args);
    va_end(args);
    reported_count++;
}

static const struct sink_ops sink_ops = {.launch = sink_launch,
                                         .kernel = sink_kernel,
                                         .in_scope = sink_in_scope,
                                         .message = sink_message};
static struct sink sink = {.ops = &sink_ops};

/* ---- a CUPTI that remembers what was enabled ------------------------------------------- */

static uint8_t enabled[1024];
static uint32_t refuse_from, refuse_one;

static int fake_enable(uint32_t on, cupti_subscriber subscriber, int domain, uint32_t id)
{
    (void)subscriber;
    assert_int_equal(domain, CUPTI_DOMAIN_DRIVER);
    if (id >= refuse_from || id == refuse_one)
        return CUPTI_E_INVALID_PARAMETER;
    enabled[id] = (uint8_t)on;
    return CUPTI_OK;
}

static const struct cupti cupti = {.cuptiEnableCallback = fake_enable};
static struct trace trace;

static int setup(void **state)
{
    (void)state;
    memset(&trace, 0, sizeof trace);
    memset(enabled, 0, sizeof enabled);
    trace.cupti = &cupti;
    waits_init();
    faults_open();
    reported_count = 0;
    atomic_store(&trace.live, &sink);
    seen_count = 0;
    scope_open = false;
    refuse_from = UINT32_MAX;
    refuse_one = 0;
    return 0;
}

/* A session of Trace alone, whose launches take the short way. */
static int setup_plain(void **state)
{
    setup(state);
    atomic_store(&trace.plain, true);
    return 0;
}

/* Makes a driver call with its two callbacks. */
static void call(uint32_t id, uint32_t correlation, const void *params, int result)
{
    uint64_t data = 0;
    struct cupti_callback c = {
        .site = CUPTI_SITE_ENTER, .params = params, .data = &data, .correlation = correlation};
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, id, &c);
    c.site = CUPTI_SITE_EXIT;
    c.result = &result;
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, id, &c);
}

enum {
#define ID(name, id) name##_id = id,
    CUPTI_KERNEL_CALLS(ID) CUPTI_GRAPH_CALLS(ID) CUPTI_COPY_CALLS(ID) CUPTI_SYNC_CALLS(ID)
        CUPTI_INSTANTIATE_CALLS(ID) CUPTI_EXEC_CALLS(ID)
#undef ID
};

TEST(every_launch_call_counts_once)
{
    static const uint32_t ids[] = {
#define ID(name, id) id,
        CUPTI_KERNEL_CALLS(ID)
#undef ID
    };
    struct cuda_launch_config config = {.stream = NULL};
    struct cuda_launch_ex_params ex = {.config = &config};
    struct cuda_launch_params plain = {.stream = NULL};
    struct cuda_multi_device_params multi = {.devices = 3};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        bool many = ids[i] == cuLaunchCooperativeKernelMultiDevice_id;
        const void *params = many ? (const void *)&multi
                             : ids[i] == cuLaunchKernelEx_id || ids[i] == cuLaunchKernelEx_ptsz_id
                                 ? (const void *)&ex
                                 : (const void *)&plain;
        seen_count = 0;
        call(ids[i], (uint32_t)i + 10, params, CUDA_OK);
        assert_int_equal(seen_count, many ? 3 : 1);
        assert_int_equal(seen[0].kind, LAUNCH_KERNEL);
        assert_int_equal(seen[0].kernels, 1);
        assert_int_equal(seen[0].correlation, i + 10);
    }
}

TEST(a_failed_launch_is_taken_back)
{
    struct cuda_launch_params params = {.stream = NULL};
    call(cuLaunchKernel_id, 5, &params, 700);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].kind, LAUNCH_KERNEL);
    assert_int_equal(seen[1].kind, LAUNCH_FAILED);
    assert_int_equal(seen[1].correlation, 5);
    assert_int_equal(seen[1].graph, 0);
}

/* The first call that returns a kernel's fault is reported; other errors are not. */
TEST(a_fault_is_reported_once)
{
    struct cuda_launch_params params = {.stream = NULL};
    call(cuLaunchKernel_id, 1, &params, CUDA_OK);
    call(cuLaunchKernel_id, 2, &params, 1);
    assert_int_equal(reported_count, 0);
    assert_false(faults_seen());
    call(cuLaunchKernel_id, 3, &params, 716);
    call(cuLaunchKernel_id, 4, &params, 716);
    assert_int_equal(reported_count, 1);
    assert_true(faults_seen());
    assert_non_null(strstr(reported, "CUDA_ERROR_MISALIGNED_ADDRESS (error 716), seen first as "));
}

/* CUPTI keeps a word from entry to exit; if a session starts in between, the word is arbitrary. */
TEST(a_failed_launch_that_began_before_us_takes_nothing_back)
{
    struct cuda_launch_params params = {.stream = NULL};
    uint64_t data = 1770000000000000000;
    int result = 700;
    struct cupti_callback c = {
        .site = CUPTI_SITE_EXIT, .params = &params, .data = &data, .result = &result};
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, cuLaunchKernel_id, &c);
    assert_int_equal(seen_count, 0);
    struct cuda_graph_launch_params graph = {.exec = (cuda_exec)(uintptr_t)0x5000};
    graphs_add(graph.exec, 3);
    c.params = &graph;
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, cuGraphLaunch_id, &c);
    result = CUDA_OK;
    data = 77;
    atomic_store(&trace.since, clock_mono());
    atomic_store(&trace.time_graphs, true);
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, cuGraphLaunch_id, &c);
    assert_int_equal(seen_count, 0);
}

TEST(a_graph_launch_carries_its_kernels)
{
    cuda_exec exec = (cuda_exec)(uintptr_t)0x1000, other = (cuda_exec)(uintptr_t)0x2000;
    struct graph_info g = graphs_add(exec, 42);
    struct cuda_graph_launch_params params = {.exec = exec};
    call(cuGraphLaunch_id, 6, &params, CUDA_OK);
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].kind, LAUNCH_GRAPH);
    assert_int_equal(seen[0].kernels, 42);
    assert_int_equal(seen[0].graph, g.number);
    call(cuGraphLaunch_ptsz_id, 7, &params, 700);
    assert_int_equal(seen_count, 3);
    assert_int_equal(seen[2].kind, LAUNCH_FAILED);
    assert_int_equal(seen[2].graph, g.number);
    assert_int_equal(seen[2].kernels, 42);
    params.exec = other; /* made before the session */
    call(cuGraphLaunch_id, 8, &params, CUDA_OK);
    assert_int_equal(seen[3].kernels, CELL_NULL);
    assert_true(seen[3].graph > g.number);
    call(cuGraphLaunch_id, 9, &params, CUDA_OK);
    assert_int_equal(seen[4].graph, seen[3].graph);
}

TEST(graph_launches_are_timed_where_asked_for)
{
    struct cuda_graph_launch_params params = {.exec = (cuda_exec)(uintptr_t)0x3000};
    atomic_store(&trace.time_graphs, true);
    int64_t before = clock_mono();
    call(cuGraphLaunch_id, 6, &params, CUDA_OK);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].kind, LAUNCH_GRAPH);
    assert_int_equal(seen[0].start, 0);
    assert_int_equal(seen[1].kind, LAUNCH_GRAPH_END);
    assert_int_equal(seen[1].graph, seen[0].graph);
    assert_true(seen[1].start >= before);
    assert_true(seen[1].start + seen[1].duration <= clock_mono());
}

TEST(a_destroyed_graph_is_forgotten)
{
    cuda_exec exec = (cuda_exec)(uintptr_t)0x4000;
    struct cuda_graph_exec_params params = {exec};
    struct cuda_graph_instantiate_params make = {.exec = &exec};
    graphs_add(exec, 4);
    call(cuGraphNodeSetEnabled_id, 1, &params, CUDA_OK);
    assert_int_equal(graphs_find(exec).kernels, CELL_NULL);
    call(cuGraphExecDestroy_id, 1, &params, CUDA_OK);
    assert_int_equal(graphs_find(exec).number, 0);
    call(cuGraphInstantiateWithFlags_id, 2, &make, 1); /* failed */
    assert_int_equal(graphs_find(exec).number, 0);
    call(cuGraphInstantiateWithFlags_id, 2, &make, CUDA_OK);
    assert_true(graphs_find(exec).number > 0);
    assert_int_equal(seen_count, 0);
}

TEST(copies_and_waits_are_joined_in_scopes_only)
{
    call(cuMemcpyHtoDAsync_v2_id, 1, NULL, CUDA_OK);
    call(cuStreamSynchronize_id, 2, NULL, CUDA_OK);
    assert_int_equal(seen_count, 0);
    scope_open = true;
    call(cuMemcpyHtoDAsync_v2_id, 3, NULL, CUDA_OK);
    call(cuMemsetD8Async_id, 4, NULL, CUDA_OK);
    call(cuStreamSynchronize_id, 5, NULL, 700); /* has no row here */
    assert_int_equal(seen_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(seen[i].kind, LAUNCH_OTHER);
        assert_int_equal(seen[i].correlation, 3 + i);
    }
}

TEST(nothing_is_reported_when_not_live)
{
    struct cuda_launch_params params = {.stream = NULL};
    atomic_store(&trace.live, NULL);
    call(cuLaunchKernel_id, 1, &params, CUDA_OK);
    call(cuLaunchKernel_id, 1, &params, 700);
    atomic_store(&trace.live, &sink);
    uint64_t data = 0;
    struct cupti_callback c = {.params = &params, .data = &data};
    launches_callback(&trace, CUPTI_DOMAIN_RUNTIME, cuLaunchKernel_id, &c); /* never counted */
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, 5000, &c);
    assert_int_equal(seen_count, 0);
}

/* One launch in 64 is timed and counts for all, even if the thread loses its processor in it. */
TEST(cost_is_sampled_and_extrapolated)
{
    int64_t begin = clock_mono();
    assert_int_equal(launches_cost(&trace), 0);
    struct cuda_launch_params params = {.stream = NULL};
    for (uint32_t i = 0; i < 64 * 64; i++) {
        seen_count = 0;
        call(cuLaunchKernel_id, i, &params, CUDA_OK);
    }
    int64_t cost = launches_cost(&trace);
    assert_true(cost > 0);
    assert_true(cost <= 64 * (clock_mono() - begin));
}

TEST(ids_the_library_lacks_are_passed_over)
{
    assert_int_equal(launches_enable(&trace), CUPTI_OK);
    assert_int_equal(enabled[cuLaunchKernel_id], 1);
    assert_int_equal(enabled[cuMemcpyBatchAsync_v2_id], 1);
    memset(enabled, 0, sizeof enabled);
    refuse_from = 700; /* an older library */
    assert_int_equal(launches_enable(&trace), CUPTI_OK);
    assert_int_equal(enabled[cuGraphLaunch_id], 1);
    assert_int_equal(enabled[cuMemcpyBatchAsync_v2_id], 0);
    refuse_one = cuLaunchKernel_id;
    assert_int_equal(launches_enable(&trace), CUPTI_E_INVALID_PARAMETER);
}

#define KERNEL_TESTS(T)                                                                            \
    T(every_launch_call_counts_once)                                                               \
    T(a_failed_launch_is_taken_back)                                                               \
    T(a_fault_is_reported_once)                                                                    \
    T(a_failed_launch_that_began_before_us_takes_nothing_back)                                     \
    T(nothing_is_reported_when_not_live)                                                           \
    T(cost_is_sampled_and_extrapolated)
#define OTHER_TESTS(T)                                                                             \
    T(a_graph_launch_carries_its_kernels)                                                          \
    T(graph_launches_are_timed_where_asked_for)                                                    \
    T(a_destroyed_graph_is_forgotten)                                                              \
    T(copies_and_waits_are_joined_in_scopes_only)                                                  \
    T(ids_the_library_lacks_are_passed_over)

int main(void)
{
#define ANY(name)   {#name, name, setup, NULL, NULL},
#define PLAIN(name) {#name " (plain)", name, setup_plain, NULL, NULL},
    const struct CMUnitTest tests[] = {KERNEL_TESTS(ANY) KERNEL_TESTS(PLAIN) OTHER_TESTS(ANY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
