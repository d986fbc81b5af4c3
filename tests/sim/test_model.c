/* test_model.c - tests the simulated GPU without capture: its records have the numbers that it
 * reports, in a form that a GPU could have produced. */
#include "backend/sim/devices.h"
#include "backend/sim/tally.h"
#include "backend/sim/workload.h"
#include "collector.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sim_workload workload(int64_t kernels, int devices, int streams)
{
    struct sim_workload w = {.kernels = kernels, .streams = streams, .device_count = devices};
    for (int i = 0; i < devices; i++)
        w.devices[i] = i;
    return w;
}

/* Runs a session of the workload; *t gets the tally. */
static void session(struct collector *c, const struct sim_config *config, int64_t kernels,
                    struct sim_tally *t)
{
    struct sim_thread *thread;
    assert_int_equal(sim_open(config, NULL), 0);
    assert_int_equal(collector_open(c, NULL), 0);
    assert_int_equal(sim_thread_open(&thread, 0), 0);
    struct sim_workload w = workload(kernels, (int)config->devices, (int)config->streams);
    sim_workload_run(thread, &w);
    sim_thread_close(thread);
    collector_close(c);
    sim_tally_read(t);
    sim_close();
}

static uint64_t sum(const struct sim_tally_work *w, int n)
{
    uint64_t count = 0;
    for (int i = 0; i < n; i++)
        count += w[i].count;
    return count;
}

static int64_t kernel_ns(const struct sim_tally *t, bool lost)
{
    int64_t ns = 0;
    for (int i = 0; i < SIM_KERNEL_COUNT; i++)
        ns += lost ? t->kernels[i].lost_ns : t->kernels[i].ns;
    return ns;
}

TEST(totals_agree)
{
    struct sim_config config;
    sim_config_init(&config);
    config.devices = 3;
    struct collector c = {0};
    static struct sim_tally t;
    session(&c, &config, 50000, &t);
    assert_int_equal(sim_tally_kernels(&t), 50000);
    assert_int_equal(c.rows[RECORD_kernel], 50000);
    assert_int_equal(c.launches, t.launches);
    assert_int_equal(c.graph_launches, t.graph_launches);
    assert_int_equal(c.graph_kernels, t.graph_kernels);
    assert_int_equal(t.launches + t.graph_kernels, 50000);
    assert_true(t.graph_launches > 10);
    assert_int_equal(c.kernel_ns, kernel_ns(&t, false));
    assert_int_equal(c.rows[RECORD_memcpy], sum(t.copies, SIM_COPY_KINDS));
    assert_int_equal(c.rows[RECORD_memset], t.fills.count);
    assert_int_equal(c.rows[RECORD_sync], sum(t.syncs, SIM_WAIT_KINDS));
    assert_int_equal(c.rows[RECORD_alloc], t.allocs.count + t.frees.count);
    assert_int_equal(c.rows[RECORD_overhead], t.overhead.count);
    int64_t waited = 0;
    for (int k = 1; k < SIM_WAIT_KINDS; k++) {
        assert_int_equal(c.waits[k], t.syncs[k].count);
        waited += k == SIM_WAIT_STREAM_EVENT ? 0 : t.syncs[k].ns;
    }
    assert_int_equal(c.waited, waited);
    assert_int_equal(c.unreported, 0);
    assert_string_equal(c.reported, "main");
    assert_true(t.copies[SIM_PTOP].count > 0 && t.copies[SIM_DTOD].count > 0);
    for (int i = 0; i < LOSS_COUNT; i++)
        assert_int_equal(c.lost[i], 0);
}

TEST(same_seed_same_rows)
{
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        struct sim_config config;
        sim_config_init(&config);
        config.devices = 2;
        config.seed = i < 2 ? 7 : 8;
        struct collector c = {0};
        static struct sim_tally t;
        session(&c, &config, 30000, &t);
        hash[i] = c.hash;
    }
    assert_int_equal(hash[0], hash[1]);
    assert_int_not_equal(hash[0], hash[2]);
}

enum { SPANS = 20000 };

struct spans { /* every kernel of a session */
    int64_t start[SPANS], end[SPANS], stream[SPANS];
    int count;
};

static void keep_span(const struct kernel_row *row, void *arg)
{
    struct spans *s = arg;
    s->start[s->count] = row->start;
    s->end[s->count] = row->start + row->duration;
    s->stream[s->count++] = row->stream;
}

