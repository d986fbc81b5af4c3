/* The calls of a backend to capture: its records are joined to scopes, named and counted; calls
 * are late, or are made inside of open, or never return. The backend in this file replaces the
 * registry. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "backend/backend.h"
#include "base/log.h"
#include "capture/records/scopes.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the backend ----------------------------------------------------------------------------- */

static struct sink *sink;              /* the argument of open */
static void (*_Atomic on_drain)(void); /* the collector calls it in its next round */
static bool inject_in_open, fail_open, fail_start, hang;
static int closed;

static void hang_for_ever(void)
{
    while (hang)
        pause();
}

static int t_open(struct trace **out, const struct trace_config *c, struct sink *s, struct err *e)
{
    (void)c;
    sink = s;
    if (inject_in_open)
        (void)InitializeInjection(); /* like a vendor's library that loads the driver */
    if (fail_open)
        return err_set(e, GPUFL_E_BUSY, "another tool holds it: stop it");
    *out = (struct trace *)&sink; /* any address: it is never read */
    return 0;
}

static int t_start(struct trace *t, struct err *e)
{
    (void)t;
    return fail_start ? err_set(e, GPUFL_E_VENDOR, "it does not start") : 0;
}

static int t_stop(struct trace *t)
{
    (void)t;
    return 0;
}

static int t_flush(struct trace *t, bool all)
{
    (void)t;
    if (all)
        hang_for_ever();
    return 0;
}

static void t_take(struct trace *t)
{
    (void)t;
}

static void t_drain(struct trace *t)
{
    (void)t;
    void (*emit)(void) = atomic_exchange(&on_drain, NULL);
    if (emit)
        emit();
}

static void t_cost(struct trace *t, struct trace_cost *out)
{
    (void)t;
    *out = (struct trace_cost){.callbacks_ns = 5, .launches_counted = true};
}

static void t_close(struct trace *t)
{
    (void)t;
    closed++;
}

static const struct trace_ops trace = {.open = t_open,
                                       .start = t_start,
                                       .stop = t_stop,
                                       .flush = t_flush,
                                       .take = t_take,
                                       .drain = t_drain,
                                       .cost = t_cost,
                                       .close = t_close};

static void probe(struct probe *out)
{
    *out = (struct probe){.usable = true};
}

const struct backend backend_none = {.name = "test", .probe = probe, .trace = &trace};

void *backend_tool(const struct tool_call *c)
{
    (void)c;
    return NULL;
}

const struct backend *backend_other(const struct backend *b)
{
    (void)b;
    return NULL;
}

const struct backend *backend_select(enum gpufl_backend kind, struct err *e)
{
    (void)kind, (void)e;
    return &backend_none;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static int warnings;

static void receive(enum log_level level, const char *line)
{
    (void)line;
    warnings += level >= LOG_WARN;
}

static int setup(void **state)
{
    inject_in_open = fail_open = fail_start = hang = false;
    on_drain = NULL;
    closed = warnings = 0;
    log_set_sink(receive);
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    log_set_sink(NULL);
    return tmpdir_close(state);
}

static void start(void)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    o.enable_cuda_graphs_tracking = true;
    assert_int_equal(gpufl_init(&o), 0);
}

static void launch(enum launch_kind kind, uint32_t correlation, int64_t kernels, int64_t at)
{
    const struct launch l = {.kind = kind,
                             .correlation = correlation,
                             .kernels = kernels,
                             .graph = kind == LAUNCH_GRAPH ? 3 : 0,
                             .start = at,
                             .duration = at ? 100 : 0};
    sink->ops->launch(sink, &l);
}

/* ---- records --------------------------------------------------------------------------------- */

static int64_t scope_a, scope_b; /* instances */

static void emit_kernel(uint32_t config, uint32_t stream, int64_t correlation)
{
    struct kernel_row k = {.start = 1000 + correlation,
                           .duration = 10,
                           .config = config,
                           .stream = stream,
                           .correlation = correlation,
                           .scope = 77 /* the sink replaces it */};
    sink->ops->row(sink, RECORD_kernel, &k);
}

