/* A session through the public C functions: start, options in effect, end, what
 * is refused, and every allocation failing once. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "capture/session/session.h"
#include "tests/unit/support/tmpdir.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

static int lines_said;
static char last_said[1100];

static void receive(enum log_level level, const char *line)
{
    (void)level;
    lines_said++;
    snprintf(last_said, sizeof last_said, "%s", line);
}

static int setup(void **state)
{
    unsetenv("GPUFL_DISABLED");
    unsetenv("GPUFL_TRACE_OPTIONS");
    lines_said = 0;
    log_set_sink(receive);
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    log_set_sink(NULL);
    return tmpdir_close(state);
}

TEST(test_start_and_end)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    struct stat st;
    assert_int_equal(gpufl_init(&o), 0);
    assert_true(gpufl_active());
    assert_int_equal(strlen(gpufl_session_id()), 36);
    assert_int_equal(gpufl_session_id()[14], '4');
    assert_string_equal(session_only(tmpdir_path("logs")), gpufl_session_dir());
    assert_int_equal(stat(gpufl_session_dir(), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    gpufl_scope_end(gpufl_scope_begin("a", "tag"));
    gpufl_scope_end(gpufl_scope_begin_bench("b", NULL, 10, 3));
    gpufl_shutdown();
    assert_false(gpufl_active());
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "shutdown");
    assert_int_equal(log.ledger.final, 1);
    assert_int_equal(log.ledger.scopes_opened, 2);
    assert_int_equal(log.ledger.scopes_written, 2);
    assert_true(log.ledger.launches == CELL_NULL);
    assert_true(log.ledger.cost_stop >= 0);
    assert_int_equal(log.parts.rows[RECORD_scope], 2);
    assert_int_equal(log.parts.rows[RECORD_capability], 11);
    assert_true(log.clocks >= 2);
    assert_int_equal(lines_said, 0);
}

TEST(test_init_is_idempotent)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    char first[64];
    assert_int_equal(gpufl_init(&o), 0);
    snprintf(first, sizeof first, "%s", gpufl_session_id());
    assert_int_equal(gpufl_init(&o), 0);
    assert_int_equal(gpufl_init(NULL), 0);
    assert_string_equal(gpufl_session_id(), first);
    gpufl_shutdown();
    gpufl_shutdown();
    assert_string_equal(gpufl_session_id(), first);
    assert_int_equal(session_count(tmpdir_path("logs")), 1);
    assert_int_equal(gpufl_init(&o), 0); /* the process's second session */
    assert_string_not_equal(gpufl_session_id(), first);
    gpufl_scope_end(gpufl_scope_begin("again", NULL));
    gpufl_shutdown();
    struct session_log log;
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.ledger.scopes_opened, 1);
    assert_int_equal(log.ledger.scopes_written, 1);
}

TEST(test_calls_without_a_session)
{
    assert_false(gpufl_active());
    assert_int_equal(gpufl_scope_begin("x", NULL), 0);
    gpufl_scope_end(0);
    gpufl_scope_end(12345);
    assert_int_equal(gpufl_system_start("x"), GPUFL_E_STATE);
    assert_int_equal(gpufl_system_stop("x"), GPUFL_E_STATE);
    assert_int_equal(gpufl_bench_floor(true), GPUFL_E_STATE);
    assert_int_equal(gpufl_upload_logs(NULL), GPUFL_E_STATE);
    gpufl_shutdown();
}

TEST(test_disabled)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    setenv("GPUFL_DISABLED", "Yes", 1);
    assert_int_equal(gpufl_init(&o), GPUFL_E_STATE);
    assert_int_equal(InitializeInjection(), 1);
    assert_false(gpufl_active());
    unsetenv("GPUFL_DISABLED");
    o.enabled = false;
    assert_int_equal(gpufl_init(&o), GPUFL_E_STATE);
    assert_int_equal(session_count(tmpdir_path("logs")), 0);
    assert_int_equal(lines_said, 0);
}