/* A stream runs one kernel at a time, a device no more than its limit, and some
 * kernels of different streams do run at the same time. */
TEST(kernels_overlap_as_on_a_device)
{
    struct sim_config config;
    sim_config_init(&config);
    config.concurrency = 2;
    static struct spans s;
    static struct sim_tally t;
    struct collector c = {.on_kernel = keep_span, .arg = &s};
    session(&c, &config, SPANS, &t);
    assert_int_equal(s.count, SPANS);
    int most = 0;
    int64_t last[64] = {0};
    for (int i = 0; i < SPANS; i++) {
        assert_true(s.start[i] >= last[s.stream[i]]);
        last[s.stream[i]] = s.end[i];
        int same_time = 1;
        for (int j = i - 200 < 0 ? 0 : i - 200; j < i + 200 && j < SPANS; j++)
            same_time += j != i && s.start[j] <= s.start[i] && s.start[i] < s.end[j];
        most = same_time > most ? same_time : most;
    }
    assert_int_equal(most, 2);
}

struct error_case {
    const char *errors;
    enum sim_error id;
    enum loss cause; /* LOSS_COUNT: no loss is reported */
    bool loses;
};

static const struct error_case error_cases[] = {
    {"drop:100", SIM_DROP, LOSS_DRIVER, true},
    {"time:250", SIM_TIME, LOSS_TIME, true},
    {"unknown:77", SIM_UNKNOWN, LOSS_UNKNOWN_RECORD, false},
    {"missing:1000", SIM_MISSING, LOSS_COUNT, true},
    {"late:50", SIM_LATE, LOSS_COUNT, false},
    {"disorder:2", SIM_DISORDER, LOSS_COUNT, false},
    {"pool:3", SIM_POOL, LOSS_POOL, true},
};

TEST(errors_are_counted)
{
    for (size_t i = 0; i < sizeof error_cases / sizeof *error_cases; i++) {
        const struct error_case *k = &error_cases[i];
        struct sim_config config;
        sim_config_init(&config);
        assert_int_equal(sim_config_errors(&config, k->errors, NULL), 0);
        struct collector c = {0};
        static struct sim_tally t;
        session(&c, &config, 40000, &t);
        uint64_t injected = t.errors[k->id];
        assert_true(injected > 0);
        assert_int_equal(c.rows[RECORD_kernel], 40000 - (k->loses ? injected : 0));
        assert_int_equal(c.kernel_ns, kernel_ns(&t, false) - kernel_ns(&t, true));
        assert_int_equal(c.launches + c.graph_kernels, 40000);
        for (int j = 0; j < LOSS_COUNT; j++)
            if (j == (int)k->cause)
                assert_int_equal(c.lost[j], injected);
            else if (!(j == LOSS_DRIVER && k->id == SIM_POOL)) /* without a buffer: dropped */
                assert_int_equal(c.lost[j], 0);
    }
}

TEST(refusals)
{
    static const struct {
        const char *errors;
        int code;
    } cases[] = {{"busy", GPUFL_E_BUSY}, {"permission", GPUFL_E_PERM}, {"start", GPUFL_E_VENDOR}};
    for (size_t i = 0; i < 3; i++) {
        struct sim_config config;
        sim_config_init(&config);
        assert_int_equal(sim_config_errors(&config, cases[i].errors, NULL), 0);
        assert_int_equal(sim_open(&config, NULL), 0);
        struct collector c = {0};
        struct err e = {0};
        assert_int_equal(collector_open(&c, &e), cases[i].code);
        assert_non_null(strstr(e.text, cases[i].errors));
        sim_close();
    }
}

/* If nothing drains, a machine that may lose records counts every lost one. */
TEST(full_pool_is_counted)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread has no races, and fills a pool of a million records for long */
#endif
    struct sim_config config;
    sim_config_init(&config);
    config.lossless = false;
    assert_int_equal(sim_open(&config, NULL), 0);
    struct collector c = {0};
    assert_int_equal(collector_open(&c, NULL), 0);
    atomic_store(&c.stop, true);
    wakeup_signal(&c.wake);
    thread_join(&c.thread);
    struct sim_thread *thread;
    assert_int_equal(sim_thread_open(&thread, 0), 0);
    struct sim_work work = {.kernel = SIM_KERNEL_FILL, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    enum { KERNELS = 1500000 };
    for (int i = 0; i < KERNELS; i++)
        sim_launch(thread, (struct sim_at){0, i % 4}, &work);
    collector_close(&c); /* the thread still has its last buffer */
    sim_thread_close(thread);
    assert_int_equal(c.launches, KERNELS);
    assert_true(c.lost[LOSS_DRIVER] > 0);
    assert_int_equal(c.rows[RECORD_kernel] + c.lost[LOSS_DRIVER], KERNELS);
    assert_int_equal(c.lost[LOSS_POOL], c.lost[LOSS_DRIVER]);
    sim_close();
}

