/* test_remote_options.c - tests the server's configurations as an agent keeps them: which files
 * count, what they may set, and which sources take precedence. */
#include "capture/options/options.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char said[4096];

static void receive(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity;
    size_t len = strlen(said);
    snprintf(said + len, sizeof said - len, "%s: %s\n", code, text);
}

static const struct options_say say = {.fn = receive};

static const char *const variables[] = {"GPUFL_REMOTE_CONFIG",         "GPUFL_REMOTE_CONFIG_NAME",
                                        "GPUFL_REMOTE_CONFIG_DIR",     "GPUFL_CONFIG_FILE",
                                        "GPUFL_SYSTEM_SAMPLE_RATE_MS", "GPUFL_PROFILING_ENGINE"};

static void forget(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    said[0] = '\0';
}

static int setup(void **state)
{
    forget();
    int rc = tmpdir_open(state);
    setenv("GPUFL_REMOTE_CONFIG_DIR", tmpdir, 1);
    return rc;
}

static int teardown(void **state)
{
    forget();
    return tmpdir_close(state);
}

static void put(const char *name, const char *text)
{
    chmod(tmpdir_write(name, text, strlen(text)), 0644);
}

static void resolve(struct options *o)
{
    assert_int_equal(0, options_resolve(o, NULL, false, &say));
}

TEST(test_a_configuration_is_read_and_its_version_kept)
{
    struct options o;
    put("prod.json", "{\"name\":\"prod\",\"version\":7,\"options\":"
                     "{\"profiling_engine\":\"Trace\",\"system_sample_rate_ms\":250}}");
    setenv("GPUFL_REMOTE_CONFIG", "prod", 1);
    resolve(&o);
    assert_string_equal("", said);
    assert_int_equal(GPUFL_ENGINE_TRACE, o.profiling_engine);
    assert_int_equal(250, o.system_sample_rate_ms);
    assert_int_equal(7, o.remote_version);
    assert_string_equal("prod", o.remote_config_name);
    assert_string_equal("prod", o.remote_name);
    assert_int_equal(SOURCE_REMOTE_CONFIG, o.source[OPT_profiling_engine]);
    assert_string_equal("remote_config", option_sources[SOURCE_REMOTE_CONFIG]);
    options_free(&o);
}

TEST(test_the_configuration_of_the_host_is_reported_by_its_own_name)
{
    struct options o;
    put("@host.json", "{\"name\":\"@host\",\"config\":\"prod\",\"version\":7,\"options\":"
                      "{\"system_sample_rate_ms\":250}}");
    setenv("GPUFL_REMOTE_CONFIG", "@host", 1);
    resolve(&o);
    assert_string_equal("", said);
    assert_int_equal(250, o.system_sample_rate_ms);
    assert_int_equal(7, o.remote_version);
    assert_string_equal("prod", o.remote_name);
    options_free(&o);
}

TEST(test_config_file_and_environment_go_above)
{
    struct options o;
    char path[512];
    put("prod.json", "{\"name\":\"prod\",\"version\":1,\"options\":{\"profiling_engine\":\"Trace\","
                     "\"system_sample_rate_ms\":250,\"flush_interval_ms\":300}}");
    put("local.json",
        "{\"remote_config_name\":\"prod\",\"system_sample_rate_ms\":500,\"flush_interval_ms\":"
        "400}");
    snprintf(path, sizeof path, "%s/local.json", tmpdir);
    setenv("GPUFL_CONFIG_FILE", path, 1);
    setenv("GPUFL_SYSTEM_SAMPLE_RATE_MS", "750", 1);
    resolve(&o);
    assert_string_equal("", said);
    assert_int_equal(GPUFL_ENGINE_TRACE, o.profiling_engine); /* from the configuration */
    assert_int_equal(400, o.flush_interval_ms);               /* from the file */
    assert_int_equal(750, o.system_sample_rate_ms);           /* from the environment */
    assert_int_equal(1, o.remote_version);
    options_free(&o);
}

TEST(test_places_and_keys_of_the_host_are_not_taken)
{
    struct options o;
    put("evil.json",
        "{\"name\":\"evil\",\"version\":1,\"options\":{\"log_path\":\"/etc\","
        "\"backend_url\":\"http://elsewhere\",\"api_key\":\"x\",\"config_file\":\"/etc/passwd\","
        "\"flush_interval_ms\":300}}");
    setenv("GPUFL_REMOTE_CONFIG", "evil", 1);
    resolve(&o);
    assert_string_equal("gpufl", o.log_path);
    assert_string_equal("", o.backend_url);
    assert_string_equal("", o.api_key);
    assert_string_equal("", o.config_file);
    assert_int_equal(300, o.flush_interval_ms);
    assert_non_null(strstr(said, "log_path can be set on this host only"));
    assert_non_null(strstr(said, "api_key can be set on this host only"));
    assert_non_null(strstr(said, "config_file can be set on this host only"));
    options_free(&o);
}

/* Checks that no option of the configuration counts, and that the sentence says why. */
static void expect_nothing(const char *name, const char *sentence)
{
    struct options o;
    said[0] = '\0';
    setenv("GPUFL_REMOTE_CONFIG", name, 1);
    resolve(&o);
    if (!strstr(said, sentence))
        fail_msg("'%s' is not in '%s'", sentence, said);
    assert_int_equal(200, o.flush_interval_ms);
    assert_int_equal(0, o.remote_version);
    options_free(&o);
}

TEST(test_what_is_no_configuration_costs_one_sentence)
{
    char path[512];
    put("half.json", "{\"name\":\"half\",\"version\":1,\"options\":{\"flush_interval_ms\":300}");
    put("other.json", "{\"name\":\"prod\",\"version\":1,\"options\":{\"flush_interval_ms\":300}}");
    put("bare.json", "{\"flush_interval_ms\":300}");
    put("open.json", "{\"name\":\"open\",\"version\":1,\"options\":{\"flush_interval_ms\":300}}");
    snprintf(path, sizeof path, "%s/open.json", tmpdir);
    chmod(path, 0666);
    expect_nothing("half", "damaged");
    expect_nothing("other", "damaged");
    expect_nothing("bare", "damaged");
    expect_nothing("open", "everybody may write");
    expect_nothing("none", "does not exist: is there such a configuration");
    expect_nothing("@host", "does not exist: was a configuration assigned to this host");
    put("@host.json", "{\"name\":\"@host\",\"version\":1,\"options\":{\"flush_interval_ms\":300}}");
    expect_nothing("@host", "damaged"); /* it has no configuration's name */
    expect_nothing("@other", "no name of a configuration");
    expect_nothing("../half", "no name of a configuration");
    expect_nothing(".half", "no name of a configuration");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_configuration_is_read_and_its_version_kept),
        CASE(test_the_configuration_of_the_host_is_reported_by_its_own_name),
        CASE(test_config_file_and_environment_go_above),
        CASE(test_places_and_keys_of_the_host_are_not_taken),
        CASE(test_what_is_no_configuration_costs_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