/* If capture is switched off, whichever source does it, no old sessions are sent. */
TEST(test_disabled_sends_nothing)
{
    static const char script[] = "#!/bin/sh\n: > \"$MARK\"\nexit 2\n";
    const char *mark = tmpdir_path("asked"), *cli = tmpdir_write("cli", script, sizeof script - 1);
    static const char config[] = "{\"enabled\":false}";
    struct gpufl_upload_result r = {.size = sizeof r, .lines = 7, .message = "old"};
    struct gpufl_upload_options u = {.size = sizeof u, .log_path = tmpdir, .result = &r};
    static const char *const variables[] = {"GPUFL_DISABLED", "GPUFL_ENABLED", "GPUFL_CONFIG_FILE"};
    const char *const values[] = {"on", "false",
                                  tmpdir_write("off.json", config, sizeof config - 1)};
    assert_int_equal(chmod(cli, 0700), 0);
    setenv("GPUFL_CLI", cli, 1);
    setenv("MARK", mark, 1);
    for (size_t i = 0; i < 4; i++) {
        struct gpufl_options o = session_options(tmpdir_path("logs"));
        o.enabled = i < 3;
        if (i < 3)
            setenv(variables[i], values[i], 1);
        assert_int_equal(gpufl_init(&o), GPUFL_E_STATE);
        r.lines = 7;
        assert_int_equal(gpufl_upload_logs(&u), GPUFL_OK);
        assert_int_equal(r.lines, 0);
        assert_string_equal(r.message, "");
        assert_false(file_exists(mark));
        if (i < 3)
            unsetenv(variables[i]);
    }
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    assert_int_equal(gpufl_upload_logs(&u), GPUFL_E_IO); /* capture is on again, the command runs */
    assert_true(file_exists(mark));
    unsetenv("GPUFL_CLI");
}

/* Before a session the environment names the server; then the options of the session name it,
 * whatever the environment says later. */
TEST(test_the_server_that_uploads_go_to)
{
    static const char config[] = "{\"backend_url\":\"https://file.test\"}";
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    char url[64] = "old", cut[6];
    assert_int_equal(gpufl_backend_url(url, sizeof url), 0);
    assert_string_equal(url, "");
    setenv("GPUFL_CONFIG_FILE", tmpdir_write("server.json", config, sizeof config - 1), 1);
    assert_int_equal(gpufl_backend_url(url, sizeof url), strlen("https://file.test"));
    assert_string_equal(url, "https://file.test");
    assert_int_equal(gpufl_backend_url(NULL, 0), strlen(url));
    assert_int_equal(gpufl_backend_url(cut, sizeof cut), strlen(url));
    assert_string_equal(cut, "https");
    o.backend_url = "https://code.test";
    assert_int_equal(gpufl_init(&o), 0);
    unsetenv("GPUFL_CONFIG_FILE");
    gpufl_shutdown();
    (void)gpufl_backend_url(url, sizeof url);
    assert_string_equal(url, "https://code.test");
    setenv("GPUFL_DISABLED", "on", 1);
    assert_int_equal(gpufl_backend_url(url, sizeof url), 0);
    assert_string_equal(url, "");
    unsetenv("GPUFL_DISABLED");
}

static char debug_lines[8192];

static void receive_debug(enum log_level level, const char *line)
{
    size_t n = strlen(debug_lines);
    if (level == LOG_DEBUG)
        snprintf(debug_lines + n, sizeof debug_lines - n, "%s\n", line);
}

/* The debug output has a line for the probe, the engine, each file, and the losses. */
TEST(test_debug_output)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    char wanted[PATH_MAX + 64];
    o.enable_debug_output = true;
    o.enable_stack_trace = true;
    debug_lines[0] = '\0';
    log_set_sink(receive_debug);
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_scope_end(gpufl_scope_begin("a", NULL));
    gpufl_shutdown();
    log_set_debug(false);
    assert_non_null(strstr(debug_lines, "debug: probe: backend none is named"));
    assert_non_null(strstr(debug_lines, "debug: engine: Monitor, asked for Sync (default)"));
    assert_non_null(strstr(debug_lines, "debug: loss: none"));
    static const char *const channels[] = {"scope", "system"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(wanted, sizeof wanted, "debug: file: %s/%s.log\n", gpufl_session_dir(),
                 channels[i]);
        assert_non_null(strstr(debug_lines, wanted));
    }
}

