/* test_steps.c - the rule of docs/report.md for steps, on programs whose steps are known. */
#include "analyze/model/steps/steps.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdio.h>
#include <string.h>

enum { MAIN = 42, MS = 1000000 };

static struct program p;
static struct model m;
static int64_t scopes;

static void begin(const char *session)
{
    scopes = 0;
    program_init(&p, session);
    p.now = p.gpu = 1000 * MS;
}

static int64_t kernel(const char *name)
{
    return program_config(&p, name, 8);
}

static void launch(int64_t config, int64_t ns)
{
    program_launch(&p, (struct program_kernel){.ns = ns, .config = config});
}

/* The host waits for the GPU, and then works. */
static void work(int64_t ns)
{
    p.now = p.now > p.gpu ? p.now : p.gpu;
    program_work(&p, ns);
}

static void scope(const char *name, int64_t start, int64_t end, int64_t thread)
{
    struct scope_row s = {.start = start,
                          .duration = end - start,
                          .instance = ++scopes,
                          .name = program_name(&p, name),
                          .thread = thread};
    make_log_rows(&p.log, RECORD_scope, &s, 1);
}

/* Reads the session; idle time, steps and shares are consistent whatever was found. */
static const struct sum_steps *look(void)
{
    struct idle_sum all[IDLE_CAUSES], steady[IDLE_CAUSES];
    int64_t idle, shared, before;
    model_init(&m, names);
    program_work(&p, MS);
    program_end(&p);
    program_read(&p, &m);
    unsigned devices = sum_idle_total(&m, all, &idle);
    sum_idle_steady(&m, steady, &shared);
    before = all[IDLE_START_UP].time + all[IDLE_AFTER].time - steady[IDLE_AFTER].time;
    assert_int_equal(shared + before, idle);
    if (sum_steps_steady(&m)) {
        assert_int_equal(sum_idle_watched(&m), devices * sum_steps_time(&m));
        assert_int_equal(m.steps.start_up + m.steps.end + sum_steps_time(&m),
                         sum_facts_duration(&m));
        assert_string_equal(sum_steps_whole(&m), "the steady part");
    } else {
        assert_int_equal(sum_steps_time(&m), sum_facts_duration(&m));
        assert_int_equal(all[IDLE_START_UP].time, 0);
    }
    for (size_t i = 0; i < m.steps.count; i++)
        assert_true(m.steps.items[i].busy <=
                    (m.steps.items[i].end - m.steps.items[i].start) * m.steps.devices);
    return &m.steps;
}

static void end(void)
{
    model_fini(&m);
    program_fini(&p);
}

static struct steps_lengths lengths(void)
{
    struct steps_lengths l;
    assert_int_equal(sum_steps_lengths(&m, &l), 0);
    return l;
}

/* ---- by scope ---------------------------------------------------------------------------- */

/* Compiles for two steps, then runs alike; the input is read between the scopes. */
TEST(test_scope)
{
    begin("scope");
    int64_t k = kernel("gemm"), settled = 0;
    for (int i = 0; i < 30; i++) {
        char name[32];
        int64_t start = p.now;
        settled = i == 2 ? start : settled;
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        work(i < 2 ? 200 * MS : MS);
        launch(k, 2 * MS);
        work(0);
        scope(name, start, p.now, MAIN);
        work(MS);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->why, STEPS_FOUND);
    assert_int_equal(s->count, 30);
    assert_string_equal(model_text(&m, s->scope), "ProfilerStep#");
    assert_int_equal(s->thread, MAIN);
    assert_int_equal(s->begins, settled);
    assert_int_equal(lengths().count, 28);
    assert_int_equal(s->items[5].kernels, 1);
    assert_int_equal(s->items[5].busy, 2 * MS);
    assert_int_equal(sum_steps_idle(&m, &s->items[5]),
                     s->items[5].end - s->items[5].start - 2 * MS);
    assert_in_range(lengths().median, 4 * MS, 4 * MS + MS / 10);
    end();
}

