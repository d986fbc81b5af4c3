/* Options: which source takes precedence, one sentence for each mistake, the rules between
 * options, and docs/options.md against the table.
 *
 * GPUFL_WRITE_DOCS=1 writes docs/options.md again. */
#include "capture/options/options.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/engine.h"

#include "tests/unit/support/document.h"

static struct {
    int count;
    enum severity severity;
    char code[64], text[768]; /* of the last message */
    char all[4096];
} said;

static void receive(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg;
    said.count++;
    said.severity = severity;
    snprintf(said.code, sizeof said.code, "%s", code);
    snprintf(said.text, sizeof said.text, "%s", text);
    size_t len = strlen(said.all);
    snprintf(said.all + len, sizeof said.all - len, "%s\n", text);
}

static const struct options_say say = {.fn = receive};

static void forget_environment(void)
{
    char name[80];
    for (int i = 0; i < OPT_COUNT; i++) {
        snprintf(name, sizeof name, "GPUFL_%s", option_table[i].name);
        for (char *c = name; *c; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
        unsetenv(name);
    }
    unsetenv(OPTIONS_TRACE_VARIABLE);
    unsetenv(OPTIONS_DISABLE_VARIABLE);
    unsetenv("GPUFL_PROFILING_ENGIN");
    memset(&said, 0, sizeof said);
}

static int setup(void **state)
{
    forget_environment();
    return tmpdir_open(state);
}

static struct gpufl_options code_defaults(void)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    return o;
}

TEST(test_defaults)
{
    struct options o;
    struct gpufl_options code = code_defaults();
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_string_equal(o.app_name, "gpufl");
    assert_string_equal(o.log_path, "gpufl");
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    assert_int_equal(o.log_rotate_bytes, 67108864);
    assert_true(o.enabled && o.enable_synchronization && !o.enable_memory_tracking);
    for (int i = 0; i < OPT_COUNT; i++)
        assert_int_equal(o.source[i], SOURCE_DEFAULT);
    assert_int_equal(said.count, 0);
    options_free(&o);
}

TEST(test_precedence)
{
    struct options o;
    struct gpufl_options code = code_defaults();
    static const char config[] =
        "{\"app_name\":\"from file\",\"system_sample_rate_ms\":11,\"flush_interval_ms\":\"20\","
        "\"enable_memory_tracking\":true,\"log_rotate_bytes\":\"1M\",\"backend\":\"none\"}";
    const char *path = tmpdir_write("options.json", config, sizeof config - 1);
    setenv("GPUFL_CONFIG_FILE", path, 1);
    setenv("GPUFL_SYSTEM_SAMPLE_RATE_MS", "22", 1);
    setenv("GPUFL_BACKEND", "sim", 1);
    setenv("GPUFL_ENABLE_MEMORY_TRACKING", "no", 1);
    code.backend = GPUFL_BACKEND_NVIDIA;
    code.profiling_engine = GPUFL_ENGINE_DEEP;
    setenv(OPTIONS_TRACE_VARIABLE, "profiling_engine=Trace\n?app_name=run\nrun_id=r1\n", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_string_equal(o.app_name, "from file");
    assert_int_equal(o.source[OPT_app_name], SOURCE_CONFIG_FILE);
    assert_int_equal(o.flush_interval_ms, 20);
    assert_int_equal(o.log_rotate_bytes, 1 << 20);
    assert_int_equal(o.system_sample_rate_ms, 22);
    assert_int_equal(o.source[OPT_system_sample_rate_ms], SOURCE_ENVIRONMENT);
    assert_false(o.enable_memory_tracking);
    assert_int_equal(o.source[OPT_enable_memory_tracking], SOURCE_ENVIRONMENT);
    assert_int_equal(o.backend, GPUFL_BACKEND_NVIDIA);
    assert_int_equal(o.source[OPT_backend], SOURCE_CODE);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_TRACE);
    assert_int_equal(o.source[OPT_profiling_engine], SOURCE_TRACE);
    assert_string_equal(o.run_id, "r1");
    assert_true(o.traced);
    assert_int_equal(said.count, 0);
    options_free(&o);
}

