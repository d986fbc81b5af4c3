/* test_precedence.c - which source an option takes its value from: the order of all sources, with
 * and without `gpufl trace`; which values of the code count as set; the default engine. */
#include "capture/options/options.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[4096];

static void receive(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity;
    size_t len = strlen(said);
    snprintf(said + len, sizeof said - len, "%s: %s\n", code, text);
}

static const struct options_say say = {.fn = receive};

static const char *const variables[] = {
    "GPUFL_TRACE_OPTIONS",         "GPUFL_FORCE_ENGINE",      "GPUFL_CONFIG_FILE",
    "GPUFL_PROFILING_ENGINE",      "GPUFL_APP_NAME",          "GPUFL_LOG_PATH",
    "GPUFL_SYSTEM_SAMPLE_RATE_MS", "GPUFL_ENABLE_STACK_TRACE"};

static void forget(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    said[0] = '\0';
}

static int setup(void **state)
{
    forget();
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    forget();
    return tmpdir_close(state);
}

/* The value that each source gives an option; NULL: none. */
struct sources {
    const char *name; /* the option's */
    const char *trace_default, *file, *environment, *code, *forced, *flags;
    const char *wanted; /* as written in the log */
    enum option_source source;
};

static void set_variable(const char *option, const char *value)
{
    char name[80];
    snprintf(name, sizeof name, "GPUFL_%s", option);
    for (char *c = name; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    setenv(name, value, 1);
}

static void set_code(struct gpufl_options *code, const char *name, const char *value)
{
    if (strcmp(name, "profiling_engine") == 0) {
        for (int i = 0; option_engines[i]; i++)
            if (strcmp(option_engines[i], value) == 0)
                code->profiling_engine = (enum gpufl_engine)i;
    } else if (strcmp(name, "app_name") == 0) {
        code->app_name = value;
    } else if (strcmp(name, "log_path") == 0) {
        code->log_path = value;
    } else {
        GPUFL_OPTIONS_SET(code, system_sample_rate_ms, atoi(value));
    }
}

static void check(const struct sources *s, size_t row)
{
    struct gpufl_options code;
    struct options o;
    char text[512];
    int id = option_find(s->name, &(const char *){NULL});
    forget();
    gpufl_options_init(&code, sizeof code);
    snprintf(text, sizeof text, "run_id=r\n%s%s%s%s%s%s%s%s", s->trace_default ? "?" : "",
             s->trace_default ? s->name : "", s->trace_default ? "=" : "",
             s->trace_default ? s->trace_default : "", s->flags ? "\n" : "",
             s->flags ? s->name : "", s->flags ? "=" : "", s->flags ? s->flags : "");
    if (s->trace_default)
        setenv("GPUFL_TRACE_OPTIONS", text, 1);
    if (s->file) {
        snprintf(text, sizeof text, "{\"%s\":\"%s\"}", s->name, s->file);
        setenv("GPUFL_CONFIG_FILE", tmpdir_write("o.json", text, strlen(text)), 1);
    }
    if (s->environment)
        set_variable(s->name, s->environment);
    if (s->forced)
        setenv("GPUFL_FORCE_ENGINE", s->forced, 1);
    if (s->code)
        set_code(&code, s->name, s->code);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    options_text(&o, (enum option_id)id, text, sizeof text);
    if (strcmp(text, s->wanted) != 0 || o.source[id] != s->source)
        fail_msg("row %zu, %s: %s from %s, not %s from %s", row, s->name, text,
                 option_sources[o.source[id]], s->wanted, option_sources[s->source]);
    assert_string_equal(said, "");
    options_free(&o);
}

/* Every source counts alone, and against all those below it. trace_default is NULL if `gpufl trace`
 * did not start the program. */
TEST(test_every_source)
{
    static const struct sources rows[] = {
#define ENGINE "profiling_engine"
        {ENGINE, NULL, NULL, NULL, NULL, NULL, NULL, "Monitor", SOURCE_DEFAULT},
        {ENGINE, NULL, "Sync", NULL, NULL, NULL, NULL, "Sync", SOURCE_CONFIG_FILE},
        {ENGINE, NULL, "Sync", "Deep", NULL, NULL, NULL, "Deep", SOURCE_ENVIRONMENT},
        {ENGINE, NULL, "Sync", "Deep", "Monitor", NULL, NULL, "Monitor", SOURCE_CODE},
        {ENGINE, NULL, "Sync", "Trace", "Deep", "PcSampling", NULL, "PcSampling", SOURCE_FORCED},
        {ENGINE, NULL, NULL, NULL, "Deep", "Monitor", NULL, "Monitor", SOURCE_FORCED},
        {ENGINE, "Trace", NULL, NULL, NULL, NULL, NULL, "Trace", SOURCE_TRACE_DEFAULT},
        {ENGINE, "Trace", "Sync", NULL, NULL, NULL, NULL, "Sync", SOURCE_CONFIG_FILE},
        {ENGINE, "Trace", "Sync", "Deep", NULL, NULL, NULL, "Deep", SOURCE_ENVIRONMENT},
        {ENGINE, "Trace", NULL, NULL, "Monitor", NULL, NULL, "Monitor", SOURCE_CODE},
        {ENGINE, "Trace", "Sync", "Deep", "Monitor", NULL, NULL, "Monitor", SOURCE_CODE},
        {ENGINE, "Trace", "Sync", "Trace", "Deep", "PcSampling", NULL, "PcSampling", SOURCE_FORCED},
        {ENGINE, "Trace", "Sync", "Trace", "Deep", "PcSampling", "Sync", "Sync", SOURCE_TRACE},
#define NAME "app_name"
        {NAME, NULL, NULL, NULL, NULL, NULL, NULL, "gpufl", SOURCE_DEFAULT},
        {NAME, NULL, "file", NULL, NULL, NULL, NULL, "file", SOURCE_CONFIG_FILE},
        {NAME, NULL, "file", "env", NULL, NULL, NULL, "env", SOURCE_ENVIRONMENT},
        {NAME, NULL, "file", "env", "code", NULL, NULL, "code", SOURCE_CODE},
        {NAME, "run", NULL, NULL, NULL, NULL, NULL, "run", SOURCE_TRACE_DEFAULT},
        {NAME, "run", "file", NULL, NULL, NULL, NULL, "file", SOURCE_CONFIG_FILE},
        {NAME, "run", "file", "env", NULL, NULL, NULL, "env", SOURCE_ENVIRONMENT},
        {NAME, "run", "file", "env", "code", NULL, NULL, "code", SOURCE_CODE},
        {NAME, "run", "file", "env", "code", NULL, "flag", "flag", SOURCE_TRACE},
#define LOG "log_path"
        {LOG, NULL, "/file", NULL, NULL, NULL, NULL, "/file", SOURCE_CONFIG_FILE},
        {LOG, NULL, "/file", "/env", NULL, NULL, NULL, "/env", SOURCE_ENVIRONMENT},
        {LOG, NULL, "/file", "/env", "/code", NULL, NULL, "/code", SOURCE_CODE},
        {LOG, "/run", NULL, NULL, NULL, NULL, NULL, "/run", SOURCE_TRACE_DEFAULT},
        {LOG, "/run", "/file", NULL, NULL, NULL, NULL, "/file", SOURCE_CONFIG_FILE},
        {LOG, "/run", "/file", "/env", NULL, NULL, NULL, "/env", SOURCE_ENVIRONMENT},
        {LOG, "/run", "/file", "/env", "/code", NULL, NULL, "/code", SOURCE_CODE},
        {LOG, "/run", "/file", "/env", "/code", NULL, "/flag", "/flag", SOURCE_TRACE},
#define RATE "system_sample_rate_ms"
        {RATE, NULL, NULL, NULL, NULL, NULL, NULL, "0", SOURCE_DEFAULT},
        {RATE, NULL, "11", NULL, NULL, NULL, NULL, "11", SOURCE_CONFIG_FILE},
        {RATE, NULL, "11", "22", NULL, NULL, NULL, "22", SOURCE_ENVIRONMENT},
        {RATE, NULL, "11", "22", "0", NULL, NULL, "0", SOURCE_CODE},
        {RATE, "100", NULL, NULL, NULL, NULL, NULL, "100", SOURCE_TRACE_DEFAULT},
        {RATE, "100", "11", NULL, NULL, NULL, NULL, "11", SOURCE_CONFIG_FILE},
        {RATE, "100", "11", "22", NULL, NULL, NULL, "22", SOURCE_ENVIRONMENT},
        {RATE, "100", "11", "22", "0", NULL, NULL, "0", SOURCE_CODE},
        {RATE, "100", "11", "22", "33", NULL, "44", "44", SOURCE_TRACE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i], i);
}

/* A field with its default value counts only if the code marks it as set. */
TEST(test_set_in_code)
{
    struct gpufl_options code;
    struct options o;
    setenv("GPUFL_ENABLE_STACK_TRACE", "true", 1);
    setenv("GPUFL_PROFILING_ENGINE", "Trace", 1);
    gpufl_options_init(&code, sizeof code);
    assert_int_equal(code.profiling_engine, GPUFL_ENGINE_DEFAULT);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_true(o.enable_stack_trace);
    assert_false(option_asked(&o, OPT_enable_external_correlation));
    options_free(&o);
    GPUFL_OPTIONS_SET(&code, enable_stack_trace, false);
    GPUFL_OPTIONS_SET(&code, enable_external_correlation, true);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_false(o.enable_stack_trace);
    assert_true(option_asked(&o, OPT_enable_external_correlation));
    assert_int_equal(o.source[OPT_enable_external_correlation], SOURCE_CODE);
    options_free(&o);
    assert_int_equal(gpufl_options_set(&code, "run_id"), GPUFL_E_INVAL); /* no field */
    assert_int_equal(gpufl_options_set(&code, "nothing"), GPUFL_E_INVAL);
    assert_int_equal(gpufl_options_set(NULL, "enabled"), GPUFL_E_INVAL);
}

/* If a program was built before the field `set` existed, Monitor means that it sets no engine. */
TEST(test_older_program)
{
    struct gpufl_options code;
    struct options o;
    gpufl_options_init(&code, offsetof(struct gpufl_options, set));
    assert_int_equal(code.profiling_engine, GPUFL_ENGINE_MONITOR);
    assert_int_equal(gpufl_options_set(&code, "enabled"), GPUFL_E_INVAL);
    setenv("GPUFL_PROFILING_ENGINE", "Deep", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_DEEP);
    options_free(&o);
    code.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_TRACE);
    options_free(&o);
    assert_string_equal(said, "");
}