/* A scope whose lengths change can be the step, but its steps have no steady part. */
TEST(test_lengths)
{
    begin("lengths");
    int64_t k = kernel("gemm");
    for (int i = 0; i < 40; i++) {
        int64_t start = p.now;
        work(MS << (3 * (i % 3)));
        launch(k, MS);
        work(0);
        scope("train_step", start, p.now, MAIN);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->count, 40);
    assert_int_equal(s->why, STEPS_UNSETTLED);
    assert_false(sum_steps_steady(&m));
    end();
}

/* An epoch, a part of a step, and a scope that is open for an instant are no steps. If two threads
 * step, one of them is taken. */
TEST(test_other_scopes)
{
    begin("others");
    int64_t k = kernel("gemm");
    for (int epoch = 0; epoch < 6; epoch++) {
        int64_t began = p.now;
        for (int i = 0; i < 10; i++) {
            int64_t start = p.now;
            work(MS);
            launch(k, 2 * MS);
            scope("forward", start, p.now, MAIN);
            work(0);
            scope("lr_step", p.now, p.now + 1000, MAIN);
            scope("step", start, p.now, MAIN);
            scope("step", start + 1000, p.now, MAIN + 1);
        }
        scope("epoch", began, p.now, MAIN);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->count, 60);
    assert_string_equal(model_text(&m, s->scope), "step");
    assert_int_equal(s->thread, MAIN);
    end();
}

/* ---- by sequence ------------------------------------------------------------------------- */

/* Launches one step of training: micro batches, then the optimizer. */
static void train(const int64_t *k, int micro)
{
    for (int b = 0; b < micro; b++)
        for (int layer = 0; layer < 12; layer++)
            for (int i = 0; i < 3; i++)
                launch(k[i], 100000);
    for (int i = 0; i < 2; i++)
        launch(k[3], 50000);
}

/* Gradients are accumulated over four micro batches; each epoch ends with a validation, which runs
 * the forward kernels. */
TEST(test_training)
{
    begin("training");
    int64_t k[] = {kernel("gemm"), kernel("norm"), kernel("gelu"),
                   kernel("multi_tensor_apply_adam"), kernel("load")};
    launch(k[4], MS);
    work(500 * MS);
    for (int epoch = 0; epoch < 4; epoch++) {
        for (int i = 0; i < 25; i++)
            train(k, 4);
        for (int i = 0; i < 30; i++)
            launch(k[0], 100000);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->scope, 0);
    assert_int_equal(s->kernel, 0);
    assert_int_equal(s->count, 100);
    assert_int_equal(s->items[10].kernels, 4 * 36 + 2);
    assert_int_equal(s->why, STEPS_FOUND);
    end();
}

/* Graphs are launched after a copy of a list of tensors, which does not end a step. */
TEST(test_a_list_that_is_copied)
{
    static const char *const copies[] = {
        "multi_tensor_apply_kernel<at::native::Copy<float, float>>",
        "_ZN25multi_tensor_apply_kernelINS0_4CopyIffEE", "multi_tensor_apply_adam"};
    for (int i = 0; i < 3; i++) {
        begin("list");
        int64_t k[] = {kernel("gemm"), kernel("norm"), kernel("gelu"), kernel(copies[i])};
        for (int step = 0; step < 40; step++)
            train(k, 1);
        assert_int_equal(look()->kernel == 0, i == 2);
        assert_true(m.steps.count > 30);
        end();
    }
}

/* A model is copied back after the last step, once, however long the run is: shares of copies are
 * shares of the copies in the steps. */
TEST(test_copies_after_the_steps)
{
    for (int after = 0; after < 2; after++) {
        begin("copies after");
        int64_t k[] = {kernel("gemm"), kernel("norm"), kernel("gelu"),
                       kernel("multi_tensor_apply_adam")};
        for (int i = 0; i < 60; i++) {
            train(k, 4);
            if (!after)
                program_copy_back(&p, MS);
        }
        if (after) {
            work(400 * MS);
            program_copy_back(&p, 60 * MS);
        }
        look();
        assert_true(sum_steps_steady(&m));
        double part = sum_steps_pageable_part(&m, PROGRAM_COPY_BACK);
        if (after ? part != 0 : part < 0.7)
            fail_msg("after %d: %g, %zu steps", after, part, m.steps.count);
        assert_true(sum_steps_copy_part(&m) == part);
        end();
    }
}