TEST(test_options_without_a_field_from_code)
{
    struct options o;
    static const char *const others[] = {
        "windows=true", "flush_interval_ms=20", "flush_interval_ms=30",  "log_rotate_bytes=1M",
        "idle_stack=1", "app_name=field",       "window_rest_ms=before", NULL};
    struct gpufl_options code = code_defaults();
    code.others = others;
    setenv("GPUFL_FLUSH_INTERVAL_MS", "40", 1);
    setenv(OPTIONS_TRACE_VARIABLE, "log_rotate_bytes=2M", 1);
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_true(o.windows);
    assert_int_equal(o.source[OPT_windows], SOURCE_CODE);
    assert_int_equal(o.flush_interval_ms, 30); /* the last counts, and beats the environment */
    assert_int_equal(o.log_rotate_bytes, 2 << 20);
    assert_string_not_equal(o.app_name, "field");
    assert_int_equal(said.count, 3);
    assert_non_null(strstr(said.all, "'idle_stack=1' given to gpufl_init: there is no such option; "
                                     "did you mean idle_stacks?"));
    assert_non_null(
        strstr(said.all, "'app_name=field' given to gpufl_init: this option is a field"));
    assert_non_null(
        strstr(said.all, "window_rest_ms given to gpufl_init: 'before' is not possible"));
    options_free(&o);
    forget_environment();
    code.size = offsetof(struct gpufl_options, others); /* a program from before the field */
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_false(o.windows);
    assert_int_equal(said.count, 0);
    options_free(&o);
}

static void expect_said(const char *code, const char *part)
{
    if (said.count != 1 || !strstr(said.text, part))
        print_error("said %d: %s\n", said.count, said.all);
    assert_int_equal(said.count, 1);
    assert_string_equal(said.code, code);
    assert_non_null(strstr(said.text, part));
}

static void resolve_environment(const char *variable, const char *value, struct options *o)
{
    forget_environment();
    setenv(variable, value, 1);
    assert_int_equal(options_resolve(o, NULL, false, &say), 0);
}

TEST(test_bad_values)
{
    struct options o;
    resolve_environment("GPUFL_PROFILING_ENGINE", "Trce", &o);
    expect_said("bad_option_value", "GPUFL_PROFILING_ENGINE: 'Trce'");
    assert_non_null(strstr(said.text, "did you mean Trace?"));
    assert_non_null(strstr(said.text, "Monitor, Trace, PcSampling"));
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    options_free(&o);
    resolve_environment("GPUFL_BACKEND", "cuda", &o);
    expect_said("bad_option_value", "Auto, Nvidia, Amd, None or Sim");
    options_free(&o);
    resolve_environment("GPUFL_ENABLED", "maybe", &o);
    expect_said("bad_option_value", "true or false");
    assert_true(o.enabled);
    options_free(&o);
    resolve_environment("GPUFL_FLUSH_INTERVAL_MS", "5", &o);
    expect_said("bad_option_value", "from 10 to 10000");
    assert_int_equal(o.flush_interval_ms, 200);
    options_free(&o);
    resolve_environment("GPUFL_SYSTEM_SAMPLE_RATE_MS", "-1", &o);
    expect_said("bad_option_value", "GPUFL_SYSTEM_SAMPLE_RATE_MS");
    options_free(&o);
    resolve_environment("GPUFL_PROFILING_ENGIN", "Trace", &o);
    expect_said("unknown_option", "did you mean GPUFL_PROFILING_ENGINE?");
    options_free(&o);
    resolve_environment("GPUFL_WINDOW_EVERY_MS", "1000", &o);
    expect_said("bad_option_value", "needs window_for_ms");
    assert_int_equal(o.window_every_ms, 0);
    options_free(&o);
    resolve_environment("GPUFL_LOG_FORMAT", "xml", &o);
    expect_said("bad_option_value", "native or gpuflight");
    assert_string_equal(o.log_format, "native");
    options_free(&o);
}

