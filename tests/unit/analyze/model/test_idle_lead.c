/* test_idle_lead.c - tests the lead that waits cost the host: how much less the GPU would be idle
 * without the waits of a line. */
#include "analyze/model/idle/lead.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <string.h>

#define US 1000ll
#define MS 1000000ll

enum { STEPS = 40, SHORT = 10 };

static struct program *p = &finder.p;

static void launch(int64_t ns, int64_t thread)
{
    program_launch(p, (struct program_kernel){.ns = ns, .thread = thread});
}

/* Launches short kernels; the host works for `host` ns before each of them. */
static void prepare(int64_t host, int64_t thread)
{
    for (int k = 0; k < SHORT; k++) {
        program_work(p, host);
        launch(5 * US, thread);
    }
}

static const struct wait_line *line_at(const char *place)
{
    for (size_t i = 0; i < finder.m.wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&finder.m.wait_lines, i);
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(&finder.m, l->place, &text);
        bool is = l->place && !strcmp(buf_cstr(&text), place);
        buf_fini(&text);
        if (is)
            return l;
    }
    return NULL;
}

static int64_t host_idle(void)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    sum_idle_total(&finder.m, sums, &all);
    return sums[IDLE_SYNC].time + sums[IDLE_SLOW].time + sums[IDLE_LATE].time +
           sums[IDLE_NOTHING].time;
}

/* A value is read in each step, while the host could have prepared the next step. All that the host
 * does after the wait is idle time; without the wait, none of it would be. */
TEST(test_wait_costs_the_lead)
{
    finder_begin("lead");
    p->reported = true;
    int64_t item = finder_python("train.py", "step", 7);
    for (int i = 0; i < STEPS; i++) {
        launch(2 * MS, 1);
        program_sync(p, WAIT_STREAM, item, 1);
        prepare(60 * US, 1);
    }
    finder_look();
    const struct wait_line *l = line_at("train.py:7");
    assert_non_null(l);
    assert_true(host_idle() > STEPS * SHORT * 50 * US);
    /* a step has several gaps: only that before the first short kernel is blamed on the wait */
    assert_true(l->idle < host_idle() / 4);
    assert_int_equal(l->lead, host_idle());
    const struct insight *i = finder_find("sync_loop", "train.py:7");
    assert_non_null(i);
    assert_int_equal(i->gives_back, l->lead);
    assert_int_equal(finder_fact(i, "gpu_idle_without_waits_less_ns"), l->lead);
    assert_non_null(strstr(i->text, ": while the host waited, nothing new was launched."));
    finder_end();
}

/* Memory is freed in each step, which waits for the GPU, and allocated again: all that the host
 * does after that is idle time, and a pool makes both calls needless. */
TEST(test_memory_costs_the_lead)
{
    finder_begin("pool");
    p->reported = true;
    int64_t put = finder_python("train.py", "put", 7), get = finder_python("train.py", "get", 9);
    for (int i = 0; i < STEPS; i++) {
        launch(2 * MS, 1);
        program_sync(p, WAIT_FREE, put, 1);
        program_call(p, (struct wait_row){
                            .duration = 50 * US, .call = WAIT_ALLOC, .stack = get, .thread = 1});
        prepare(60 * US, 1);
    }
    finder_look();
    const struct insight *i = finder_find("memory_alloc_loop", "train.py:7");
    assert_non_null(i);
    int64_t in_calls = line_at("train.py:7")->idle + line_at("train.py:9")->idle;
    assert_true(finder.m.wait_lines.memory_lead > host_idle());
    assert_int_equal(i->gives_back, finder.m.wait_lines.memory_lead);
    assert_int_equal(finder_fact(i, "gpu_idle_later_ns"), i->gives_back - in_calls);
    assert_true(i->gives_back > 3 * in_calls);
    assert_non_null(
        strstr(i->text, "nothing new was launched, and then the GPU was idle for another "));
    finder_end();
}

/* Calls for memory of a host that stays ahead cost what the GPU was idle in them: nothing. */
TEST(test_memory_keeps_the_lead)
{
    finder_begin("ahead");
    p->reported = true;
    int64_t get = finder_python("train.py", "get", 9), put = finder_python("train.py", "put", 7);
    launch(10 * MS, 1);
    for (int i = 0; i < STEPS; i++) {
        launch(2 * MS, 1);
        program_call(p, (struct wait_row){
                            .duration = 5 * US, .call = WAIT_ALLOC, .stack = get, .thread = 1});
        program_call(
            p, (struct wait_row){.duration = 5 * US, .call = WAIT_FREE, .stack = put, .thread = 1});
        prepare(60 * US, 1);
    }
    finder_look();
    assert_true(line_at("train.py:7")->time[WAIT_FREE] > 0);
    assert_int_equal(finder.m.wait_lines.memory_lead, 0);
    assert_null(finder_find("memory_alloc_loop", ""));
    finder_end();
}