/* Layers repeat within a token, tokens within the session: a step is a token. */
TEST(test_tokens)
{
    begin("tokens");
    int64_t head = kernel("embedding"), a = kernel("attention"), b = kernel("mlp"),
            sample = kernel("argmax");
    for (int i = 0; i < 60; i++) {
        launch(head, 20000);
        for (int layer = 0; layer < 32; layer++) {
            launch(a, 50000);
            launch(b, 50000);
        }
        launch(sample, 20000);
        work(MS);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->count, 60);
    assert_int_equal(s->items[30].kernels, 66);
    assert_string_equal(model_text(&m, s->kernel), "embedding");
    end();
}

/* Every tenth step has two kernels more, for the log: a step is not ten. */
TEST(test_log)
{
    begin("log");
    int64_t k[200], extra = kernel("mean");
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        k[i] = kernel(name);
    }
    for (int i = 0; i < 100; i++) {
        for (int n = 0; n < 200; n++)
            launch(k[n], 10000);
        for (int n = 0; n < 2 && i % 10 == 9; n++)
            launch(extra, 10000);
    }
    const struct sum_steps *s = look();
    assert_int_equal(s->count, 100);
    end();
}

/* ---- the order of rows, and what is merged -------------------------------------------------- */

static void put_loop(int steps)
{
    int64_t k[] = {kernel("a"), kernel("b"), kernel("c")};
    launch(k[1], 30 * MS);
    work(300 * MS);
    for (int i = 0; i < steps; i++) {
        for (int n = 0; n < 3; n++)
            launch(k[n], MS + i % 7 * 1000);
        work(2 * MS);
    }
    work(100 * MS);
}

/* Rows in any order give what rows in order give. */
TEST(test_order)
{
    int64_t begins = 0, busy = 0, start_up = 0;
    for (unsigned round = 0; round < 5; round++) {
        begin("order");
        put_loop(400);
        program_work(&p, MS);
        program_end(&p);
        model_init(&m, names);
        program_read_shuffled(&p, &m, round);
        const struct sum_steps *s = &m.steps;
        assert_int_equal(s->count, 400);
        assert_int_equal(s->why, STEPS_FOUND);
        begins = round ? begins : s->begins;
        busy = round ? busy : s->items[200].busy;
        start_up = round ? start_up : m.idle.devices[1].causes[IDLE_START_UP].time;
        assert_int_equal(s->begins, begins);
        assert_int_equal(s->items[200].busy, busy);
        assert_int_equal(m.idle.devices[1].causes[IDLE_START_UP].time, start_up);
        assert_int_equal(s->any_before, 30 * MS);
        assert_int_equal(s->compute_before, 30 * MS);
        end();
    }
}

/* Gaps that are summed up while the session is read are in the right part. */
TEST(test_early)
{
    begin("early");
    put_loop(400);
    program_work(&p, MS);
    program_end(&p);
    model_init(&m, names);
    m.idle.max_spans = 200;
    program_read(&p, &m);
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    assert_true(m.steps.decided);
    assert_int_equal(m.steps.why, STEPS_FOUND);
    sum_idle_steady(&m, sums, &all);
    int64_t busy = 0;
    for (size_t i = 0; i < m.steps.count; i++)
        busy += m.steps.items[i].busy;
    assert_int_equal(all + busy, sum_steps_time(&m));
    end();
}