TEST(test_bad_value_leaves_the_source_below)
{
    struct options o;
    struct gpufl_options code = code_defaults();
    setenv("GPUFL_SYSTEM_SAMPLE_RATE_MS", "50", 1);
    code.system_sample_rate_ms = -3;
    code.profiling_engine = (enum gpufl_engine)77;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_int_equal(said.count, 2);
    assert_int_equal(o.system_sample_rate_ms, 50);
    assert_int_equal(o.source[OPT_system_sample_rate_ms], SOURCE_ENVIRONMENT);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    options_free(&o);
}

static void resolve_config(const char *text, struct options *o)
{
    forget_environment();
    setenv("GPUFL_CONFIG_FILE", tmpdir_write("c.json", text, strlen(text)), 1);
    assert_int_equal(options_resolve(o, NULL, false, &say), 0);
}

TEST(test_config_file)
{
    struct options o;
    resolve_config("{\"sampling_auto_start\":true,\"system_sample_rate_ms\":5}", &o);
    expect_said("deprecated_option", "continuous_system_sampling");
    assert_true(o.continuous_system_sampling);
    assert_int_equal(o.system_sample_rate_ms, 5);
    options_free(&o);
    resolve_config("{\"app_nam\":\"x\",\"enabled\":null}", &o);
    expect_said("unknown_option", "did you mean app_name?");
    options_free(&o);
    resolve_config("{\"app_name\":{\"a\":[1,2]},\"run_id\":\"r\"}", &o);
    expect_said("bad_option_value", "neither text, number nor boolean");
    assert_string_equal(o.run_id, "r");
    options_free(&o);
    resolve_config("{\"run_id\":\"r\",\"app_name\":", &o);
    expect_said("bad_config_file", "not valid JSON");
    assert_string_equal(o.run_id, "r");
    options_free(&o);
    resolve_config("[1]", &o);
    expect_said("bad_config_file", "one JSON object");
    options_free(&o);
    forget_environment();
    setenv("GPUFL_CONFIG_FILE", tmpdir_path("none.json"), 1);
    assert_int_equal(options_resolve(&o, NULL, false, &say), 0);
    expect_said("bad_config_file", "none.json");
    options_free(&o);
}

TEST(test_rules)
{
    struct options o;
    struct gpufl_options code = code_defaults();
    code.continuous_system_sampling = true;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    expect_said("sampling_interval", "every 1000 ms");
    assert_int_equal(o.system_sample_rate_ms, 1000);
    options_free(&o);

    forget_environment();
    code = code_defaults();
    code.enable_stack_trace = true;
    code.profiling_engine = GPUFL_ENGINE_MONITOR;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    expect_said("engine_lacks", "enable_stack_trace needs Sync or Trace");
    options_free(&o);

    forget_environment();
    setenv("GPUFL_IDLE_STACKS", "true", 1);
    code.enable_stack_trace = false;
    code.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    expect_said("idle_stacks", "idle_stacks needs enable_stack_trace");
    options_free(&o);

    forget_environment();
    code = code_defaults();
    code.remote_upload = true;
    code.app_name = "a/b";
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    expect_said("deprecated_option", "gpufl_upload_logs");
    assert_string_equal(o.log_path, "a_b");
    options_free(&o);

    forget_environment();
    code = code_defaults();
    code.log_path = "dir/run.log";
    code.app_name = NULL;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_string_equal(o.log_path, "dir/run");
    options_free(&o);
}