static void emit_records(void)
{
    const struct sink_ops *ops = sink->ops;
    char text[32] = "_Z6kernelv";
    struct device_row d = {.index = 2,
                           .compute_major = 9,
                           .warp_size = 32,
                           .max_threads_per_sm = 2048,
                           .max_blocks_per_sm = 32,
                           .regs_per_sm = 65536,
                           .regs_per_block = 65536,
                           .shared_per_sm = 233472,
                           .shared_per_block_optin = 232448,
                           .shared_reserved_per_block = 1024,
                           .driver = CELL_NULL};
    d.uuid = ops->name(sink, "GPU-1");
    uint32_t device = ops->device(sink, &d);
    assert_int_equal(device, 3); /* index + 1 */
    struct device_row again = {
        .index = 0, .uuid = d.uuid, .warp_size = CELL_NULL, .clock_max_sm = 1980};
    assert_int_equal(ops->device(sink, &again), 3); /* the same GPU with another library's index */
    uint32_t stream = ops->stream(sink, device, 1, 7);
    assert_int_equal(ops->stream(sink, device, 1, 7), stream);
    assert_int_not_equal(ops->stream(sink, device, 2, 7), stream);
    assert_int_not_equal(ops->stream(sink, device, 1, CELL_NULL), stream);
    uint32_t name = ops->name(sink, text);
    assert_int_equal(ops->name(sink, text), name);
    text[2] = '9'; /* the same address, another name */
    assert_int_not_equal(ops->name(sink, text), name);
    assert_int_equal(ops->name(sink, NULL), 0);
    struct config_row c = {.name = name,
                           .device = device,
                           .grid_x = 100,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 256,
                           .block_y = 1,
                           .block_z = 1,
                           .registers = 32};
    uint32_t config = ops->config(sink, &c);
    assert_int_equal(ops->config(sink, &c), config);
    c.registers = 33;
    assert_int_not_equal(ops->config(sink, &c), config);
    emit_kernel(config, stream, 1);
    emit_kernel(config, stream, 2);
    emit_kernel(config, stream, 3);
    emit_kernel(config, stream, 3); /* a graph's */
    emit_kernel(config, stream, 4);
    struct memcpy_row m = {.start = 1, .stream = stream, .correlation = 5, .scope = 9};
    ops->row(sink, RECORD_memcpy, &m);
    struct sync_row s = {.start = 1, .stream = stream, .correlation = 6, .thread = 1};
    ops->row(sink, RECORD_sync, &s);
    struct overhead_row v = {.start = 1, .duration = 40, .kind = name, .thread = CELL_NULL};
    ops->row(sink, RECORD_overhead, &v);
    ops->lost(sink, LOSS_TIME, 2);
    ops->lost(sink, LOSS_DRIVER, 1);
    ops->message(sink, SEVERITY_NOTE, "code", "number %d", 5);
    ops->capability(sink, "memory", false, "not_requested", "");
}

static int64_t kernels_of[8], scopes_of_graph, scope_of_copy, scope_of_sync;

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    (void)arg;
    const struct kernel_row *k = (const void *)cells;
    const struct graph_launch_row *g = (const void *)cells;
    if (type == RECORD_kernel) {
        kernels_of[k->correlation] = k->scope;
    } else if (type == RECORD_graph_launch) {
        scopes_of_graph = g->scope;
        assert_int_equal(g->kernels, 2);
        assert_int_equal(g->graph, 3);
        assert_int_equal(g->start, 500);
        assert_int_equal(g->duration, 100);
    } else if (type == RECORD_memcpy) {
        scope_of_copy = cells[COL_memcpy_scope];
    } else if (type == RECORD_sync) {
        scope_of_sync = cells[COL_sync_scope];
    }
}