TEST(test_directory_that_cannot_be_made)
{
    struct gpufl_options o = session_options(tmpdir_path("file/logs"));
    tmpdir_write("file", "x", 1);
    assert_int_not_equal(gpufl_init(&o), 0);
    assert_false(gpufl_active());
    assert_int_equal(lines_said, 1);
    assert_non_null(strstr(last_said, "GPUFL_LOG_PATH"));
    assert_int_equal(gpufl_scope_begin("x", NULL), 0);
    o.log_path = tmpdir_path("logs");
    assert_int_equal(gpufl_init(&o), 0); /* a second try with another directory */
}

/* The driver gets 0 if capture was wanted and could not begin. */
TEST(test_injection_reports)
{
    char trace[512];
    struct stat st;
    tmpdir_write("file", "x", 1);
    snprintf(trace, sizeof trace, "log_path=%s/below\nbackend=None\n", tmpdir_path("file"));
    setenv("GPUFL_TRACE_OPTIONS", trace, 1);
    assert_int_equal(InitializeInjection(), 0);
    assert_false(gpufl_active());
    assert_int_equal(lines_said, 1); /* logged once, since no launcher gets the error */
    assert_non_null(strstr(last_said, "no capture: "));
    snprintf(trace, sizeof trace, "log_path=%s\nbackend=None\nenabled=false\n",
             tmpdir_path("logs"));
    setenv("GPUFL_TRACE_OPTIONS", trace, 1);
    assert_int_equal(InitializeInjection(), 1);
    assert_int_not_equal(stat(tmpdir_path("logs"), &st), 0);
    setenv("GPUFL_DISABLED", "1", 1);
    assert_int_equal(InitializeInjection(), 1);
    unsetenv("GPUFL_DISABLED");
    snprintf(trace, sizeof trace, "log_path=%s\nbackend=None\n", tmpdir_path("logs"));
    setenv("GPUFL_TRACE_OPTIONS", trace, 1);
    assert_int_equal(InitializeInjection(), 1);
    assert_true(gpufl_active());
    assert_int_equal(InitializeInjection(), 1); /* the session runs already */
    session_exit();                             /* a traced session ends with its program */
    assert_false(gpufl_active());
    unsetenv("GPUFL_TRACE_OPTIONS");
}

TEST(test_engines_fall_back)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.profiling_engine = GPUFL_ENGINE_DEEP;
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    assert_int_equal(lines_said, 1);
    assert_non_null(strstr(last_said,
                           "there is no engine Deep without a GPU: Trace is used instead; "
                           "profiling_engine (GPUFL_PROFILING_ENGINE)"));
    struct session_log log;
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_capability], 13);
}

/* The simulated GPU has every engine: no engine falls back to another one. */
TEST(test_simulated_gpu_has_every_engine)
{
    for (int engine = GPUFL_ENGINE_MONITOR; engine <= GPUFL_ENGINE_SYNC; engine++) {
        struct gpufl_options o = session_options(tmpdir_path("logs"));
        char path[PATH_MAX], *data;
        size_t len;
        o.backend = GPUFL_BACKEND_SIM;
        o.profiling_engine = (enum gpufl_engine)engine;
        lines_said = 0;
        assert_int_equal(gpufl_init(&o), 0);
        gpufl_shutdown();
        assert_int_equal(lines_said, 0);
        snprintf(path, sizeof path, "%s/system.log", gpufl_session_dir());
        assert_int_equal(file_read_all(path, 1 << 20, &data, &len, NULL), 0);
        assert_null(strstr(data, "engine_unavailable"));
        assert_null(strstr(data, "not_built"));
        free(data);
    }
}

TEST(test_window_starts_sampling)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    o.system_sample_rate_ms = 1000;
    assert_int_equal(gpufl_init(&o), 0);
    assert_int_equal(gpufl_system_stop("never"), GPUFL_E_INVAL);
    assert_int_equal(gpufl_system_start("phase"), 0);
    assert_int_equal(gpufl_system_start("other"), 0);
    assert_int_equal(gpufl_system_stop("phase"), 0);
    assert_int_equal(gpufl_system_stop("phase"), GPUFL_E_INVAL);
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_window], 3);
}