/* A session begins with short flush intervals, unless only longer ones are set. */
TEST(test_first_flush)
{
    static const struct {
        const char *interval, *first; /* NULL: not given */
        int64_t gives;
    } cases[] = {{NULL, NULL, 5},   {"100", NULL, 5}, {"200", NULL, 5}, {"201", NULL, 0},
                 {"500", "20", 20}, {NULL, "0", 0},   {"500", "10", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options o;
        forget_environment();
        if (cases[i].interval)
            setenv("GPUFL_FLUSH_INTERVAL_MS", cases[i].interval, 1);
        if (cases[i].first)
            setenv("GPUFL_FLUSH_FIRST_MS", cases[i].first, 1);
        assert_int_equal(options_resolve(&o, NULL, false, &say), 0);
        assert_int_equal(o.flush_first_ms, cases[i].gives);
        options_free(&o);
    }
}

TEST(test_injected_defaults)
{
    struct options o;
    assert_int_equal(options_resolve(&o, NULL, true, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_TRACE);
    assert_string_equal(o.app_name, "test-unit-capture-options");
    assert_string_equal(o.log_path, "test-unit-capture-options");
    options_free(&o);
    setenv("GPUFL_PROFILING_ENGINE", "monitor", 1);
    assert_int_equal(options_resolve(&o, NULL, true, &say), 0);
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    options_free(&o);
}

TEST(test_secret_is_not_reported)
{
    struct options o;
    char text[64];
    setenv("GPUFL_API_KEY", "gpfl_secret", 1);
    setenv("GPUFL_BACKEND_URL", "https://x", 1);
    assert_int_equal(options_resolve(&o, NULL, false, &say), 0);
    options_text(&o, OPT_api_key, text, sizeof text);
    assert_string_equal(text, "set");
    options_text(&o, OPT_backend_url, text, sizeof text);
    assert_string_equal(text, "https://x");
    options_text(&o, OPT_profiling_engine, text, sizeof text);
    assert_string_equal(text, "Monitor");
    options_free(&o);
}

TEST(test_disabled)
{
    static const char *const yes[] = {"1", "true", "TRUE", "Yes", "on"};
    static const char *const no[] = {"0", "false", "", "2", "off"};
    assert_false(options_disabled());
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        setenv(OPTIONS_DISABLE_VARIABLE, yes[i], 1);
        assert_true(options_disabled());
        setenv(OPTIONS_DISABLE_VARIABLE, no[i], 1);
        assert_false(options_disabled());
    }
}

TEST(test_sizes)
{
    struct options o;
    struct gpufl_options code = code_defaults();
    code.size = 3;
    assert_int_equal(options_resolve(&o, &code, false, &say), GPUFL_E_INVAL);
    options_free(&o);
    /* The struct of an older caller ends before `backend`. */
    code = code_defaults();
    code.size = offsetof(struct gpufl_options, backend);
    code.app_name = "old";
    code.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_int_equal(options_resolve(&o, &code, false, &say), 0);
    assert_string_equal(o.app_name, "old");
    assert_int_equal(o.profiling_engine, GPUFL_ENGINE_MONITOR);
    options_free(&o);
}

/* The duration has to fit in ns, too. */
TEST(test_longest_duration)
{
    struct options o;
    setenv("GPUFL_DURATION_MS", "9223372036854775807", 1);
    assert_int_equal(options_resolve(&o, NULL, false, &say), 0);
    assert_string_equal(said.code, "bad_option_value");
    assert_int_equal(o.duration_ms, 0);
    options_free(&o);
    setenv("GPUFL_DURATION_MS", "3153600000000", 1);
    assert_int_equal(options_resolve(&o, NULL, false, &say), 0);
    assert_true(o.duration_ms == 3153600000000);
    options_free(&o);
}

TEST(test_no_memory)
{
    struct options o;
    static const char config[] = "{\"app_name\":\"x\"}";
    setenv("GPUFL_CONFIG_FILE", tmpdir_write("m.json", config, sizeof config - 1), 1);
    setenv("GPUFL_RUN_ID", "r", 1);
    setenv(OPTIONS_TRACE_VARIABLE, "log_path=y", 1);
    int rc = GPUFL_E_NOMEM;
    for (int n = 0; rc; n++) {
        mem_fail_at(n);
        rc = options_resolve(&o, NULL, true, &say);
        mem_fail_at(-1);
        assert_true(rc == 0 || rc == GPUFL_E_NOMEM);
        options_free(&o);
        assert_true(n < 1000);
    }
}

/* ---- docs/options.md ------------------------------------------------------------------------- */

static const char *kind_text(const struct option *o)
{
    static char names[256];
    switch (o->kind) {
    case OPTION_BOOL:
        return "true, false";
    case OPTION_INT:
        return strcmp(o->unit, "bytes") == 0 ? "bytes, also 64M, 4G" : "number";
    case OPTION_BACKEND:
    case OPTION_ENGINE:
        option_allowed((enum option_id)(o - option_table), names, sizeof names);
        return names;
    case OPTION_STR:
        break;
    }
    return *o->unit ? o->unit : "text";
}

static void put_row(struct buf *b, const struct option *o)
{
    buf_printf(b, "| `%s` | `GPUFL_", o->name);
    for (const char *c = o->name; *c; c++)
        buf_char(b, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    buf_printf(b, "` | %s | %s%s%s | %s |\n", kind_text(o), *o->fallback ? "`" : "",
               *o->fallback ? o->fallback : "empty", *o->fallback ? "`" : "", o->doc);
}

static void put_table(struct buf *b, bool field)
{
    buf_str(b, "| option | environment | values | default | |\n|---|---|---|---|---|\n");
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].field == field)
            put_row(b, &option_table[i]);
}

