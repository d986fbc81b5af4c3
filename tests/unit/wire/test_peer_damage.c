/* test_peer_damage.c - tests broken, hostile and nonsensical lines of the public client's format:
 * each affects only itself. */
#include "tests/test.h"
#include "tests/unit/support/peer_run.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    JOB(GPU("0", "NVIDIA")),
    DICTIONARY,
    BATCH("kernel_event_batch", "\"base_time_ns\":0,\"rows\":[[1,1,0,1,5,0,0,1,0,0],[2,1]]"),
    DETAIL("5", "(1,1,1)", "a|b"),
    SCOPES("[1,11,1,0,0,0,0,101],[2,12,1,0,1,0,0,102],[5,12,1,1,1,0,0,102]"),
    BATCH("memcpy_event_batch", "\"base_time_ns\":9,\"columns\":[\"dt_ns\"],\"rows\":[[0]]"),
    BATCH("device_metric_batch", "\"base_time_ns\":0,\"rows\":[[0,0,1,2,3,4,5,6,7,8]]"),
    "{\"type\":\"memset_event\",\"device_id\":\"0\",\"stream_id\":\"7\",\"start_ns\":1}",
    "{\"type\":\"capture_capabilities\",\"capabilities\":[{\"feature\":\"x\"},{}]}",
    "{\"type\":\"nvtx_marker_event\",\"name\":\"fwd\"}",
    "{\"type\":\"dictionary_update\",\"session_id\":\"s\",\"function_dict\":"
    "{\"1\":\"main|f (a.py:9)|g@/b.cu\",\"2\":\"operator|\"}}",
    BATCH("synchronization_event_batch",
          "\"base_time_ns\":0,\"rows\":[[1,2,3,4,0,6,7,1],[1,2,4,0,0,6,7,2]]"),
    "{\"type\":\"kernel_detail\",\"corr_id\":5,\"stack_trace\":\"main|f (a.py:9)|h\"}",
    "{\"type\":\"dictionary_update\",\"session_id\":\"s\",\"function_dict\":{\"1\":\"f@/a.cu\"},"
    "\"func_symbol_dict\":{\"1\":\"_Z1fv\"},\"metric_dict\":{\"1\":\"stalled_wait\"},"
    "\"source_file_dict\":{\"1\":\"/a.cu\"}}",
    BATCH("profile_sample_batch",
          "\"base_time_ns\":9,\"rows\":[[0,0,0,1,16,1,40,9,0,1,1,3],[0,0,0,1,16,1,9,0,1,1,1,3]]"),
    BATCH("pm_sample_batch", "\"base_time_ns\":9,\"rows\":[[0,1,0,1,-12.5e+3,1]]"),
    "{\"type\":\"cubin_disassembly\",\"cubin_crc\":7,\"function_name\":\"_Z1fv\",\"entries\":"
    "[{\"pc\":0,\"sass\":\"NOP ;\",\"count\":2},{\"pc\":32,\"sass\":\"EXIT ;\"}]}",
    "{\"type\":\"source_file_content\",\"source_file_id\":1,\"lines\":[\"a\",\"\",\"b\"]}",
    "{\"type\":\"sass_config\",\"ts_ns\":3,\"device_id\":0,\"configured_metrics\":[\"m\"]}",
    "{\"type\":\"pm_sampling_config\",\"ts_ns\":3,\"interval_us\":100,\"metrics\":[\"m\"]}",
    "{\"type\":\"perf_metric_event\",\"name\":\"a\",\"start_ns\":1,\"end_ns\":2,"
    "\"sm_throughput_pct\":30.0000}",
    "{\"type\":\"kernel_perf_metric_event\",\"launch_ordinal\":1,\"shared_wavefronts\":10}",
    "{\"type\":\"shutdown\",\"ts_ns\":9}",
};

enum { KINDS = sizeof kinds / sizeof *kinds };

TEST(test_every_truncation_is_damage)
{
    for (int k = 0; k < KINDS; k++) {
        struct run r;
        size_t n = strlen(kinds[k]);
        run_begin(&r, 0);
        for (size_t len = 1; len < n; len++) {
            char *cut = strndup(kinds[k], len);
            run_line(&r, cut);
            free(cut);
        }
        assert_int_equal(decoder_stats(r.d)->damaged, n - 1);
        assert_int_equal(r.seen.text.len, 0);
        run_end(&r);
    }
}

