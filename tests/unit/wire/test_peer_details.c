/* test_peer_details.c - tests repeated detail lines of the public client's format: with the cache
 * the rows are the same as if each line is read. */
#include "tests/test.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 8192 };

static void feed_kernels(struct run *r, int from, int count)
{
    char line[LINE];
    int len = snprintf(line, sizeof line,
                       "{\"type\":\"kernel_event_batch\",\"base_time_ns\":9,"
                       "\"rows\":[");
    for (int i = from; i < from + count; i++)
        len += snprintf(line + len, sizeof line - (size_t)len, "%s[%d,%d,0,5,%d,0,%d,1,0,0]",
                        i == from ? "" : ",", i, 1 + i % 2, i, 32 + i / 7 % 2);
    snprintf(line + len, sizeof line - (size_t)len, "]}");
    run_line(r, line);
}

/* own: a member that is not read makes each line different from all others. */
static void feed_detail(struct run *r, int correlation, int kind, bool own)
{
    char line[LINE], member[32] = "";
    if (own)
        snprintf(member, sizeof member, "\"own\":%d,", correlation);
    snprintf(line, sizeof line,
             "{\"type\":\"kernel_detail\",%s\"corr_id\":%d,\"grid\":\"(%d,1,1)\",\"block\":\"(64,1,"
             "1)\",\"occupancy\":0.5,\"max_active_blocks\":16,\"limiting_resource\":\"reg\\u0069"
             "sters\",\"user_scope\":\"a|b%d\",\"stack_trace\":\"main|f (a.py:%d)\"}",
             member, correlation, 1 + kind, kind % 2, kind);
    run_line(r, line);
}

/* Feeds batches between which names and the warp size change, and incomplete lines of details. */
static void feed_all(struct run *r, bool own)
{
    static const char *const between[] = {
        DICTIONARY,
        JOB("{\"id\":0,\"name\":\"g\",\"uuid\":\"u0\",\"vendor\":\"NVIDIA\",\"warp_size\":32}"),
        "{\"type\":\"dictionary_update\",\"session_id\":\"s\",\"kernel_dict\":{\"1\":\"new\"}}",
        "{\"type\":\"job_start\",\"session_id\":\"s2\",\"ts_ns\":6,\"gpu_static_devices\":[{\"id\":"
        "0,"
        "\"name\":\"h\",\"uuid\":\"u1\",\"vendor\":\"AMD\",\"warp_size\":64}]}",
    };
    for (int b = 0; b < 4; b++) {
        run_line(r, between[b]);
        feed_kernels(r, 100 * b + 1, 30);
        for (int i = 100 * b + 1; i <= 100 * b + 30; i++) {
            feed_detail(r, i, i % 3, own);
            if (i % 10 == 0)
                run_line(r, "{\"type\":\"kernel_detail\",\"corr_id\":7,\"grid\":\"(1,1,1)\"");
        }
    }
    run_finish(r);
}

TEST(test_lines_that_repeat_give_what_each_gives)
{
    struct run each, kept;
    run_begin(&each, 0);
    run_begin(&kept, 0);
    feed_all(&each, true);
    feed_all(&kept, false);
    assert_string_equal(buf_cstr(&kept.seen.text), buf_cstr(&each.seen.text));
    assert_int_equal(decoder_stats(kept.d)->damaged, 12);
    assert_non_null(strstr(buf_cstr(&kept.seen.text), "occ_limiter='registers'"));
    run_end(&each);
    run_end(&kept);
}

/* The order of the lines changes: a line is sometimes followed by the same line as before, and
 * sometimes by another. */
TEST(test_lines_in_any_order)
{
    static const int orders[][8] = {{0, 1, 2, 0, 1, 2, 0, 1},
                                    {0, 1, 0, 2, 0, 1, 0, 2},
                                    {0, 0, 0, 1, 1, 2, 0, 0},
                                    {2, 1, 0, 0, 1, 2, 2, 2}};
    struct run each, kept;
    run_begin(&each, 0);
    run_begin(&kept, 0);
    for (int i = 0; i < 8; i++) {
        struct run *r = i % 2 ? &each : &kept;
        int from = i / 2 * 1000 + 6; /* numbers of one and more digits */
        run_line(r, DICTIONARY);
        feed_kernels(r, from, 8);
        for (int k = 0; k < 8; k++)
            feed_detail(r, from + k, orders[i / 2][k], i % 2);
    }
    run_finish(&each);
    run_finish(&kept);
    assert_string_equal(buf_cstr(&kept.seen.text), buf_cstr(&each.seen.text));
    assert_int_equal(decoder_stats(kept.d)->foreign_orphans, 0);
    run_end(&each);
    run_end(&kept);
}

/* In these lines the first number after "corr_id" is not the id, or not the only number that
 * changes. */
TEST(test_lines_whose_number_is_not_where_it_seems)
{
    static const char *const lines[] = {
        "{\"type\":\"kernel_detail\",\"corr_id\":%d,\"corr_id\":5,\"grid\":\"(1,1,1)\"}",
        "{\"type\":\"kernel_detail\",\"x\":{\"corr_id\":%d},\"corr_id\":5,\"grid\":\"(1,1,1)\"}",
        "{\"type\":\"kernel_detail\",\"x\":{\"corr_id\":%d},\"corr_id\" :5,\"grid\":\"(1,1,1)\"}",
        "{\"type\":\"kernel_detail\",\"x\":\"\\\"corr_id\\\":%d\",\"corr_id\":5}",
        "{\"type\":\"kernel_detail\",\"corr_id\":5,\"x\":%d}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct run r;
        char line[LINE];
        run_begin(&r, 0);
        run_line(&r, BATCH("kernel_event_batch", "\"base_time_ns\":0,\"rows\":[[1,1,0,1,5,0,0,1,"
                                                 "0,0],[2,1,0,1,5,0,0,1,0,0]]"));
        for (int number = 5; number < 9; number++) {
            snprintf(line, sizeof line, lines[i], number);
            run_line(&r, line);
        }
        run_finish(&r);
        assert_int_equal(decoder_stats(r.d)->damaged, 0);
        assert_int_equal(decoder_stats(r.d)->foreign_orphans, 2); /* two rows of number 5 */
        run_end(&r);
    }
}

TEST(test_numbers_and_lines_at_their_limits)
{
    static const char *const numbers[] = {"9223372036854775807", "-5", "\"5\"",
                                          "999999999999999999"};
    char line[LINE];
    struct run r;
    run_begin(&r, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(line, sizeof line,
                 BATCH("kernel_event_batch", "\"base_time_ns\":0,\"rows\":[[1,1,0,1,%s,0,0,1,0,0]"
                                             ",[2,1,0,1,%s,0,0,1,0,0]]"),
                 i == 2 ? "5" : numbers[i], i == 2 ? "5" : numbers[i]);
        run_line(&r, line);
        for (int again = 0; again < 2; again++) {
            snprintf(line, sizeof line,
                     "{\"type\":\"kernel_detail\",\"corr_id\":%s,\"x\":\"%0*d\"}", numbers[i],
                     again ? 6000 : 10, 0);
            run_line(&r, line);
        }
    }
    run_finish(&r);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 0);
    run_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_that_repeat_give_what_each_gives),
        cmocka_unit_test(test_lines_in_any_order),
        cmocka_unit_test(test_lines_whose_number_is_not_where_it_seems),
        cmocka_unit_test(test_numbers_and_lines_at_their_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