struct worker {
    int number;
    int64_t kernels;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct sim_thread *t;
    assert_int_equal(sim_thread_open(&t, (uint64_t)w->number), 0);
    struct sim_workload load = workload(w->kernels, 1, 2);
    load.first_stream = 2 * w->number;
    sim_workload_run(t, &load);
    sim_thread_close(t);
    return NULL;
}

/* The totals of several threads are exact, and equal in both rounds. */
TEST(many_threads)
{
    enum { THREADS = 6 };
    int64_t ns[2];
    for (int round = 0; round < 2; round++) {
        struct sim_config config;
        sim_config_init(&config);
        assert_int_equal(sim_open(&config, NULL), 0);
        struct collector c = {0};
        assert_int_equal(collector_open(&c, NULL), 0);
        struct thread threads[THREADS] = {0};
        struct worker workers[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){i, 20000 + i};
            assert_int_equal(thread_start(&threads[i], "worker", 0, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            thread_join(&threads[i]);
        collector_close(&c);
        static struct sim_tally t;
        sim_tally_read(&t);
        assert_int_equal(c.rows[RECORD_kernel], THREADS * 20000 + 15);
        assert_int_equal(c.launches + c.graph_kernels, THREADS * 20000 + 15);
        assert_int_equal(c.kernel_ns, kernel_ns(&t, false));
        ns[round] = c.kernel_ns;
        sim_close();
    }
    assert_int_equal(ns[0], ns[1]);
}

/* With GPUFL_SIM the simulated machine runs a workload by itself, on the real clock. */
TEST(generator_runs)
{
    setenv("GPUFL_SIM", "devices=2,rate=20000,load=50", 1);
    struct collector c = {0};
    assert_int_equal(collector_open(&c, NULL), 0);
    struct devices *d;
    assert_int_equal(backend_sim.devices->open(&d, NULL), 0);
    assert_int_equal(backend_sim.devices->count(d), 2);
    while (c.launches + c.graph_kernels < 5000)
        thread_id();
    struct device_metric_row row = {.time = 1, .device = 2};
    assert_int_equal(backend_sim.devices->sample(d, 0, &row), 0);
    assert_in_range(row.gpu_util, 5, 100);
    collector_close(&c);
    backend_sim.devices->close(d);
    assert_true(c.rows[RECORD_kernel] >= 5000);
    assert_int_equal(c.rows[RECORD_kernel] + c.lost[LOSS_DRIVER], c.launches + c.graph_kernels);
    sim_close();
    unsetenv("GPUFL_SIM");
}

static void keep_kernel(const struct kernel_row *row, void *arg)
{
    *(struct kernel_row *)arg = *row;
}

/* External ids and correlation ids get into the row, even if correlation ids wrap around. */
TEST(ids_of_a_kernel)
{
    struct sim_config config;
    sim_config_init(&config);
    config.correlation = UINT32_MAX;
    struct kernel_row last = {0};
    struct collector c = {.on_kernel = keep_kernel, .arg = &last};
    struct sim_work w = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .duration = 777};
    struct sim_thread *t;
    assert_int_equal(sim_open(&config, NULL), 0);
    assert_int_equal(collector_open(&c, NULL), 0);
    assert_int_equal(sim_thread_open(&t, 0), 0);
    sim_external(t, 3, 1ull << 40);
    sim_launch(t, (struct sim_at){0, 0}, &w);
    assert_true(sim_thread_drain(t));
    assert_int_equal(last.external_kind, 3);
    assert_int_equal(last.external_id, 1ll << 40);
    assert_int_equal(last.correlation, UINT32_MAX);
    assert_int_equal(last.duration, 777);
    sim_external(t, 0, 0);
    sim_launch(t, (struct sim_at){0, 0}, &w);
    assert_true(sim_thread_drain(t));
    assert_int_equal(last.external_kind, 0);
    assert_int_equal(last.correlation, 1); /* 0 means none */
    sim_thread_close(t);
    collector_close(&c);
    sim_close();
}

/* A forked child has no workload thread; a session of its own gets a new one. */
TEST(child_of_a_generator)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer cannot start threads in a forked child */
#endif
    setenv("GPUFL_SIM", "rate=20000", 1);
    struct collector c = {0};
    assert_int_equal(collector_open(&c, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct collector mine = {0};
        bool right = collector_open(&mine, NULL) == 0;
        while (right && mine.launches < 500)
            thread_id();
        collector_close(&mine);
        _exit(right && mine.rows[RECORD_kernel] >= 500 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    collector_close(&c);
    sim_close();
    unsetenv("GPUFL_SIM");
}

TEST(metrics_follow_the_load)
{
    struct sim_config config;
    sim_config_init(&config);
    config.devices = 4;
    assert_int_equal(sim_open(&config, NULL), 0);
    struct devices *d;
    assert_int_equal(backend_sim.devices->open(&d, NULL), 0);
    struct sim_thread *t;
    assert_int_equal(sim_thread_open(&t, 0), 0);
    struct device_metric_row row;
    sim_host(t, 1000000000);
    assert_int_equal(backend_sim.devices->sample(d, 0, &row), 0);
    assert_int_equal(row.gpu_util, 0);
    int64_t idle_memory = row.memory_used, idle_power = row.power;
    assert_int_equal(row.fan, CELL_NULL);
    struct sim_work half = {.kernel = 0, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    half.duration = 500000000;
    uint64_t address = sim_alloc(t, 0, 1 << 30);
    assert_int_not_equal(address, 0);
    sim_launch(t, (struct sim_at){0, 0}, &half);
    sim_sync(t, (struct sim_at){0, 0}, SIM_WAIT_STREAM, -1);
    sim_host(t, 500000000);
    assert_int_equal(backend_sim.devices->sample(d, 0, &row), 0);
    assert_in_range(row.gpu_util, 49, 51);
    assert_true(row.power > idle_power);
    assert_int_equal(row.memory_used - idle_memory, 1 << 30);
    assert_int_equal(backend_sim.devices->sample(d, 1, &row), 0);
    assert_int_equal(row.gpu_util, 0);
    assert_int_equal(row.power, CELL_NULL);
    assert_int_equal(backend_sim.devices->sample(d, 3, &row), 0);
    assert_int_equal(row.gpu_util, CELL_NULL);
    sim_free(t, 0, address, 1 << 30);
    assert_int_equal(sim_alloc(t, 0, config.memory + 1), 0);
    sim_thread_close(t);
    backend_sim.devices->close(d);
    sim_close();
}

TEST(configuration)
{
    struct sim_config c;
    struct err e = {0};
    sim_config_init(&c);
    assert_int_equal(sim_config_parse(&c,
                                      "devices=16,streams=8,seed=42,rate=0,load=90,memory=80G,"
                                      "concurrency=32,correlation=4294967290,errors=drop:10+busy",
                                      &e),
                     0);
    assert_int_equal(c.devices, 16);
    assert_int_equal(c.rate, 0);
    assert_int_equal(c.memory, 80ll << 30);
    assert_int_equal(c.every[SIM_DROP], 10);
    assert_int_equal(c.every[SIM_BUSY], 1);
    static const char *const bad[] = {
        "devices=17",     "devices=0",     "devices",       "speed=1",       "rate=fast",
        "errors=explode", "errors=busy:2", "errors=drop:0", "errors=drop:x", "memory=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e.text[0] = '\0';
        assert_int_equal(sim_config_parse(&c, bad[i], &e), GPUFL_E_INVAL);
        assert_true(strlen(e.text) > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configuration),
        cmocka_unit_test(totals_agree),
        cmocka_unit_test(same_seed_same_rows),
        cmocka_unit_test(kernels_overlap_as_on_a_device),
        cmocka_unit_test(errors_are_counted),
        cmocka_unit_test(ids_of_a_kernel),
        cmocka_unit_test(refusals),
        cmocka_unit_test(full_pool_is_counted),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(generator_runs),
        cmocka_unit_test(child_of_a_generator),
        cmocka_unit_test(metrics_follow_the_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