static const char document_head[] =
    "# Options\n\n"
    "<!-- Generated from schema/options.def by the test unit.capture.options with\n"
    "     GPUFL_WRITE_DOCS=1; the same test fails where this file differs. -->\n\n"
    "Every option of the capture library. An option takes its value from the highest of these\n"
    "sources that has a valid one:\n"
    "\n"
    "1. the flags of `gpufl trace` (`--option NAME=VALUE` for an option without a flag)\n"
    "2. `GPUFL_FORCE_ENGINE`, for `profiling_engine` alone: lowers a program that sets `Deep` "
    "in its code\n"
    "3. a value set in code\n"
    "4. the environment: `GPUFL_` and the name in capitals\n"
    "5. the JSON object in `config_file`\n"
    "6. the server's configuration that `remote_config_name` (`GPUFL_REMOTE_CONFIG`) names, as the "
    "agent of this host keeps it\n"
    "7. what `gpufl trace` does by itself: `Trace`, a new directory, the command's name, a "
    "sample every 100 ms\n"
    "8. the default\n"
    "\n"
    "A value counts as set in code if it differs from the default, if it is a "
    "`profiling_engine`\n"
    "other than `GPUFL_ENGINE_DEFAULT`, and if `gpufl_options_set` (`GPUFL_OPTIONS_SET`) "
    "names the\n"
    "field. In C++ every assigned field of `InitOptions` counts; a text counts if it "
    "differs from its\n"
    "default. Under `gpufl trace` the session is written to the code's `log_path`, and the "
    "run's directory\n"
    "has a link to it. A program that uses the GPU before it calls `gpufl_init` begins its "
    "session without\n"
    "the code's values; `gpufl_init` says which values those are.\n"
    "\n"
    "`GPUFL_DISABLED=1` (also `true`, `yes`, `on`) comes before all sources: nothing is "
    "loaded, and\n"
    "`gpufl_upload_logs` sends nothing, as with `enabled=false`. An invalid value is reported "
    "on\n"
    "stderr in one sentence, and the next source counts. In a program into which the library is "
    "injected,\n"
    "`profiling_engine` defaults to `Trace` and `app_name` to the program's name. If\n"
    "`enable_stack_trace` is set and no source names an engine, the engine is `Sync` (`Trace` "
    "with\n"
    "`launch_stacks`). The library says once what was requested and the engine cannot "
    "record. The\n"
    "session records the value and the source of every option.\n"
    "\n"
    "An option without a field counts as set in code where `others` of `struct gpufl_options` has\n"
    "it as `name=value`; in Python every option is a keyword of `gpufl.init`.\n"
    "\n"
    "## Fields of `gpufl::InitOptions` and `struct gpufl_options`\n"
    "\n";