/* At a rate of 0 nothing is sampled, which is reported once; starts and stops must match. */
TEST(test_window_without_a_rate)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    assert_int_equal(gpufl_init(&o), 0);
    assert_int_equal(gpufl_system_stop("never"), GPUFL_E_INVAL);
    assert_int_equal(gpufl_system_start("phase"), 0);
    assert_int_equal(gpufl_system_start("other"), 0);
    assert_int_equal(lines_said, 1);
    assert_non_null(strstr(last_said, "system_start samples nothing: system_sample_rate_ms "
                                      "(GPUFL_SYSTEM_SAMPLE_RATE_MS) is 0"));
    assert_int_equal(gpufl_system_stop("phase"), 0);
    assert_int_equal(gpufl_system_stop("other"), 0);
    assert_int_equal(gpufl_system_stop("other"), GPUFL_E_INVAL);
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_window], 0);
    assert_int_equal(log.parts.rows[RECORD_host_metric], 0);
}

/* Begins a session for which one variable is set. */
static void init_with(const struct gpufl_options *o, const char *variable, const char *value)
{
    setenv(variable, value, 1);
    assert_int_equal(gpufl_init(o), 0);
    unsetenv(variable);
}

TEST(test_duration_ends_the_capture)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    init_with(&o, "GPUFL_DURATION_MS", "30");
    while (gpufl_active())
        sched_yield();
    assert_int_equal(gpufl_scope_begin("late", NULL), 0);
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "duration");
    assert_int_equal(gpufl_init(&o), 0);
}

TEST(test_spool_limit_ends_the_capture)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    init_with(&o, "GPUFL_LOG_MAX_SPOOL_BYTES", "65536");
    int64_t accepted = 0, tried = 0;
    while (gpufl_active()) {
        uint64_t h = gpufl_scope_begin("s", NULL);
        tried += gpufl_active() || h;
        accepted += h != 0;
        gpufl_scope_end(h);
    }
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "spool_limit");
    assert_int_equal(log.ledger.final, 1);
    assert_true(log.ledger.lost_spool > 0);
    assert_int_equal(log.ledger.scopes_written, log.parts.rows[RECORD_scope]);
    assert_true(lines_said >= 1);
}

/* A limit that is too small for any session is raised, so that the session can say why it ended. */
TEST(test_tiny_spool_limit)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    init_with(&o, "GPUFL_LOG_MAX_SPOOL_BYTES", "100");
    assert_non_null(strstr(last_said, "100 bytes hold no session; 64 KiB"));
    while (gpufl_active())
        gpufl_scope_end(gpufl_scope_begin("s", NULL));
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "spool_limit");
    assert_int_equal(log.ledger.final, 1);
    assert_true(log.parts.rows[RECORD_scope] > 0);
}

/* If the disk has less room than its reserve, the capture ends before any record. */
TEST(test_no_room_from_the_start)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    char path[PATH_MAX], *data;
    size_t len;
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    init_with(&o, "GPUFL_LOG_MIN_FREE_BYTES", "1000000T");
    while (gpufl_active())
        sched_yield();
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "disk_reserve");
    snprintf(path, sizeof path, "%s/system.log", gpufl_session_dir());
    assert_int_equal(file_read_all(path, 1 << 20, &data, &len, NULL), 0);
    assert_non_null(strstr(data, "had ended before any came"));
    free(data);
}

static void fail_each(const struct gpufl_options *o)
{
    enum { ALLOCATIONS = 400, STEP = FEWER(1, 7) };
    int started = 0;
    for (int n = 0; n < ALLOCATIONS; n += STEP) {
        mem_fail_at(n);
        int rc = gpufl_init(o);
        started += rc == 0;
        uint64_t a = gpufl_scope_begin("outer", "tag");
        gpufl_scope_end(gpufl_scope_begin("inner", NULL));
        gpufl_scope_end(a);
        (void)gpufl_system_start("window");
        gpufl_shutdown();
        mem_fail_at(-1);
        assert_false(gpufl_active());
        assert_true(rc == 0 || rc == GPUFL_E_NOMEM);
    }
    assert_true(started > ALLOCATIONS / 4 / STEP); /* the last rounds have no failure */
}

