/* test_peer_profile.c - tests samples, metrics of instructions, counters and code of the public
 * client's format. */
#include "tests/test.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "header s app= pid=0 host= run= engine= backend= start="
#define WORDS                                                                                      \
    "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"s\","                          \
    "\"scope_name_dict\":{\"1\":\"step\"},"                                                        \
    "\"function_dict\":{\"1\":\"axpy(float*)@/src/a.cu\",\"2\":\"scale()@\"},"                     \
    "\"func_symbol_dict\":{\"1\":\"_Z4axpyPf\"},"                                                  \
    "\"metric_dict\":{\"1\":\"smsp__pcsamp_warps_issue_stalled_long_scoreboard\","                 \
    "\"2\":\"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued\","                       \
    "\"3\":\"smsp__sass_inst_executed\",\"4\":\"sm__cycles_active.avg\"},"                         \
    "\"source_file_dict\":{\"1\":\"/src/a.cu\"}}"
#define FUNCTION "function id=1 object=0 name='_Z4axpyPf' file='/src/a.cu'\n"
#define PROFILE(base, rows)                                                                        \
    BATCH("profile_sample_batch", "\"base_time_ns\":" base ",\"rows\":[" rows "]")

static struct run run_of(const char *const *lines)
{
    struct run r;
    run_begin(&r, 0);
    for (; *lines; lines++)
        run_line(&r, *lines);
    run_finish(&r);
    return r;
}

#define EXPECT(orphans, want, ...)                                                                 \
    do {                                                                                           \
        struct run r_ = run_of((const char *const[]){__VA_ARGS__, NULL});                          \
        assert_string_equal(buf_cstr(&r_.seen.text), want);                                        \
        assert_int_equal(decoder_stats(r_.d)->damaged, 0);                                         \
        assert_int_equal(decoder_stats(r_.d)->foreign_unmapped, 0);                                \
        assert_int_equal(decoder_stats(r_.d)->foreign_orphans, orphans);                           \
        run_end(&r_);                                                                              \
    } while (0)

/* Reasons are distinguished by name, not by number; issued and not issued are two reasons. */
TEST(test_samples)
{
    EXPECT(0,
           FUNCTION "function id=2 object=0 name='scale()' file=''\n"
                    "stall_reason id=1 name='long_scoreboard' "
                    "driver_name='smsp__pcsamp_warps_issue_stalled_long_scoreboard' index=9 "
                    "issued=1\n"
                    "stall_reason id=2 name='long_scoreboard' "
                    "driver_name='smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued' "
                    "index=1 issued=0\n"
                    "stall_reason id=3 name='reason_12' driver_name='' index=12\n"
                    "pc_sample start=5000 device=1 function=1 offset=128 reason=1 samples=40 "
                    "scope=1\n"
                    "pc_sample start=5000 device=1 function=1 offset=144 reason=2 samples=7 "
                    "scope=0\n"
                    "pc_sample start=5001 device=2 function=2 offset=0 reason=3 samples=1 scope=0 "
                    "correlation=77\n"
                    "scope instance=1 parent=0 name='step' tag=''\n"
                    "instruction function=1 offset=128 level=0 text='' file='/src/a.cu' line=17 "
                    "inlined=''\n" HEADER "5000\n",
           WORDS,
           PROFILE("5000", "[0,0,0,1,128,1,40,9,0,1,1,17],[0,0,0,1,144,2,7,1,0,0,0,0],"
                           "[1,77,1,2,0,0,1,12,0,0,0,0]"));
}

/* Older versions write ten columns, with or without their names. */
TEST(test_narrow_rows)
{
    static const char want[] =
        FUNCTION "sass_metric start=9 device=1 function=1 offset=16 "
                 "metric='smsp__sass_inst_executed' value=640 scope=0\n" HEADER "9\n";
    EXPECT(0, want, WORDS, PROFILE("9", "[0,0,0,1,16,3,640,0,1,0]"));
    EXPECT(0, want, WORDS,
           BATCH("profile_sample_batch",
                 "\"base_time_ns\":9,\"columns\":[\"metric_value\",\"sample_kind\",\"pc_offset\","
                 "\"metric_id\",\"function_id\",\"device_id\",\"dt_ns\",\"scope_name_id\","
                 "\"corr_id\"],\"rows\":[[640,1,16,3,1,0,0,0,0]]"));
}

/* The map of lines is in several channels, with another clock: it is reported once, without a
 * time. */
TEST(test_lines_once)
{
    static const char map[] = PROFILE("3", "[0,0,0,1,0,3,1,0,2,0,1,4],[0,0,0,1,16,3,1,0,2,0,1,4]");
    EXPECT(0,
           FUNCTION "instruction function=1 offset=0 level=0 text='' file='/src/a.cu' line=4 "
                    "inlined=''\n"
                    "instruction function=1 offset=16 level=0 text='' file='/src/a.cu' line=4 "
                    "inlined=''\n"
                    "pc_sample device=1 function=1 offset=16 reason=0 samples=2 scope=0\n" HEADER
                    "0\n",
           WORDS, map, map, PROFILE("0", "[0,0,0,1,16,0,2,null,0,0,0,0]"), map);
}

