/* test_peer_rules.c - the public client's own rules: for each rule a session in its rows in which
 * our rules have the same finding, and sessions in which that client has a false finding.
 *
 * Every session is one kernel k() of 80 ms in a run of 100 ms, whose rows a case completes. */
#include "analyze/insight/insight.h"
#include "tests/test.h"
#include "wire/decode.h"

#include "tests/unit/support/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION "\"session_id\":\"s\""
#define JOB                                                                                        \
    "{\"version\":1,\"type\":\"job_start\"," SESSION                                               \
    ",\"ts_ns\":1000000000,\"gpu_static_devices\":[{\"id\":0,\"name\":\"g\",\"uuid\":\"u\","       \
    "\"vendor\":\"NVIDIA\",\"warp_size\":32}]}\n"
#define WORDS                                                                                      \
    "{\"version\":1,\"type\":\"dictionary_update\"," SESSION                                       \
    ",\"kernel_dict\":{\"1\":\"k()\"},\"scope_name_dict\":{\"1\":\"step\"},"                       \
    "\"function_dict\":{\"1\":\"k()@/src/k.cu\"},\"source_file_dict\":{\"1\":\"/src/k.cu\"},"      \
    "\"metric_dict\":{\"1\":\"Long Scoreboard\",\"2\":\"Memory Dependency\","                      \
    "\"3\":\"Memory Throttle\",\"4\":\"Pipe Busy\",\"5\":\"Execution Dependency\","                \
    "\"6\":\"Barrier\",\"7\":\"stalled_not_selected\",\"8\":\"stalled_selected\","                 \
    "\"9\":\"Branch Resolving\",\"10\":\"smsp__sass_inst_executed\","                              \
    "\"11\":\"smsp__sass_thread_inst_executed\",\"12\":\"smsp__sass_sectors_mem_global\","         \
    "\"13\":\"smsp__sass_sectors_mem_global_op_ld_ideal\",\"14\":\"isa_inst_present\"}}\n"
#define KERNEL(registers)                                                                          \
    "{\"version\":1,\"type\":\"kernel_event_batch\"," SESSION                                      \
    ",\"base_time_ns\":1010000000,\"rows\":[[0,1,7,80000000,11,0," registers ",1,0,0]]}\n"
#define DETAIL(occupancy, by_registers, by_shared, limiter, local_total, local_per_thread)         \
    "{\"version\":1,\"type\":\"kernel_detail\"," SESSION                                           \
    ",\"corr_id\":11,\"grid\":\"(999,1,1)\",\"block\":\"(256,1,1)\",\"occupancy\":" occupancy      \
    ",\"reg_occupancy\":" by_registers ",\"smem_occupancy\":" by_shared                            \
    ",\"warp_occupancy\":1.000000,\"block_occupancy\":1.000000,\"limiting_resource\":\"" limiter   \
    "\",\"max_active_blocks\":4,\"local_mem_total_bytes\":" local_total                            \
    ",\"local_mem_per_thread_bytes\":" local_per_thread ",\"user_scope\":\"step\"}\n"
#define HEALTHY DETAIL("1.000000", "1.000000", "1.000000", "warps", "0", "0")
#define PROFILE(rows)                                                                              \
    "{\"version\":1,\"type\":\"profile_sample_batch\"," SESSION                                    \
    ",\"base_time_ns\":1090000000,\"rows\":[" rows "]}\n"
/* key in metric_dict, value, the driver's number, scope */
#define SAMPLE(metric, value, number, scope)                                                       \
    "[0,0,0,1,16," metric "," value "," number ",0," scope ",1,42]"
#define METRIC(metric, value, scope) "[0,0,0,1,16," metric "," value ",0,1," scope ",1,42]"
#define EVEN                                                                                       \
    SAMPLE("6", "1000", "12", "0")                                                                 \
    "," SAMPLE("9", "1000", "10", "0") "," SAMPLE("7", "2500", "11", "0")
#define SHUTDOWN "{\"type\":\"shutdown\"," SESSION ",\"ts_ns\":1100000000}\n"

static struct intern *names;
static struct model model;
static struct insights found;