TEST(test_every_allocation_fails_once)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.continuous_system_sampling = true;
    o.system_sample_rate_ms = 1000;
    fail_each(&o);
}

/* Every allocation fails once while an engine is attached and delivers records. */
TEST(test_every_allocation_fails_once_while_tracing)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    o.enable_cuda_graphs_tracking = true;
    o.enable_memory_tracking = true;
    fail_each(&o);
}

TEST(test_traced_program)
{
    char trace[4200];
    snprintf(trace, sizeof trace, "log_path=%s\nrun_id=r-1\nprofiling_engine=Monitor\n",
             tmpdir_path("traced"));
    setenv("GPUFL_TRACE_OPTIONS", trace, 1);
    setenv("GPUFL_BACKEND", "none", 1);
    struct gpufl_options o = session_options(tmpdir_path("elsewhere"));
    assert_int_equal(InitializeInjection(), 1);
    assert_true(gpufl_active());
    assert_int_equal(gpufl_init(&o), 0);
    assert_string_equal(session_only(tmpdir_path("traced")), gpufl_session_dir());
    assert_int_equal(session_count(tmpdir_path("elsewhere")), 0);
    gpufl_scope_end(gpufl_scope_begin("a", NULL));
    gpufl_shutdown();
    assert_true(gpufl_active()); /* the session lasts until the program ends */
    struct session_log log;
    session_log_read(gpufl_session_dir(), &log);
    assert_int_equal(log.parts.rows[RECORD_scope], 1); /* all of it is written */
    session_exit();
    assert_false(gpufl_active());
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "exit");
    unsetenv("GPUFL_TRACE_OPTIONS");
    unsetenv("GPUFL_BACKEND");
}

/* The code's directory takes precedence over the launcher's, which gets a link to the session. */
TEST(test_directory_of_the_code)
{
    char trace[4200], link[PATH_MAX], there[PATH_MAX];
    snprintf(trace, sizeof trace, "?log_path=%s\nrun_id=r-1\n?profiling_engine=Trace\n",
             tmpdir_path("run"));
    assert_int_equal(mkdir(tmpdir_path("run"), 0700), 0);
    setenv("GPUFL_TRACE_OPTIONS", trace, 1);
    struct gpufl_options o = session_options(tmpdir_path("code"));
    o.profiling_engine = GPUFL_ENGINE_MONITOR;
    assert_int_equal(gpufl_init(&o), 0);
    assert_string_equal(session_only(tmpdir_path("code")), gpufl_session_dir());
    snprintf(link, sizeof link, "%s/%s", tmpdir_path("run"), gpufl_session_id());
    assert_non_null(realpath(link, there));
    assert_string_equal(there, gpufl_session_dir());
    o.profiling_engine = GPUFL_ENGINE_DEEP;
    o.app_name = "late";
    lines_said = 0;
    assert_int_equal(gpufl_init(&o), 0);
    assert_int_equal(lines_said, 1);
    assert_non_null(strstr(last_said, "gpufl_init sets app_name=late, profiling_engine=Deep, but "
                                      "this session had begun before, with engine Monitor"));
    session_exit();
    struct session_log log;
    session_log_read(gpufl_session_dir(), &log);
    unsetenv("GPUFL_TRACE_OPTIONS");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_calls_without_a_session),
        CASE(test_the_server_that_uploads_go_to), /* before any session */
        CASE(test_start_and_end),
        CASE(test_init_is_idempotent),
        CASE(test_disabled),
        CASE(test_disabled_sends_nothing),
        CASE(test_debug_output),
        CASE(test_window_without_a_rate),
        CASE(test_directory_of_the_code),
        CASE(test_directory_that_cannot_be_made),
        CASE(test_engines_fall_back),
        CASE(test_simulated_gpu_has_every_engine),
        CASE(test_window_starts_sampling),
        CASE(test_duration_ends_the_capture),
        CASE(test_spool_limit_ends_the_capture),
        CASE(test_tiny_spool_limit),
        CASE(test_no_room_from_the_start),
        CASE(test_every_allocation_fails_once),
        CASE(test_traced_program),
        CASE(test_every_allocation_fails_once_while_tracing),
        CASE(test_injection_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
