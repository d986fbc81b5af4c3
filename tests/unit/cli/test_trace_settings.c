/* test_trace_settings.c - tests options given as text: accepted options, the form in which they are
 * passed on, and messages about the others. */
#include "cli/trace/options/settings.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

TEST(good_values)
{
    static const char *const pairs[][2] = {
        {"enabled=no", "enabled=no"},
        {"log_rotate_bytes=64M", "log_rotate_bytes=64M"},
        {"log_max_spool_bytes=0", "log_max_spool_bytes=0"},
        {"flush_interval_ms=100", "flush_interval_ms=100"},
        {"backend=sim", "backend=sim"},
        {"profiling_engine=pc_sampling", "profiling_engine=pc_sampling"},
        {"app_name=a=b c", "app_name=a=b c"},
        {"app_name=", "app_name="},
        {"config_file=/proc/../etc", "config_file=/etc"},
        {"config_file=", "config_file="},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char out[256];
        struct err e = {0};
        if (setting_check(pairs[i][0], out, sizeof out, &e))
            fail_msg("%s: %s", pairs[i][0], e.text);
        assert_string_equal(out, pairs[i][1]);
    }
}

TEST(bad_values)
{
    static const char *const pairs[][2] = {
        {"enabeld=1", "did you mean 'enabled'?"},
        {"zzzzzz=1", "gpufl info --options"},
        {"=1", "there is no option ''"},
        {"enabled", "enabled=VALUE"},
        {"enabled=", "true or false"},
        {"enabled=perhaps", "'perhaps'"},
        {"flush_interval_ms=1.5", "'1.5'"},
        {"flush_interval_ms=5", "from 10 to 10000"},
        {"flush_interval_ms=-5", "'-5'"},
        {"log_rotate_bytes=99999999999999999999", "whole number"},
        {"backend=Voodoo", "Sim"},
        {"profiling_engine=All", "PcSampling"},
        {"config_file=/not/there", "cannot read /not/there: No such file"},
        {"log_path=x", "--output"},
        {"run_id=x", "gpufl trace"},
        {"app_name=a\nenabled=false", "app_name"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char out[256];
        struct err e = {0};
        assert_int_equal(setting_check(pairs[i][0], out, sizeof out, &e), GPUFL_E_INVAL);
        if (!strstr(e.text, pairs[i][1]))
            fail_msg("%s: %s", pairs[i][0], e.text);
    }
}

/* A value that does not fit is refused, not cut. */
TEST(long_values)
{
    char out[16];
    struct err e = {0};
    assert_int_equal(setting_check("app_name=123456", out, sizeof out, &e), 0);
    assert_int_equal(setting_check("app_name=1234567", out, sizeof out, &e), GPUFL_E_INVAL);
    assert_int_equal(setting_check("enable_memory_tracking=1", out, sizeof out, &e), GPUFL_E_INVAL);
}

TEST(pairs_are_recognized)
{
    assert_true(setting_is("enabled=1", "enabled"));
    assert_false(setting_is("enabled", "enabled"));
    assert_false(setting_is("enabled_x=1", "enabled"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(long_values),
        cmocka_unit_test(pairs_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