TEST(test_records)
{
    struct session_log log;
    start();
    launch(LAUNCH_KERNEL, 1, 1, 0);
    assert_false(sink->ops->in_scope(sink));
    scope_a = (int64_t)gpufl_scope_begin("a", NULL);
    assert_true(sink->ops->in_scope(sink));
    launch(LAUNCH_KERNEL, 2, 1, 0);
    launch(LAUNCH_OTHER, 5, 0, 0);
    scope_b = (int64_t)gpufl_scope_begin("b", NULL);
    launch(LAUNCH_GRAPH, 3, 2, 500);
    launch(LAUNCH_OTHER, 6, 0, 0);
    gpufl_scope_end((uint64_t)scope_a); /* and b */
    launch(LAUNCH_KERNEL, 4, 1, 0);
    on_drain = emit_records;
    gpufl_shutdown();
    assert_int_equal(closed, 1);
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.launches, 3);
    assert_int_equal(log.ledger.graph_launches, 1);
    assert_int_equal(log.ledger.graph_kernels, 2);
    assert_int_equal(log.ledger.kernels_recorded, 5);
    assert_int_equal(log.ledger.kernels_written, 5);
    assert_int_equal(log.ledger.copies_written, 1);
    assert_int_equal(log.ledger.syncs_written, 1);
    assert_int_equal(log.ledger.lost_time, 2);
    assert_int_equal(log.ledger.lost_driver, 1);
    assert_int_equal(log.ledger.joins_lost, 0);
    assert_int_equal(log.ledger.cost_vendor, 40);
    assert_int_equal(log.ledger.cost_callbacks, 5);
    struct parts p = {.row = on_row};
    parts_read(gpufl_session_dir(), "device", &p);
    assert_int_equal(kernels_of[1], 0);
    assert_int_equal(kernels_of[2], scope_a);
    assert_int_equal(kernels_of[3], scope_b);
    assert_int_equal(kernels_of[4], 0);
    assert_int_equal(scopes_of_graph, scope_b);
    assert_int_equal(scope_of_copy, scope_a);
    assert_int_equal(scope_of_sync, scope_b);
}

/* ---- synchronizations that come with their calls --------------------------------------------- */

enum { SYNCS = 4 };

static struct sync_row syncs[SYNCS + 1];
static int64_t sync_waits, sync_streams[SYNCS + 1];

static void on_sync(void *arg, enum record_type type, const int64_t *cells)
{
    (void)arg;
    const struct sync_row *row = (const void *)cells;
    if (type == RECORD_sync && row->correlation <= SYNCS)
        syncs[row->correlation] = *row;
    else if (type == RECORD_wait)
        sync_waits++;
}

/* Gets the ids of the streams that the rows should name. [collector] */
static void find_streams(void)
{
    const struct sink_ops *ops = sink->ops;
    uint32_t device = ops->device(sink, &(struct device_row){.index = 0});
    sync_streams[1] = sync_streams[2] = ops->stream(sink, device, 2, 7);
    sync_streams[3] = ops->stream(sink, device, 2, CELL_NULL);
    sync_streams[4] = ops->stream(sink, 0, CELL_NULL, CELL_NULL);
}

static void synchronize(uint32_t correlation, struct wait w)
{
    launch(LAUNCH_OTHER, correlation, 0, 0);
    w.correlation = correlation;
    w.start = 1000 + correlation;
    w.duration = 10;
    w.bytes = CELL_NULL;
    sink->ops->wait(sink, &w);
}

static void *other_thread(void *arg)
{
    *(pid_t *)arg = gettid();
    synchronize(3, (struct wait){
                       .call = WAIT_CONTEXT, .sync = true, .context = 2, .stream = WAIT_NO_STREAM});
    return NULL;
}

/* In addition to the wait's row there is a row with all values of the call; outside of scopes it
 * inherits a scope of the program, not a library's range inside it. */
