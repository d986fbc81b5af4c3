/* test_load.c - tests files into a model: parts, damage, clocks, merging, failing memory. */
#include "analyze/model/load.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/tmpdir.h"

enum { KERNELS = 300 };

static struct intern *names;

static int set_up(void **state)
{
    return tmpdir_open(state) || intern_open(&names, 1 << 20, 1 << 28);
}

static int tear_down(void **state)
{
    intern_close(names);
    return tmpdir_close(state);
}

/* Kernels [from, to) of one session's part, with all the part needs. */
static void put_kernels(struct make_log *l, int part, int from, int to)
{
    make_log_header(l, "device", part);
    make_log_names(l, "NVIDIA Test", "GPU-1", "_Z6vecAddPKfS0_Pfi", "gemm", NULL);
    make_log_device(l);
    make_log_config(l, 1, 3);
    make_log_config(l, 2, 4);
    for (int i = from; i < to; i++)
        make_log_kernel(l, 10000 + i * 100, 50 + i % 40, 1 + i % 2, 0);
}

static int64_t total(void)
{
    int64_t sum = 0;
    for (int i = 0; i < KERNELS; i++)
        sum += 50 + i % 40;
    return sum;
}

static struct model *load(const char *dir, struct load_stats *stats, int64_t threads_from)
{
    static struct model m;
    struct discover d;
    struct err e = {0};
    struct load_options o = {.threads_from = threads_from};
    assert_int_equal(discover_open(&d, dir, &e), 0);
    model_init(&m, names);
    assert_int_equal(load_session(&m, &d.sessions[0], &o, stats, &e), 0);
    discover_close(&d);
    return &m;
}