/* One of two sessions has steps: shares are of its steady part and of all of the other session. */
TEST(test_merge)
{
    struct model whole;
    int64_t time[2];
    model_init(&whole, names);
    for (int i = 0; i < 2; i++) {
        begin(i ? "with steps" : "without");
        if (i)
            put_loop(100);
        else
            launch(kernel("a"), MS);
        look();
        time[i] = sum_steps_time(&m);
        assert_int_equal(m.steps.steady, i);
        assert_int_equal(model_merge(&whole, &m), 0);
        end();
    }
    assert_int_equal(model_settle(&whole), 0);
    assert_true(sum_steps_steady(&whole));
    assert_int_equal(whole.steps.count, 100);
    assert_int_equal(whole.steps.steady, 1);
    assert_int_equal(sum_idle_watched(&whole), time[0] + time[1]);
    model_fini(&whole);
}

/* ---- none -------------------------------------------------------------------------------- */

TEST(test_none)
{
    begin("one step");
    int64_t a = kernel("a"), b = kernel("b");
    int64_t start = p.now;
    launch(a, MS);
    launch(b, MS);
    scope("step", start, p.now, MAIN);
    assert_int_equal(look()->count, 0);
    assert_int_equal(m.steps.why, STEPS_NONE);
    end();

    begin("one kernel again and again");
    a = kernel("a");
    for (int i = 0; i < 100; i++)
        launch(a, MS);
    assert_int_equal(look()->count, 0);
    end();

    begin("by chance");
    int64_t k[7];
    unsigned seed = 1;
    for (int i = 0; i < 7; i++)
        k[i] = kernel((char[]){(char)('a' + i), '\0'});
    for (int i = 0; i < 5000; i++) {
        seed = seed * 1103515245 + 12345;
        launch(k[(seed >> 16) % 7], 1000 + (seed >> 20) % 1000);
    }
    assert_int_equal(look()->count, 0);
    assert_int_equal(m.steps.why, STEPS_NONE);
    end();

    begin("no kernels");
    scope("step", p.now, p.now + MS, MAIN);
    assert_int_equal(look()->why, STEPS_NO_WORK);
    end();
}

/* ---- several devices, graphs, windows ---------------------------------------------------- */

static int64_t gpu_until[3]; /* ns, by device */

static void add_device(int64_t id)
{
    struct device_row d;
    MAKE_UNKNOWN(d);
    d.id = id;
    d.index = id - 1;
    d.name = program_name(&p, "H200");
    d.uuid = program_name(&p, "GPU-other");
    make_log_rows(&p.log, RECORD_device, &d, 1);
    make_log_rows(&p.log, RECORD_stream, &(struct stream_row){id, id, 1, 7}, 1);
}

static void run_on(int64_t device, int64_t config, int64_t start, int64_t ns)
{
    struct kernel_row row;
    MAKE_UNKNOWN(row);
    row.start = start;
    row.duration = ns;
    row.config = config;
    row.stream = device;
    row.correlation = ++p.correlation;
    make_log_rows(&p.log, RECORD_kernel, &row, 1);
    p.gpu = start + ns > p.gpu ? start + ns : p.gpu;
    gpu_until[device] = start + ns;
}

/* One process drives two devices: a step is what both do, and their start-ups differ. */
TEST(test_two_devices)
{
    enum { STEPS = 50 };
    begin("two devices");
    add_device(2);
    int64_t a = kernel("forward"), b = kernel("backward"), update = kernel("adam_kernel"),
            warm = kernel("warm");
    run_on(1, warm, p.now, 5 * MS);
    run_on(2, warm, p.now + 2 * MS, 90 * MS);
    int64_t first = p.now + 200 * MS;
    for (int i = 0; i < STEPS; i++) {
        int64_t t = first + i * 10 * MS;
        run_on(1, a, t, 2 * MS);
        run_on(1, b, t + 2 * MS, 3 * MS);
        run_on(1, update, t + 6 * MS, MS);
        run_on(2, a, t + MS, 2 * MS);
        run_on(2, b, t + 3 * MS, MS);
    }
    p.now = p.gpu;
    const struct sum_steps *s = look();
    assert_int_equal(s->why, STEPS_FOUND);
    assert_int_equal(s->devices, 2);
    assert_in_range(s->count, STEPS - 1, STEPS);
    const struct steps_one *t = &s->items[20];
    assert_int_equal(t->kernels, 5);
    assert_int_equal(t->busy, 9 * MS);
    assert_int_equal(sum_steps_idle(&m, t), 2 * (t->end - t->start) - 9 * MS);
    /* Each device worked before the steps: a kernel's part is that of both together. */
    assert_int_equal(s->compute_before >= 95 * MS, 1);
    const struct kernel_name *k = m.kernels.names;
    for (size_t i = 0; i < m.kernels.name_count; i++)
        if (!strcmp(model_text(&m, k[i].name), "warm"))
            assert_true(sum_steps_kernel_part(&m, k[i].name, k[i].time.total) == 0);
    end();
}