/* Stacks of waits need an engine that records waits. A named engine stays, and a message says what
 * it lacks. */
TEST(test_engine_for_stacks)
{
    struct gpufl_options code;
    struct options o;
    gpufl_options_init(&code, sizeof code);
    code.enable_stack_trace = true;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_SYNC);
    assert_non_null(strstr(said,
                           "default_engine: enable_stack_trace is set and profiling_engine is "
                           "not: engine Sync is used"));
    options_free(&o);
    forget();
    setenv("GPUFL_LAUNCH_STACKS", "1", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_TRACE);
    options_free(&o);
    unsetenv("GPUFL_LAUNCH_STACKS");
    forget();
    code.profiling_engine = GPUFL_ENGINE_MONITOR;
    code.enable_memory_tracking = true;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    assert_string_equal(said,
                        "engine_lacks: engine Monitor does not give all that is asked for: "
                        "enable_stack_trace needs Sync or Trace, enable_memory_tracking needs "
                        "Trace; set profiling_engine (GPUFL_PROFILING_ENGINE)\n");
    options_free(&o);
    forget();
    code.profiling_engine = GPUFL_ENGINE_SYNC;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_null(strstr(said, "enable_stack_trace"));
    assert_non_null(strstr(said, "enable_memory_tracking needs Trace"));
    options_free(&o);
    forget(); /* one of several passes: others may record it */
    setenv("GPUFL_TRACE_OPTIONS", "profiling_engine=Sync\npass=1\npasses=2", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_string_equal(said, "");
    options_free(&o);
}