static void make(const char *session)
{
    struct make_log l;
    make_log_init(&l, session);
    put_kernels(&l, 1, 0, KERNELS / 2);
    make_log_write(&l, tmpdir, "device.1.log.gz");
    put_kernels(&l, 2, KERNELS / 2, KERNELS);
    make_log_write(&l, tmpdir, "device.log");
    make_log_header(&l, "system", 1);
    make_log_names(&l, "shutdown", NULL);
    make_log_rows(&l, RECORD_end, &(struct end_row){1001000, 1}, 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
}

TEST(test_parts)
{
    make("parts");
    for (int threads = 0; threads < 2; threads++) {
        struct load_stats stats;
        struct model *m = load(tmpdir_path("parts"), &stats, threads ? 1 : INT64_MAX);
        assert_int_equal(m->kernels.time.count, KERNELS);
        assert_int_equal(m->kernels.time.total, total());
        assert_int_equal(m->kernels.name_count, 2);
        assert_int_equal(stats.files.parts, 3);
        assert_int_equal(stats.lines.damaged, 0);
        struct busy_result r;
        busy_result(&m->devices.compute, &r);
        assert_int_equal(r.busy, total());
        assert_string_equal(model_text(m, m->facts.session), "parts");
        assert_int_equal(sum_facts_duration(m), 1000000);
        assert_false(m->facts.unclean);
        assert_string_equal(model_text(m, m->facts.end_reason), "shutdown");
        model_fini(m);
    }
}

/* A session without an end is unclean, and as long as its last event says. */
TEST(test_unclean)
{
    struct make_log l;
    struct load_stats stats;
    make_log_init(&l, "unclean");
    put_kernels(&l, 1, 0, 10);
    make_log_text(&l, "{\"type\":\"kernel\",\"rows\":1,\"sta"); /* SIGKILL in the middle of write */
    make_log_write(&l, tmpdir, "device.log");
    make_log_header(&l, "system", 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
    struct model *m = load(tmpdir_path("unclean"), &stats, 0);
    assert_int_equal(m->facts.unclean, 1);
    assert_int_equal(m->facts.end_unknown, 0);
    assert_int_equal(m->kernels.time.count, 10);
    assert_int_equal(stats.cut_lines, 1);
    assert_int_equal(stats.lines.damaged, 1);
    assert_int_equal(m->facts.end, 10000 + 9 * 100 + 59);
    model_fini(m);
}

TEST(test_damage)
{
    struct make_log l;
    struct load_stats stats;
    make_log_init(&l, "damaged");
    put_kernels(&l, 1, 0, 10);
    make_log_text(&l, "garbage\n{\"type\":\"kernel\",\"rows\":2,\"start\":[1]}\n"
                      "{\"type\":\"martian\",\"rows\":1}\n");
    make_log_kernel(&l, 90000, CELL_NULL, 1, 0); /* no duration */
    make_log_kernel(&l, 90000, -5, 1, 0);        /* impossible ones */
    make_log_kernel(&l, 90000, INT64_MAX, 1, 0);
    make_log_kernel(&l, 90000, 7, 99, 0); /* a configuration that was never reported */
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    struct model *m = load(tmpdir_path("damaged"), &stats, 0);
    assert_int_equal(stats.lines.damaged, 2);
    assert_int_equal(stats.lines.unknown_records, 1);
    assert_int_equal(m->kernels.time.count, 11);
    assert_int_equal(m->kernels.invalid, 3);
    assert_int_equal(sum_kernels_config(&m->kernels, 0)->time.count, 1);
    model_fini(m);
}

static void fails(const char *dir, int expected, const char *words)
{
    struct discover d;
    struct model m;
    struct load_stats stats;
    struct err e = {0};
    struct load_options o = {0};
    assert_int_equal(discover_open(&d, dir, &e), 0);
    model_init(&m, names);
    assert_int_equal(load_session(&m, &d.sessions[0], &o, &stats, &e), expected);
    assert_non_null(strstr(e.text, words));
    model_fini(&m);
    discover_close(&d);
}

TEST(test_nothing_to_read)
{
    fails(tmpdir_write("empty.txt", "", 0), GPUFL_E_CORRUPT, "empty.txt: the log is empty");
    fails(tmpdir_write("prose.txt", "Dear all,\nhello.\n", 17), GPUFL_E_CORRUPT,
          "not a session log");
    fails(tmpdir_write("zeros.bin", "\0\0\0\n\0\0", 6), GPUFL_E_CORRUPT, "not a session log");
}

/* Two processes on one GPU: busy is the union on the epoch clock, not the sum. */
TEST(test_merge)
{
    struct model all;
    struct load_stats stats;
    model_init(&all, names);
    for (int i = 0; i < 2; i++) {
        struct make_log l;
        char session[8];
        snprintf(session, sizeof session, "m%d", i);
        make_log_init(&l, session);
        /* the second session's clock begins 500 ns earlier */
        l.real = 1700000000000000000 - i * 500;
        put_kernels(&l, 1, 0, 0);
        make_log_kernel(&l, 2000, 1000, 1 + i, 0);
        make_log_write(&l, tmpdir, "device.log");
        make_log_fini(&l);
        struct model *m = load(tmpdir_path(session), &stats, 0);
        assert_int_equal(model_merge(&all, m), 0);
        model_fini(m);
    }
    assert_int_equal(model_settle(&all), 0);
    struct busy_result r;
    busy_result(&all.devices.compute, &r);
    assert_int_equal(all.kernels.time.total, 2000);
    assert_int_equal(r.busy, 1500);
    assert_int_equal(r.first, 1700000000000001500);
    assert_int_equal(all.facts.sessions, 2);
    uint32_t only;
    assert_int_equal(sum_devices_used(&all, &only), 1);
    assert_int_equal(all.devices.items[only].kernels, 2);
    model_fini(&all);
}

/* Merging the halves of a session gives what reading it at once gives. */
TEST(test_merge_is_single_pass)
{
    struct load_stats stats;
    struct model all;
    make("whole");
    model_init(&all, names);
    for (int half = 0; half < 2; half++) {
        struct make_log l;
        make_log_init(&l, half ? "half1" : "half0");
        put_kernels(&l, 1, half * KERNELS / 2, (half + 1) * KERNELS / 2);
        make_log_write(&l, tmpdir, "device.log");
        make_log_fini(&l);
        struct model *m = load(tmpdir_path(half ? "half1" : "half0"), &stats, 0);
        assert_int_equal(model_merge(&all, m), 0);
        model_fini(m);
    }
    assert_int_equal(model_settle(&all), 0);
    struct model *m = load(tmpdir_path("whole"), &stats, 0);
    struct busy_result one, two;
    busy_result(&m->devices.any, &one);
    busy_result(&all.devices.any, &two);
    assert_int_equal(one.busy, two.busy);
    assert_int_equal(one.last - one.first, two.last - two.first);
    assert_memory_equal(&one.gaps.count, &two.gaps.count, sizeof one.gaps.count);
    assert_int_equal(m->kernels.name_count, all.kernels.name_count);
    for (size_t i = 0; i < m->kernels.name_count; i++) {
        const struct kernel_name *a = &m->kernels.names[i], *b = &all.kernels.names[i];
        assert_int_equal(a->name, b->name);
        assert_int_equal(a->configs, b->configs);
        assert_int_equal(a->time.total, b->time.total);
        for (int q = 0; q <= 10; q++)
            assert_int_equal(histogram_quantile(&a->time, q / 10.0),
                             histogram_quantile(&b->time, q / 10.0));
    }
    model_fini(m);
    model_fini(&all);
}

/* A GPU that is known by its index alone is the one that a later row of its id describes. */
TEST(test_device_becomes_known)
{
    struct make_log l;
    struct load_stats stats;
    struct device_row bare;
    uint32_t only;
    MAKE_UNKNOWN(bare);
    bare.id = 1;
    bare.index = 0;
    bare.memory_total = 5;
    bare.name = bare.uuid = bare.vendor = bare.pci = bare.arch = bare.driver = 0;
    make_log_init(&l, "known");
    make_log_header(&l, "device", 1);
    make_log_names(&l, "NVIDIA Test", "GPU-1", "gemm", NULL);
    make_log_rows(&l, RECORD_device, &bare, 1);
    make_log_rows(&l, RECORD_stream, &(struct stream_row){1, 1, 1, 7}, 1);
    make_log_config(&l, 1, 3);
    make_log_kernel(&l, 2000, 1000, 1, 0);
    make_log_device(&l);
    make_log_rows(&l, RECORD_device, &bare, 1); /* knows less, and takes nothing away */
    make_log_kernel(&l, 3000, 1000, 1, 0);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    struct model *m = load(tmpdir_path("known"), &stats, 0);
    assert_int_equal(sum_devices_used(m, &only), 1);
    const struct device_sum *d = &m->devices.items[only];
    assert_string_equal(model_text(m, (uint32_t)d->row.uuid), "GPU-1");
    assert_string_equal(model_text(m, (uint32_t)d->row.name), "NVIDIA Test");
    assert_int_equal(d->row.sm_count, 4);
    assert_int_equal(d->row.memory_total, 5);
    assert_int_equal(d->kernels, 2);
    model_fini(m);
}

TEST(test_best_clock)
{
    struct make_log l;
    struct load_stats stats;
    struct clock_row rows[] = {{5000, 1700000000000005300, 10}, {9000, 1700000000000009900, 900}};
    make_log_init(&l, "clock"); /* the header's pair has an uncertainty of 100 */
    make_log_header(&l, "system", 1);
    make_log_rows(&l, RECORD_clock, rows, 2);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
    struct model *m = load(tmpdir_path("clock"), &stats, 0);
    assert_int_equal(sum_facts_epoch(m), 1700000000000000300);
    model_fini(m);
}

TEST(test_no_memory)
{
    struct discover d;
    struct err e = {0};
    make("memory");
    assert_int_equal(discover_open(&d, tmpdir_path("memory"), &e), 0);
    for (int64_t fail = 0;; fail++) {
        struct load_stats stats;
        struct load_options o = {0};
        struct model m;
        model_init(&m, names);
        mem_fail_at(fail);
        int rc = load_session(&m, &d.sessions[0], &o, &stats, &e);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        model_fini(&m);
        if (done)
            break;
    }
    discover_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_unclean),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_nothing_to_read),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_is_single_pass),
        cmocka_unit_test(test_best_clock),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_device_becomes_known),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
