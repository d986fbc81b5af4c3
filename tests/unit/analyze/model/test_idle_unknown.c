/* test_idle_unknown.c - time with unknown kernels is not idle time. */
#include "analyze/model/idle/idle.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

static struct idle_sum sums[IDLE_CAUSES];

static void read_program(struct program *p, struct model *m)
{
    int64_t all;
    program_end(p);
    model_init(m, names);
    program_read(p, m);
    sum_idle_total(m, sums, &all);
    program_fini(p);
}

static void put_kernels_status(struct program *p, const char *status)
{
    struct capability_row c = {.feature = program_name(p, "kernels"),
                               .status = program_name(p, status),
                               .reason = program_name(p, "")};
    make_log_rows(&p->log, RECORD_capability, &c, 1);
}

/* A session whose engine records no kernels does not say how much of its time they ran, whichever
 * is merged first. */
TEST(test_with_a_session_without_kernels)
{
    for (int sampled_first = 0; sampled_first < 2; sampled_first++) {
        struct program p;
        struct model of[2], all;
        program_init(&p, "kernels");
        for (int k = 0; k < 10; k++) {
            program_launch(&p, (struct program_kernel){.ns = 1000000});
            program_work(&p, 2000000);
        }
        put_kernels_status(&p, "collected");
        read_program(&p, &of[0]);
        int64_t run = sum_windows_gpu_time(&of[0]);
        assert_int_equal(run, sum_facts_duration(&of[0]));
        program_init(&p, "samples");
        p.now += 10000000000;
        program_work(&p, 5000000000);
        put_kernels_status(&p, "not_requested");
        program_end(&p);
        model_init(&of[1], names);
        program_read(&p, &of[1]);
        program_fini(&p);
        assert_int_equal(sum_windows_gpu_time(&of[1]),
                         sum_facts_duration(&of[1])); /* all the time that there is */
        model_init(&all, names);
        assert_int_equal(model_merge(&all, &of[sampled_first]), 0);
        assert_int_equal(model_merge(&all, &of[!sampled_first]), 0);
        assert_int_equal(model_settle(&all), 0);
        assert_int_equal(sum_windows_gpu_time(&all), run);
        assert_true(sum_windows_time(&all) > run + 5000000000);
        model_fini(&of[0]);
        model_fini(&of[1]);
        model_fini(&all);
    }
}

/* If only copies are recorded, what the GPU did between them is unknown: none of it is idle. */
TEST(test_copies_alone)
{
    static const char *const status[] = {"collected", "not_requested"};
    for (int i = 0; i < 2; i++) {
        struct program p;
        struct model m;
        int64_t all;
        program_init(&p, status[i]);
        if (i == 0)
            program_launch(&p, (struct program_kernel){.ns = 1000});
        for (int k = 0; k < 10; k++) {
            struct memcpy_row row = {
                .start = p.now, .duration = 1000, .bytes = 64, .kind = 1, .stream = 1};
            make_log_rows(&p.log, RECORD_memcpy, &row, 1);
            program_work(&p, 1000000);
        }
        put_kernels_status(&p, status[i]);
        program_end(&p);
        model_init(&m, names);
        program_read(&p, &m);
        program_fini(&p);
        assert_int_equal(sum_idle_total(&m, sums, &all), i == 0);
        assert_int_equal(all > 0, i == 0);
        model_fini(&m);
    }
}

/* Time after the end of the driver's library is unknown: none of it is idle. */
TEST(test_ended)
{
    struct program p;
    struct model m;
    program_init(&p, "ended");
    for (int k = 0; k < 10; k++) {
        program_launch(&p, (struct program_kernel){.ns = 1000000});
        program_work(&p, 2000000);
    }
    int64_t until = p.now;
    struct message_row message = {.time = until,
                                  .severity = 3,
                                  .code = program_name(&p, "cupti.ended"),
                                  .text = program_name(&p, "it has")};
    make_log_rows(&p.log, RECORD_message, &message, 1);
    put_kernels_status(&p, "partial");
    program_work(&p, 5000000000);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    program_fini(&p);
    assert_int_equal(sum_windows_gpu_time(&m), until - m.facts.start);
    assert_true(sum_facts_duration(&m) > 5000000000);
    int64_t all;
    sum_idle_total(&m, sums, &all);
    assert_true(all < until - m.facts.start);
    assert_int_equal(sums[IDLE_AFTER].time, 0);
    model_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_a_session_without_kernels),
        cmocka_unit_test(test_copies_alone),
        cmocka_unit_test(test_ended),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