TEST(test_counters)
{
    EXPECT(
        2,
        "counter start=7000 source=1 device=1 metric='sm__cycles_active.avg' value=125 "
        "exponent=-1 scope=1 kernel='' range='' ordinal=0\n"
        "counter start=7100 source=1 device=1 metric='sm__cycles_active.avg' value=123457 "
        "exponent=3 scope=0 kernel='' range='' ordinal=1\n"
        "scope instance=1 parent=0 name='step' tag=''\n"
        "counter start=900 duration=4000 source=2 device=1 metric='sm_throughput_pct' value=3 "
        "exponent=1 scope=1 kernel='' range='step'\n"
        "counter start=900 duration=4000 source=2 device=1 metric='dram_read_bytes' value=1024 "
        "scope=1 kernel='' range='step'\n"
        "counter source=3 device=1 metric='shared_wavefronts' value=0 kernel='k()' range='k()' "
        "ordinal=4\n" HEADER "7000\n",
        WORDS,
        BATCH("pm_sample_batch",
              "\"base_time_ns\":7000,\"rows\":[[0,0,0,4,12.5,1],[1,100,0,4,1.23457e+08,0],"
              "[2,200,0,9,1,0],[3,200,0,4,null,0]]"),
        "{\"type\":\"perf_metric_event\",\"session_id\":\"s\",\"name\":\"step\",\"start_ns\":900,"
        "\"end_ns\":4900,\"device_id\":0,\"sm_throughput_pct\":30.0000,"
        "\"l1_hit_rate_pct\":-1.0000,\"dram_read_bytes\":1024,\"dram_write_bytes\":-1,"
        "\"tensor_active_pct\":\"x\",\"user_scope\":\"step\",\"scope_depth\":1}",
        "{\"type\":\"kernel_perf_metric_event\",\"device_id\":0,\"range_index\":3,"
        "\"range_name\":\"k()\",\"kernel_name\":\"3\",\"launch_ordinal\":4,"
        "\"shared_wavefronts\":0}");
}

/* The first instruction of a run has its text; the others have the part that all surely share. */
TEST(test_disassembly)
{
    EXPECT(
        1,
        "code_object id=1 crc=0xffffffffffffffff module='' arch='' file=''\n"
        "function id=1 object=1 name='_Z4axpyPf' file=''\n"
        "instruction function=1 offset=0 level=0 text='IMAD R1, R2, 0x1f ;' file='' inlined=''\n"
        "instruction function=1 offset=16 level=0 text='IMAD R#, R#, # ;' file='' inlined=''\n"
        "instruction function=1 offset=32 level=0 text='EXIT ;' file='' inlined=''\n"
        "instruction function=1 offset=48 level=0 text='NOP ;' file='' inlined=''\n",
        "{\"type\":\"cubin_disassembly\",\"session_id\":\"\",\"cubin_crc\":18446744073709551615,"
        "\"function_name\":\"_Z4axpyPf\",\"entries\":["
        "{\"pc\":0,\"sass\":\"IMAD R1, R2, 0x1f ;\",\"count\":2},{\"pc\":32,\"sass\":\"EXIT ;\"},"
        "{\"pc\":48,\"sass\":\"NOP ;\",\"count\":1000000000},7]}");
}

/* However long runs are, the number of rows is limited. */
TEST(test_hostile_runs)
{
    struct run r = run_of((const char *const[]){
        "{\"type\":\"cubin_disassembly\",\"session_id\":\"\",\"cubin_crc\":1,\"function_name\":"
        "\"f\","
        "\"entries\":[{\"pc\":0,\"sass\":\"NOP ;\",\"count\":100000000},{\"pc\":1600000000,"
        "\"sass\":\"NOP ;\",\"count\":4611686018427387904},{\"pc\":9223372036854775807}]}",
        NULL});
    assert_true(r.seen.text.len < 128u << 20);
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 100000000 - 1 - (1 << 20));
    run_end(&r);
}

TEST(test_source)
{
    EXPECT(1, "source path='/src/a.cu' hash=0xa74f77a7c685986c size=7 offset=0 text='int a;\n'\n",
           WORDS,
           "{\"type\":\"source_file_content\",\"source_file_id\":1,\"lines\":[\"int a;\",\"\"]}",
           "{\"type\":\"source_file_content\",\"source_file_id\":1,\"lines\":[\"int a;\",\"\"]}",
           "{\"type\":\"source_file_content\",\"source_file_id\":2,\"lines\":[\"x\"]}");
}

TEST(test_settings)
{
    EXPECT(0,
           "setting time=3 device=1 engine='SassMetrics' name='metric' value='a'\n"
           "setting time=3 device=1 engine='SassMetrics' name='metric' value='b'\n"
           "setting time=3 device=1 engine='SassMetrics' name='skipped_metric' value='c'\n"
           "message time=3 severity=2 code='instrumented' text='Kernels were instrumented for SASS "
           "metrics: their durations are longer than without.'\n"
           "setting time=4 device=1 engine='PmSampling' name='interval_us' value='100'\n"
           "setting time=4 device=1 engine='PmSampling' name='preset' value='overview'\n"
           "setting time=4 device=1 engine='PmSampling' name='metric' value='a'\n",
           "{\"type\":\"sass_config\",\"ts_ns\":3,\"device_id\":0,\"configured_metrics\":[\"a\","
           "\"b\"],"
           "\"skipped_metrics\":[\"c\"]}",
           "{\"type\":\"pm_sampling_config\",\"ts_ns\":4,\"device_id\":0,\"interval_us\":100,"
           "\"preset\":\"overview\",\"metrics\":[\"a\"]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),     cmocka_unit_test(test_narrow_rows),
        cmocka_unit_test(test_lines_once),  cmocka_unit_test(test_counters),
        cmocka_unit_test(test_disassembly), cmocka_unit_test(test_hostile_runs),
        cmocka_unit_test(test_source),      cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