static void read_session(const char *lines)
{
    const struct wire_visitor v = program_visitor(&model);
    struct decoder *d;
    char *copy = strdup(lines);
    assert_int_equal(intern_open(&names, 1 << 16, 1 << 24), 0);
    model_init(&model, names);
    assert_int_equal(decoder_open(&d), 0);
    for (char *at = copy, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        assert_int_equal(decoder_feed(d, at, (size_t)(end - at), &v), 0);
    }
    assert_int_equal(decoder_finish(d, &v), 0);
    assert_int_equal(decoder_stats(d)->damaged, 0);
    assert_int_equal(decoder_stats(d)->foreign_unmapped, 0);
    assert_int_equal(decoder_stats(d)->foreign_orphans, 0);
    assert_int_equal(model_finish(&model), 0);
    assert_int_equal(insights_find(&model, &found), 0);
    decoder_close(d);
    free(copy);
}

static void detach(void)
{
    insights_fini(&found);
    model_fini(&model);
    intern_close(names);
}

/* A rule of the public client's. */
struct peer_rule {
    const char *theirs;
    const char *lines; /* between WORDS and SHUTDOWN */
    const char *ours;  /* the rule of ours that finds it */
    const char *what;  /* in the finding's title or text */
};

static const struct peer_rule rules[] = {
    {"occupancy below 0.5",
     KERNEL("24") DETAIL("0.250000", "1.000000", "1.000000", "blocks", "0", "0"), "occupancy",
     "limited by the number of blocks"},
    {"local memory",
     KERNEL("24") DETAIL("1.000000", "1.000000", "1.000000", "warps", "9999999", "64"), "spills",
     "64 B a thread"},
    {"limited by registers",
     KERNEL("72") DETAIL("0.550000", "0.550000", "1.000000", "registers", "0", "0"), "occupancy",
     "limited by registers"},
    {"a scope's dominant stall reason",
     KERNEL("24") HEALTHY PROFILE(EVEN "," SAMPLE("6", "450", "12", "1") "," SAMPLE(
         "9", "250", "10", "1") "," SAMPLE("7", "300", "11", "1")),
     "stall", "Scope step: 45.0 %"},
    {"divergence below 0.75 in a scope",
     KERNEL("24") HEALTHY PROFILE(METRIC("10", "100000", "0") "," METRIC(
         "11", "3200000", "0") "," METRIC("10", "2000", "1") "," METRIC("11", "40000", "1")),
     "divergence", "in scope step: 20.0 of 32 threads"},
    {"mean temperature of 85",
     "{\"version\":1,\"type\":\"device_metric_batch\"," SESSION
     ",\"base_time_ns\":1010000000,\"rows\":[[0,0,90,5,84,1,1,2,1500],[9000000,0,90,5,86,1,1,2,"
     "1500],[19000000,0,90,5,85,1,1,2,1500]]}\n",
     "throttle_thermal", "85 C"},
    {"hint: low memory efficiency",
     KERNEL("24") HEALTHY PROFILE(METRIC("12", "10000", "0") "," METRIC("13", "4900", "0")),
     "uncoalesced", "49.0 %"},
    {"hint: memory latency proxy",
     KERNEL("24")
         HEALTHY PROFILE(EVEN "," SAMPLE("1", "1300", "5", "0") "," METRIC("12", "10000", "0")),
     "stall", "22.4 %"},
    {"hint: memory stalls",
     KERNEL("24")
         HEALTHY PROFILE(EVEN "," SAMPLE("2", "1300", "4", "0") "," SAMPLE("3", "900", "9", "0")),
     "stall", "memory_dependency 19.4 %"},
    {"hint: pipe busy", KERNEL("24") HEALTHY PROFILE(EVEN "," SAMPLE("4", "1200", "8", "0")),
     "stall", "pipe_busy"},
    {"hint: execution dependency",
     KERNEL("24") HEALTHY PROFILE(EVEN "," SAMPLE("5", "2000", "3", "0")), "stall",
     "execution_dependency"},
    {"hint: low warp efficiency",
     KERNEL("24") HEALTHY PROFILE(METRIC("10", "100000", "0") "," METRIC("11", "2800000", "0")),
     "divergence", "28.0 of 32 threads"},
};

static char *session_of(const char *lines)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s%s", JOB, WORDS, lines, SHUTDOWN) < 0)
        abort();
    return text;
}

TEST(test_all_are_found)
{
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        char *text = session_of(rules[r].lines);
        bool there = false;
        read_session(text);
        for (size_t i = 0; i < found.count; i++)
            there |= !strcmp(found.items[i].rule->id, rules[r].ours) &&
                     (strstr(found.items[i].text, rules[r].what) ||
                      strstr(found.items[i].title, rules[r].what));
        if (!there)
            fail_msg("%s: not found among %zu (%s)", rules[r].theirs, found.count,
                     found.count ? found.items[0].text : "nothing");
        if (found.count != 1)
            fail_msg("%s: %zu findings, %s", rules[r].theirs, found.count, found.items[1].text);
        detach();
        free(text);
    }
}