/* The host takes longer than the GPU: without the waits it still does. No more can be given back
 * than the host stood still. */
TEST(test_host_is_next)
{
    finder_begin("next");
    p->reported = true;
    int64_t item = finder_python("train.py", "step", 7);
    for (int i = 0; i < STEPS; i++) {
        launch(200 * US, 1);
        program_sync(p, WAIT_STREAM, item, 1);
        prepare(90 * US, 1);
    }
    finder_look();
    const struct wait_line *l = line_at("train.py:7");
    assert_true(l->lead <= l->time[WAIT_STREAM]);
    assert_true(l->lead > l->time[WAIT_STREAM] * 9 / 10);
    assert_true(l->lead < host_idle() / 3);
    finder_end();
}

/* Each step waits for the one before the last: the host stays ahead, and there is nothing to give
 * back. */
TEST(test_waits_that_keep_the_lead)
{
    finder_begin("pipelined");
    p->reported = true;
    int64_t stack = finder_python("train.py", "step", 7), before = 0;
    for (int i = 0; i < STEPS; i++) {
        int64_t mine = p->gpu;
        launch(2 * MS, 1);
        prepare(60 * US, 1);
        if (before > p->now)
            program_call(p, (struct wait_row){.duration = before - p->now,
                                              .call = WAIT_EVENT,
                                              .stack = stack,
                                              .thread = 1,
                                              .bytes = CELL_NULL});
        before = mine;
    }
    finder_look();
    const struct wait_line *l = line_at("train.py:7");
    assert_true(l->time[WAIT_EVENT] > STEPS * MS / 2);
    assert_int_equal(l->lead, 0);
    assert_null(strstr(finder_find("sync_loop", "train.py:7")->text, "without these waits"));
    finder_end();
}

/* Another line waits for all work at the end of each step. It still waits if the first line does
 * not, so that no step begins before the GPU is done. */
TEST(test_other_waits_stay)
{
    finder_begin("stay");
    p->reported = true;
    int64_t item = finder_python("train.py", "step", 7), end = finder_python("train.py", "end", 9);
    for (int i = 0; i < STEPS; i++) {
        launch(2 * MS, 1);
        program_sync(p, WAIT_STREAM, item, 1);
        launch(MS, 1);
        program_sync(p, WAIT_STREAM, end, 1);
        prepare(60 * US, 1);
    }
    finder_look();
    int64_t first = line_at("train.py:7")->lead;
    /* the first wait alone: what it delays is one launch, right after it */
    assert_true(first > 0 && first <= STEPS * 20 * US);
    assert_true(line_at("train.py:9")->lead > host_idle() * 8 / 10);
    finder_end();
}

/* Thread 2 waits, and thread 1 launches meanwhile: without those waits thread 1 is no earlier. */
TEST(test_other_threads_go_on)
{
    for (int depends = 0; depends < 2; depends++) {
        finder_begin("threads");
        p->reported = true;
        int64_t item = finder_python("serve.py", "answer", 3);
        for (int i = 0; i < STEPS; i++) {
            launch(500 * US, 2);
            int64_t from = p->now, until = from + 1200 * US;
            program_call(p, (struct wait_row){.duration = until - from,
                                              .call = WAIT_STREAM,
                                              .stack = item,
                                              .thread = 2,
                                              .bytes = CELL_NULL});
            p->now = depends ? until : from;
            prepare(110 * US, 1);
            p->now = p->now > until ? p->now : until;
        }
        finder_look();
        const struct wait_line *l = line_at("serve.py:3");
        assert_non_null(l);
        if (depends)
            assert_true(l->lead > host_idle() / 2);
        else
            assert_true(l->lead < host_idle() / 2);
        finder_end();
    }
}

/* A driver accepts so many launches ahead: one long wait does not pay for all that follows. */
TEST(test_lead_is_bounded)
{
    finder_begin("bounded");
    p->reported = true;
    int64_t item = finder_python("train.py", "main", 7);
    launch(1000 * MS, 1);
    program_sync(p, WAIT_STREAM, item, 1);
    for (int i = 0; i < 2000; i++)
        prepare(60 * US, 1);
    finder_look();
    const struct wait_line *l = line_at("train.py:7");
    int64_t each = (finder.m.facts.end - finder.m.facts.start) / (2000 * SHORT + 1);
    assert_true(l->time[WAIT_STREAM] >= 990 * MS);
    assert_true(host_idle() > 200 * MS);
    assert_true(l->lead > 0);
    assert_true(l->lead <= LEAD_LAUNCHES * each + MS);
    finder_end();
}