static void run_graph(int64_t graph, int64_t ns)
{
    struct graph_run_row row;
    MAKE_UNKNOWN(row);
    row.start = p.gpu > p.now ? p.gpu : p.now;
    row.duration = ns;
    row.graph = graph;
    row.stream = 1;
    row.correlation = ++p.correlation;
    make_log_rows(&p.log, RECORD_graph_run, &row, 1);
    p.gpu = row.start + ns;
}

/* A step is a graph and what the program launches around it. A graph that is made again for each
 * step has another id each time, and is a graph all the same. */
TEST(test_graphs)
{
    for (int again = 0; again < 2; again++) {
        begin("graphs");
        int64_t in = kernel("copy_in"), out = kernel("argmax"), warm = kernel("warm");
        for (int i = 0; i < 20; i++)
            launch(warm, 7 * MS);
        for (int i = 0; i < 60; i++) {
            launch(in, 100000);
            run_graph(again ? 100 + i : 7, 3 * MS);
            launch(out, 50000);
            work(MS);
        }
        const struct sum_steps *s = look();
        assert_int_equal(s->why, STEPS_FOUND);
        assert_int_equal(s->count, 60);
        assert_int_equal(s->items[30].kernels, 3);
        end();
    }
}

/* Graphs that are recorded by node are kernels in order. */
TEST(test_graph_nodes)
{
    begin("nodes");
    int64_t k[3] = {kernel("a"), kernel("b"), kernel("c")};
    for (int i = 0; i < 60; i++) {
        for (int n = 0; n < 3; n++) {
            struct kernel_row row;
            MAKE_UNKNOWN(row);
            row.start = p.gpu;
            row.duration = MS;
            row.config = k[n];
            row.stream = 1;
            row.correlation = 1000 + i;
            row.graph = 3;
            make_log_rows(&p.log, RECORD_kernel, &row, 1);
            p.gpu += MS;
        }
        work(MS);
    }
    assert_int_equal(look()->count, 60);
    assert_int_equal(m.steps.items[30].kernels, 3);
    end();
}

/* The steps of a run are unknown if only windows of it were recorded. */
TEST(test_windows)
{
    begin("windows");
    int64_t a = kernel("a"), b = kernel("b"), name = program_name(&p, "clock");
    for (int i = 0; i < 40; i++) {
        struct window_row w = {.time = p.now, .name = name, .phase = i % 20 ? 1 : 0, .capture = 1};
        if (i % 20 == 0 || i % 20 == 19)
            make_log_rows(&p.log, RECORD_window, &w, 1);
        launch(a, MS);
        launch(b, MS);
        work(MS);
    }
    model_init(&m, names);
    program_end(&p);
    program_read(&p, &m);
    assert_int_equal(m.steps.why, STEPS_WINDOWS);
    assert_int_equal(m.steps.count, 0);
    assert_false(sum_steps_steady(&m));
    assert_string_equal(sum_steps_whole(&m), "the windows");
    assert_true(sum_steps_kernel_part(&m, m.kernels.names[0].name, m.kernels.names[0].time.total) ==
                1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_other_scopes),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_a_list_that_is_copied),
        cmocka_unit_test(test_copies_after_the_steps),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_log),

        cmocka_unit_test(test_order),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_graph_nodes),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