/* Lines in which the public client finds a fault, though there is no fault. */
static const struct {
    const char *why, *lines;
} false_ones[] = {
    {"local memory that the driver reserved, and no thread uses",
     KERNEL("24") DETAIL("1.000000", "1.000000", "1.000000", "warps", "99999999", "0")},
    {"thread counts that were not collected read as 0 %",
     KERNEL("24") HEALTHY PROFILE(METRIC("10", "100000", "1") "," METRIC("10", "5000", "0"))},
    {"the driver's numbers read by an old table: 5 is texture there, progress here",
     KERNEL("24") HEALTHY PROFILE(EVEN "," SAMPLE("8", "90000", "5", "1"))},
    {"lines of instructions, in four channels and on another clock, taken for samples",
     KERNEL("24") HEALTHY PROFILE(EVEN) PROFILE("[0,0,0,1,0,14,1,0,2,0,1,42]")
         PROFILE("[0,0,0,1,0,14,1,0,2,0,1,42]") PROFILE("[0,0,0,1,0,14,1,0,2,0,1,42]")
             PROFILE("[0,0,0,1,0,14,1,0,2,0,1,42]")},
    {"a dozen samples, which say nothing",
     KERNEL("24") HEALTHY PROFILE(SAMPLE("6", "12", "12", "1"))},
    {"warps that could have gone on", KERNEL("24") HEALTHY PROFILE(SAMPLE("7", "9000", "11", "1"))},
    {"nothing at all", KERNEL("24") HEALTHY},
};

TEST(test_false_ones)
{
    for (size_t r = 0; r < sizeof false_ones / sizeof *false_ones; r++) {
        char *text = session_of(false_ones[r].lines);
        read_session(text);
        if (found.count)
            fail_msg("%s: %s", false_ones[r].why, found.items[0].text);
        detach();
        free(text);
    }
}

/* Numbers up to 1 are reasons like others if their name says so. */
TEST(test_low_numbers)
{
    char *text = session_of(KERNEL("24") HEALTHY PROFILE(EVEN "," SAMPLE("1", "9000", "1", "0")));
    read_session(text);
    assert_int_equal(found.count, 1);
    assert_non_null(strstr(found.items[0].title, "long_scoreboard"));
    assert_string_equal(model_text(&model, found.items[0].file), "/src/k.cu");
    assert_int_equal(found.items[0].line, 42);
    detach();
    free(text);
}

/* Shared memory as the limit has advice of its own. */
TEST(test_shared_limit)
{
    char *text =
        session_of(KERNEL("24") DETAIL("0.250000", "1.000000", "0.250000", "shared_mem", "0", "0"));
    read_session(text);
    assert_int_equal(found.count, 1);
    assert_non_null(strstr(found.items[0].next, "shared memory"));
    detach();
    free(text);
}

/* A scope that goes on in the next segment keeps its samples. */
TEST(test_scope_over_segments)
{
    char *text = session_of(
        KERNEL("24") HEALTHY
        "{\"version\":3,\"type\":\"scope_event_batch\"," SESSION
        ",\"base_time_ns\":1010000000,\"rows\":[[0,1,1,0,0,0,0,1010000000],"
        "[5000,1,1,3,0,0,0,1010000000],[5000,1,1,2,0,0,0,1010000000],"
        "[9000,1,1,1,0,0,0,1010000000]]}\n" PROFILE(EVEN "," SAMPLE("6", "900", "12", "1")));
    read_session(text);
    assert_int_equal(found.count, 1);
    assert_string_equal(model_text(&model, found.items[0].scope), "step");
    detach();
    free(text);
}

/* A sample counts once, whatever channel it is in. */
TEST(test_counts)
{
    char *text = session_of(KERNEL("24") HEALTHY PROFILE(EVEN));
    read_session(text);
    assert_int_equal(model.samples.total.all, 4500);
    assert_int_equal(model.samples.invalid, 0);
    detach();
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_found),       cmocka_unit_test(test_false_ones),
        cmocka_unit_test(test_low_numbers),         cmocka_unit_test(test_shared_limit),
        cmocka_unit_test(test_scope_over_segments), cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