TEST(test_damage)
{
    static const char *const lines[] = {
        BATCH("memcpy_event_batch", "\"rows\":[[0,1,1,1,3,1]]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":\"1\",\"rows\":[]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":{}"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":[1]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":[[1.5]]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":[[\"1\"]]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":[],\"columns\":[1]"),
        BATCH("memcpy_event_batch", "\"base_time_ns\":1,\"rows\":[[18446744073709551616]]"),
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct run r;
        run_begin(&r, 0);
        run_line(&r, lines[i]);
        run_finish(&r);
        assert_int_equal(decoder_stats(r.d)->damaged, 1);
        assert_int_equal(r.seen.text.len, 0);
        run_end(&r);
    }
}

/* With impossible shares of an SM the arithmetic would overflow: the occupancy stays unknown. */
TEST(test_impossible_occupancy)
{
    struct run r;
    run_begin(&r, 0);
    run_line(&r,
             BATCH("kernel_event_batch", "\"base_time_ns\":0,\"rows\":[[1,1,0,1,5,0,0,1,0,0]]"));
    run_line(
        &r,
        "{\"type\":\"kernel_detail\",\"corr_id\":5,\"grid\":\"(1,1,1)\",\"block\":\"(1024,64,1)\","
        "\"max_active_blocks\":65536,\"occupancy\":0.000001,\"reg_occupancy\":0.999999,"
        "\"smem_occupancy\":0.999999,\"block_occupancy\":0.999999}");
    run_finish(&r);
    assert_non_null(strstr(buf_cstr(&r.seen.text), "block_x=1024 block_y=64"));
    assert_null(strstr(buf_cstr(&r.seen.text), "occ_max_warps"));
    assert_null(strstr(buf_cstr(&r.seen.text), "occ_limit_regs"));
    run_end(&r);
}

/* No program has a new stream and a new launch configuration in each row: only a limited number is
 * kept, and the rest is counted. */
TEST(test_ids_without_end)
{
    enum { LINES = 18, ROWS = 1 << 16, MOST = 1 << 20 };
    struct decoder *d;
    struct buf line;
    const struct wire_visitor none = {0};
    assert_int_equal(decoder_open(&d), 0);
    buf_init(&line, 8u << 20);
    for (int64_t n = 0; n < LINES; n++) {
        buf_clear(&line);
        buf_str(&line, "{\"type\":\"kernel_event_batch\",\"base_time_ns\":1,\"columns\":"
                       "[\"dt_ns\",\"stream_id\",\"num_regs\"],\"rows\":[");
        for (int64_t i = 0; i < ROWS; i++)
            buf_printf(&line, "%s[1,%lld,%lld]", i ? "," : "", (long long)(n * ROWS + i),
                       (long long)(n * ROWS + i + 1));
        buf_str(&line, "]}");
        assert_int_equal(decoder_feed(d, line.data, line.len, &none), 0);
    }
    assert_int_equal(decoder_finish(d, &none), 0);
    assert_int_equal(decoder_stats(d)->damaged, 0);
    assert_int_equal(decoder_stats(d)->foreign_orphans, 2 * (LINES * ROWS - MOST));
    decoder_close(d);
    buf_fini(&line);
}

static int last_fill_scope(void *arg, const struct wire_batch *b)
{
    if (b->type == RECORD_memset)
        *(int64_t *)arg = b->col[COL_memset_scope] ? b->col[COL_memset_scope][0] : CELL_NULL;
    return 0;
}

/* If there is no room for a path of scopes, it is unknown, not another path. */
TEST(test_paths_without_end)
{
    enum { MOST = 1 << 20, DEPTH = 60 };
    static const char *const last[][2] = {{"p0|q|p0", "="}, {"new|p1", "unknown"}, {"p0", "="}};
    struct decoder *d;
    struct buf line;
    int64_t scope = 0;
    const struct wire_visitor v = {.arg = &scope, .batch = last_fill_scope};
    assert_int_equal(decoder_open(&d), 0);
    buf_init(&line, 1 << 20);
    for (int n = 0; n < MOST / DEPTH + 2; n++) {
        buf_clear(&line);
        buf_printf(&line, "{\"type\":\"memset_event\",\"start_ns\":1,\"user_scope\":\"p%d", n);
        for (int i = 1; i < DEPTH; i++)
            buf_str(&line, n || i > 2 ? "|p0" : i == 1 ? "|q" : "|p0");
        buf_str(&line, "\"}");
        assert_int_equal(decoder_feed(d, line.data, line.len, &v), 0);
    }
    for (int i = 0; i < 3; i++) {
        buf_clear(&line);
        buf_printf(&line, "{\"type\":\"memset_event\",\"start_ns\":1,\"user_scope\":\"%s\"}",
                   last[i][0]);
        assert_int_equal(decoder_feed(d, line.data, line.len, &v), 0);
        if (*last[i][1] == '=')
            assert_int_equal(scope, i ? 1 : 3); /* made by the first line */
        else
            assert_int_equal(scope, CELL_NULL);
    }
    assert_true(decoder_stats(d)->foreign_orphans > 0);
    decoder_close(d);
    buf_fini(&line);
}

/* There is a large batch without details, and very many details: the time is the sum for both, not
 * their product, which would exceed the test's time limit. */
TEST(test_details_that_nobody_awaits)
{
    enum { ROWS = 200000, DETAILS = 500000 };
    static const char detail[] = "{\"type\":\"kernel_detail\",\"corr_id\":6}";
    struct run r;
    struct buf line;
    run_begin(&r, 0);
    buf_init(&line, 8u << 20);
    buf_str(&line, "{\"type\":\"kernel_event_batch\",\"base_time_ns\":1,\"rows\":[");
    for (int i = 0; i < ROWS; i++)
        buf_str(&line, i ? ",[1,1,0,1,5,0,0,0]" : "[1,1,0,1,5,0,0,0]");
    buf_str(&line, "]}");
    run_line(&r, buf_cstr(&line));
    for (int i = 0; i < DETAILS; i++)
        run_line(&r, detail);
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, DETAILS);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    buf_fini(&line);
    run_end(&r);
}

static uint64_t random_state = 3;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* With changed bytes anywhere nothing is read out of bounds, and nothing leaks. */
TEST(test_mutations)
{
    static const char interesting[] = "0123456789-,:[]{}\"\\nulltrue.eE ()|";
    struct run r;
    run_begin(&r, 0);
    for (int i = 0; i < 30000; i++) {
        char line[512];
        snprintf(line, sizeof line, "%s", kinds[random_next() % KINDS]);
        size_t n = strlen(line);
        for (uint64_t k = random_next() % 4; k; k--)
            line[random_next() % n] = interesting[random_next() % (sizeof interesting - 1)];
        const struct wire_visitor none = {0};
        char *exact = malloc(n);
        memcpy(exact, line, n);
        assert_int_equal(decoder_feed(r.d, exact, n, &none), 0);
        free(exact);
    }
    const struct decode_stats *s = decoder_stats(r.d);
    assert_true(s->damaged > 1000 && s->foreign > 10000);
    run_end(&r);
}

static int count_batch(void *arg, const struct wire_batch *b)
{
    *(size_t *)arg += b->rows;
    return 0;
}

/* Every allocation fails once: that is an error, never a crash or a leak. */
TEST(test_out_of_memory)
{
    for (int64_t n = 0;; n++) {
        struct decoder *d = NULL;
        size_t rows = 0;
        const struct wire_visitor v = {.arg = &rows, .batch = count_batch};
        mem_fail_at(n);
        int rc = decoder_open(&d);
        for (int k = 0; k < KINDS && !rc; k++) {
            char *line = strdup(kinds[k]);
            rc = decoder_feed(d, line, strlen(line), &v);
            free(line);
        }
        rc = rc ? rc : decoder_finish(d, &v);
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        assert_int_equal(rc, failed ? GPUFL_E_NOMEM : 0);
        if (d)
            assert_int_equal(decoder_stats(d)->damaged, 0);
        decoder_close(d);
        if (!failed)
            break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_truncation_is_damage),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_impossible_occupancy),
        cmocka_unit_test(test_ids_without_end),
        cmocka_unit_test(test_paths_without_end),
        cmocka_unit_test(test_details_that_nobody_awaits),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