/* `gpufl trace` samples by default; an interval of 0 turns only that default off. */
TEST(test_sampling_under_trace)
{
    struct gpufl_options code;
    struct options o;
    gpufl_options_init(&code, sizeof code);
    setenv("GPUFL_TRACE_OPTIONS",
           "?log_path=/run\n?continuous_system_sampling=true\n?system_sample_rate_ms=100", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_true(o.continuous_system_sampling);
    assert_int_equal(o.system_sample_rate_ms, 100);
    assert_string_equal(o.trace_dir, "/run");
    options_free(&o);
    setenv("GPUFL_SYSTEM_SAMPLE_RATE_MS", "0", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_false(o.continuous_system_sampling);
    assert_int_equal(o.system_sample_rate_ms, 0);
    options_free(&o);
    code.log_path = "/code";
    code.continuous_system_sampling = true;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_true(o.continuous_system_sampling);
    assert_int_equal(o.system_sample_rate_ms, 1000);
    assert_string_equal(o.log_path, "/code");
    assert_string_equal(o.trace_dir, "/run");
    options_free(&o);
}

/* Options of gpufl_init that a session lacks because it began before. */
TEST(test_missed)
{
    struct gpufl_options code;
    struct options o;
    char text[256];
    setenv("GPUFL_TRACE_OPTIONS", "?profiling_engine=Trace\napp_name=run", 1);
    assert_int_equal(options_resolve(&o, NULL, true, &say), 0);
    gpufl_options_init(&code, sizeof code);
    code.app_name = "code"; /* a flag takes precedence anyway */
    assert_false(options_missed(&o, &code, text, sizeof text));
    assert_string_equal(text, "");
    code.enable_memory_tracking = true;
    assert_false(options_missed(&o, &code, text, sizeof text));
    assert_string_equal(text, "enable_memory_tracking=true");
    code.profiling_engine = GPUFL_ENGINE_DEEP;
    assert_true(options_missed(&o, &code, text, sizeof text));
    assert_string_equal(text, "enable_memory_tracking=true, profiling_engine=Deep");
    code.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_false(options_missed(&o, &code, text, sizeof text));
    assert_false(options_missed(&o, NULL, text, sizeof text));
    options_free(&o);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_every_source),      CASE(test_set_in_code), CASE(test_older_program),
        CASE(test_engine_for_stacks), CASE(test_missed),      CASE(test_sampling_under_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