TEST(test_synchronizations_of_calls)
{
    struct session_log log;
    pthread_t thread;
    pid_t tid;
    start();
    synchronize(1, (struct wait){.call = WAIT_STREAM, .sync = true, .context = 2, .stream = 7});
    int64_t scope = (int64_t)gpufl_scope_begin("a", NULL);
    synchronize(2, (struct wait){.call = WAIT_STREAM_EVENT,
                                 .async = true,
                                 .sync = true,
                                 .context = 2,
                                 .stream = 7,
                                 .event = 77});
    uint64_t range = scopes_begin_text("ncclAllReduce", 13, "NCCL");
    pthread_create(&thread, NULL, other_thread, &tid);
    pthread_join(thread, NULL);
    scopes_leave(range);
    synchronize(4, (struct wait){.call = WAIT_EVENT,
                                 .sync = true,
                                 .context = WAIT_NO_CONTEXT,
                                 .stream = WAIT_NO_STREAM,
                                 .event = 77});
    synchronize(5, (struct wait){.call = WAIT_STREAM, .context = 2, .stream = 7}); /* not wanted */
    gpufl_scope_end((uint64_t)scope);
    on_drain = find_streams;
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.syncs_recorded, SYNCS);
    assert_int_equal(log.ledger.syncs_written, SYNCS);
    assert_int_equal(log.ledger.waits_written, SYNCS + 1);
    struct parts p = {.row = on_sync};
    parts_read(gpufl_session_dir(), "device", &p);
    parts_read(gpufl_session_dir(), "scope", &p);
    assert_int_equal(sync_waits, SYNCS + 1);
    static const struct {
        int kind;
        int64_t event;
        bool scoped;
    } want[] = {{0, 0, false},
                {WAIT_STREAM, 0, false},
                {WAIT_STREAM_EVENT, 77, true},
                {WAIT_CONTEXT, 0, true},
                {WAIT_EVENT, 77, true}};
    for (int i = 1; i <= SYNCS; i++) {
        print_message("%d\n", i);
        assert_int_equal(syncs[i].kind, want[i].kind);
        assert_int_equal(syncs[i].start, 1000 + i);
        assert_int_equal(syncs[i].duration, 10);
        assert_int_equal(syncs[i].event, want[i].event);
        assert_int_equal(syncs[i].scope, want[i].scoped ? scope : 0);
        assert_int_equal(syncs[i].thread, i == 3 ? tid : gettid());
        assert_int_equal(syncs[i].stream, sync_streams[i]);
    }
}

/* ---- odd moments ----------------------------------------------------------------------------- */

TEST(test_late_calls_do_nothing)
{
    struct kernel_row k = {.start = 1};
    struct device_row d = {.index = 0};
    struct config_row c = {.name = 1};
    start();
    gpufl_shutdown();
    launch(LAUNCH_KERNEL, 1, 1, 0);
    launch(LAUNCH_GRAPH, 2, 4, 9);
    assert_false(sink->ops->in_scope(sink));
    assert_int_equal(sink->ops->name(sink, "late"), 0);
    assert_int_equal(sink->ops->device(sink, &d), 0);
    assert_int_equal(sink->ops->stream(sink, 1, 1, 1), 0);
    assert_int_equal(sink->ops->config(sink, &c), 0);
    sink->ops->row(sink, RECORD_kernel, &k);
    sink->ops->lost(sink, LOSS_POOL, 1);
    sink->ops->message(sink, SEVERITY_NOTE, "late", "nobody reads this");
    sink->ops->capability(sink, "late", true, "failed", "too late");
    sink->ops->wake(sink);
    struct session_log log;
    start(); /* the next session has nothing of it */
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.launches, 0);
    assert_int_equal(log.ledger.lost_pool, 0);
    assert_int_equal(log.parts.rows[RECORD_message], 0);
    assert_int_equal(log.parts.rows[RECORD_capability], 11);
}

TEST(test_injection_inside_open)
{
    inject_in_open = true;
    start();
    assert_true(gpufl_active());
    gpufl_shutdown();
    assert_int_equal(session_count(tmpdir_path("logs")), 1);
}

TEST(test_trace_that_fails)
{
    struct session_log log;
    fail_open = true;
    start();
    assert_int_equal(warnings, 1);
    gpufl_scope_end(gpufl_scope_begin("scopes go on", NULL));
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.scopes_written, 1);
    assert_true(log.ledger.launches == CELL_NULL);
    assert_int_equal(closed, 0);
    fail_open = false;
    fail_start = true;
    start();
    assert_int_equal(warnings, 2);
    gpufl_shutdown();
    assert_int_equal(closed, 1);
}

static int64_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* If the driver never returns, the program still ends, with its own exit code. */
TEST(test_wedged_driver_does_not_hold_up_the_exit)
{
    int64_t began = seconds();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        start();
        gpufl_scope_end(gpufl_scope_begin("a", NULL));
        hang = true;
        exit(42);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_true(seconds() - began < 28); /* 8 s, not the 30 s of an exit with progress */
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_wedged_driver_does_not_hold_up_the_exit), /* first, to fork without threads */
        CASE(test_records),
        CASE(test_synchronizations_of_calls),
        CASE(test_late_calls_do_nothing),
        CASE(test_injection_inside_open),
        CASE(test_trace_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
