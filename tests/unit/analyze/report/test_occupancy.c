/* test_occupancy.c - the text report says what limits each kernel's occupancy, and how to
 * ask for metrics of devices and host if a session has none. */
#include "tests/test.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HEADER(channel)                                                                            \
    "{\"type\":\"header\",\"format\":1,\"session\":\"7d1f6c1e-0c5b-4c39-8a3e-5b1f0e6f2a11\","      \
    "\"channel\":\"" channel "\",\"part\":1,\"offset\":0,\"app\":\"a\",\"pid\":1,\"host\":\"h\","  \
    "\"run\":\"\",\"command\":\"a\",\"engine\":\"Trace\",\"backend\":\"nvidia\","                  \
    "\"simulated\":false,\"version\":\"0.1.0\",\"system\":\"Linux\",\"start\":1000,"               \
    "\"clock_monotonic\":1000,\"clock_real\":1760000000000000000,\"clock_uncertainty\":1}\n"

static void write_channel(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "s/%s.log", name);
    (void)mkdir(tmpdir_path("s"), 0700);
    tmpdir_write(path, text, strlen(text));
}

static char *report(void)
{
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    o.width = 100;
    return report_with(tmpdir_path("s"), &o, 0);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("missing: %s\nin: %s", part, text);
}

/* The second of three kernels has no limit by registers, and nothing is known of the third. */
TEST(test_limits)
{
    write_channel(
        "device",
        HEADER("device") "{\"type\":\"names\",\"rows\":5,\"id\":[1,2,3,4,5],\"text\":[\"gemm\","
                         "\"relu\",\"other\",\"registers\",\"warps\"]}\n"
                         "{\"type\":\"config\",\"rows\":3,\"id\":[1,2,3],\"name\":[1,2,3],"
                         "\"device\":[0,0,0],\"grid_x\":[64,4096,8],\"grid_y\":[32,1,1],\"grid_z\":"
                         "[1,1,1],\"block_x\":[64,256,32],\"block_y\":[4,1,1],\"block_z\":[1,1,1],"
                         "\"registers\":[168,16,40],\"occ_blocks\":[1,8,null],\"occ_limit_warps\":"
                         "[8,8,null],\"occ_limit_regs\":[1,null,null],\"occ_limit_shared\":[2,null,"
                         "null],\"occ_limit_blocks\":[32,32,null],\"occ_limiter\":[4,5,0],"
                         "\"occ_warps\":[8,64,null],\"occ_max_warps\":[64,64,null]}\n"
                         "{\"type\":\"kernel\",\"rows\":3,\"start\":[2000,4000,4000],\"duration\":"
                         "[3000,2000,1000],\"config\":[1,2,3],\"stream\":[0,0,0],\"correlation\":"
                         "[1,1,1],\"scope\":[0,0,0]}\n");
    char *text = report();
    expect(text, "What limits occupancy: the blocks that fit on an SM by each resource\n"
                 "  #  threads  registers  shared mem.  warps  blocks  at once  limiter\n"
                 "  1      256          1            2      8      32        1  registers\n"
                 "  2      256   no limit     no limit      8      32        8  warps\n"
                 "  3       32          -            -      -       -        -  -\n");
    free(text);
}

/* There is no such table if no kernel's limits are known. */
TEST(test_nothing_known)
{
    write_channel(
        "device",
        HEADER("device") "{\"type\":\"names\",\"rows\":1,\"id\":[1],\"text\":[\"gemm\"]}\n"
                         "{\"type\":\"config\",\"rows\":1,\"id\":[1],\"name\":[1],"
                         "\"block_x\":[64],\"grid_x\":[1]}\n"
                         "{\"type\":\"kernel\",\"rows\":1,\"start\":[2000],\"duration\":"
                         "[3000],\"config\":[1]}\n");
    char *text = report();
    expect(text, "Top kernels by time");
    assert_null(strstr(text, "What limits occupancy"));
    free(text);
}

/* The report names the two options that a session without samples lacks. */
TEST(test_no_samples)
{
    write_channel("system",
                  HEADER("system") "{\"type\":\"names\",\"rows\":2,\"id\":[1,2],\"text\":["
                                   "\"device_metrics\",\"not_requested\"]}\n"
                                   "{\"type\":\"capability\",\"rows\":1,\"feature\":[1],"
                                   "\"requested\":[0],\"status\":[2],\"reason\":[0]}\n");
    char *text = report();
    expect(text,
           "System metrics\n"
           "  Samples were not asked for. The options system_sample_rate_ms (50 to 100 is "
           "usual) and\n"
           "  continuous_system_sampling=true record them. Both can be set in code, or in the "
           "environment as\n"
           "  GPUFL_SYSTEM_SAMPLE_RATE_MS and GPUFL_CONTINUOUS_SYSTEM_SAMPLING.\n");
    free(text);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_limits),
        CASE(test_nothing_known),
        CASE(test_no_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