static const char document_without_field[] =
    "\n## Without a field: environment, config file and `gpufl trace` only\n\n";
static const char document_tail[] =
    "\n"
    "## Detaching CUPTI between windows\n"
    "\n"
    "`window_detach` matters on NVIDIA's GPUs only. Without it CUPTI stays attached "
    "after the first\n"
    "window: a launch costs up to 0.7 us more, and a kernel under PcSampling 2 to 3 us "
    "more, also between\n"
    "windows.\n"
    "\n"
    "With it CUPTI is detached `window_rest_ms` after a window closed, at the program's "
    "next wait for the\n"
    "device. The next window then takes 10 to 300 ms to begin.\n"
    "\n"
    "Do not use it for programs with persistent kernels, or that drive several GPUs "
    "from one process.\n"
    "While CUPTI detaches, and while it attaches again, it waits for kernels that run, "
    "and other threads\n"
    "cannot launch meanwhile: where such a kernel waits for another thread's launch, "
    "both wait for ever.\n"
    "\n"
    "CUPTI is detached only once the program has made or destroyed no context, code, "
    "stream or graph for\n"
    "ten times as long as it ever paused between two of them, or for a minute. With "
    "SassMetrics CUPTI is\n"
    "always detached in programs with one context, because its windows wait for kernels "
    "anyway.\n";

static void put_document(struct buf *b)
{
    buf_str(b, document_head);
    put_table(b, true);
    buf_str(b, document_without_field);
    put_table(b, false);
    buf_str(b, document_tail);
}

/* An engine that slows kernels with one value of an option names them as the table has them, and
 * has a feature, by which a report knows that the engine ran. */
TEST(engines_name_options_that_exist)
{
    const char *near;
    int slow = 0, with_option = 0;
    for (const struct engine_row *r = engine_table; r->name; r++) {
        int id = r->slows_option ? option_find(r->slows_option, &near) : -1;
        slow += r->slows != NULL;
        with_option += id >= 0;
        assert_true(!r->slows || *r->feature);
        assert_int_equal(id >= 0, r->slows_option != NULL);
        assert_int_equal(r->slows_value != NULL, r->slows_option != NULL);
        assert_true(id < 0 ||
                    (r->slows && !option_check((enum option_id)id, r->slows_value, NULL)));
    }
    assert_int_equal(slow, 3);
    assert_int_equal(with_option, 1);
}

TEST(test_document)
{
    struct buf b;
    char *have;
    buf_init(&b, 1 << 20);
    put_document(&b);
    assert_int_equal(buf_error(&b), 0);
    if (getenv("GPUFL_WRITE_DOCS")) {
        FILE *f = fopen(document_path("options.md"), "w");
        assert_non_null(f);
        fwrite(b.data, 1, b.len, f);
        fclose(f);
    }
    document_read("options.md", &have);
    assert_string_equal(have, buf_cstr(&b));
    mem_free(have);
    buf_fini(&b);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_defaults),          CASE(test_precedence),
        CASE(test_bad_values),        CASE(test_bad_value_leaves_the_source_below),
        CASE(test_config_file),       CASE(test_rules),
        CASE(test_first_flush),       CASE(test_secret_is_not_reported),
        CASE(test_injected_defaults), CASE(engines_name_options_that_exist),
        CASE(test_disabled),          CASE(test_sizes),
        CASE(test_longest_duration),  CASE(test_no_memory),
        CASE(test_document),          CASE(test_options_without_a_field_from_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