/* ---- the interval ------------------------------------------------------------------------- */

enum planted { READS, SLOWER_HOST, BOTH_WAIT, LONG_STEPS, PROGRAMS };

/* Each program in two forms: with the waits of train.py:7, and without them. */
static void run_program(enum planted which, bool cured)
{
    int64_t item = finder_python("train.py", "step", 7), end = finder_python("train.py", "end", 9);
    for (int i = 0; i < STEPS; i++) {
        launch(which == SLOWER_HOST ? 200 * US : which == LONG_STEPS ? 900 * US : 2 * MS, 1);
        if (!cured)
            program_sync(p, WAIT_STREAM, item, 1);
        prepare(which == SLOWER_HOST ? 90 * US : which == LONG_STEPS ? 110 * US : 60 * US, 1);
        if (which == BOTH_WAIT)
            program_sync(p, WAIT_STREAM, end, 1);
    }
    program_sync(p, WAIT_STREAM, end, 1);
}

static int64_t gpu_idle(void)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    sum_idle_total(&finder.m, sums, &all);
    return all;
}

/* The time that a program really saves without the waits lies between two bounds. Two replays of
 * the program with the waits give these bounds, which are not far apart. */
TEST(test_gain_lies_within)
{
    for (int which = 0; which < PROGRAMS; which++) {
        int64_t idle[2], least = 0, most = 0;
        for (int cured = 0; cured < 2; cured++) {
            finder_begin(cured ? "cured" : "sick");
            p->reported = true;
            run_program((enum planted)which, cured);
            finder_look();
            idle[cured] = gpu_idle();
            if (!cured) {
                const struct wait_line *l = line_at("train.py:7");
                assert_true(l->replayed);
                least = l->lead_least;
                most = l->lead > l->idle ? l->lead : l->idle;
            }
            finder_end();
        }
        int64_t gain = idle[0] - idle[1];
        if (least > gain || most < gain - gain / 50)
            fail_msg("program %d: %lld to %lld us, and the cure gave back %lld", which,
                     (long long)(least / US), (long long)(most / US), (long long)(gain / US));
        assert_true(least >= most / 2); /* a useful interval */
    }
}

/* The sentence has both ends of the interval. */
TEST(test_interval_is_said)
{
    finder_begin("said");
    p->reported = true;
    run_program(READS, false);
    finder_look();
    const struct insight *i = finder_find("sync_loop", "train.py:7");
    assert_true(i->least > 0 && i->least < i->gives_back);
    assert_non_null(strstr(i->text, " If these waits can go, that alone saves "));
    assert_non_null(strstr(i->text, " to "));
    finder_end();
}

/* The waits are no longer than a call and a launch may take: without them there may be no gain. */
TEST(test_interval_from_zero)
{
    finder_begin("zero");
    p->reported = true;
    int64_t item = finder_python("train.py", "step", 7);
    for (int i = 0; i < STEPS; i++) {
        launch(4 * US, 1);
        program_sync(p, WAIT_STREAM, item, 1);
        prepare(60 * US, 1);
    }
    finder_look();
    const struct insight *i = finder_find("sync_loop", "train.py:7");
    assert_non_null(i);
    assert_true(i->gives_back > 0);
    assert_int_equal(i->least, 0);
    assert_non_null(strstr(i->text, "is not certain: between nothing and "));
    finder_end();
}

TEST(test_no_memory)
{
    finder_begin("memory");
    p->reported = true;
    int64_t item = finder_python("train.py", "step", 7);
    for (int i = 0; i < 5; i++) {
        launch(2 * MS, 1);
        program_sync(p, WAIT_STREAM, item, 1);
        prepare(60 * US, 1);
    }
    finder_without_memory();
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_costs_the_lead),
        cmocka_unit_test(test_memory_keeps_the_lead),
        cmocka_unit_test(test_wait_costs_the_lead),
        cmocka_unit_test(test_host_is_next),
        cmocka_unit_test(test_waits_that_keep_the_lead),
        cmocka_unit_test(test_other_waits_stay),
        cmocka_unit_test(test_other_threads_go_on),
        cmocka_unit_test(test_lead_is_bounded),
        cmocka_unit_test(test_gain_lies_within),
        cmocka_unit_test(test_interval_is_said),
        cmocka_unit_test(test_interval_from_zero),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
