/* test_trace_monitor.c - tests `gpufl trace -e Monitor` of programs that never use the GPU: gpufl
 * samples for as long as they run, says that they did not initialize CUDA, and changes nothing; and
 * the environment can say where and under which name a run is kept. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENV(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static json_t *report(struct world *w, const char *dir)
{
    struct child c;
    json_error_t e;
    assert_int_equal(gpufl(w, &c, "report", "--json", dir), 0);
    json_t *root = json_loads(c.text[CHILD_OUT].data, 0, &e);
    assert_non_null(root);
    child_free(&c);
    return root;
}

static const char *text(const json_t *root, const char *object, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(root, object), key));
    return value ? value : "";
}

static int64_t number(const json_t *root, const char *object, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(root, object), key));
}

/* Devices and host are sampled under the program's name; its exit code is its own. */
TEST(any_program_is_sampled)
{
    struct world w;
    struct child c;
    struct sessions s;
    char dir[PATH_MAX + 8];
    world_open(&w);
    int code =
        gpufl_run(&w, &c, ENV("GPUFL_BACKEND=Sim"), NULL,
                  ARGS("trace", "-e", "Monitor", "-s", "10ms", "--option", "log_compress=false",
                       "-o", "logs", "-n", "mine", "--", "/bin/sh", "-c", "sleep 0.3; exit 5"));
    assert_int_equal(code, 5);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "the program did not initialize CUDA"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in logs\n"));
    assert_null(strstr(c.text[CHILD_ERR].data, "did not end cleanly"));
    child_free(&c);
    snprintf(dir, sizeof dir, "%s/logs", w.dir);
    sessions_of(&s, dir);
    assert_int_equal(s.ours, 1);
    assert_int_equal(s.ended, 1);
    assert_true(s.items[0].pid != 0 && s.items[0].pid != getpid());
    json_t *r = report(&w, "logs");
    assert_string_equal(text(r, "session", "app"), "mine");
    assert_int_equal(strncmp(text(r, "session", "command"), "/bin/sh -c sleep 0.3", 20), 0);
    assert_string_equal(text(r, "session", "engine"), "Monitor");
    assert_true(number(r, "host", "samples") > 5);
    const json_t *device = json_array_get(json_object_get(r, "devices"), 0);
    assert_non_null(device);
    assert_true(json_integer_value(json_object_get(json_object_get(device, "metrics"), "samples")) >
                5);
    json_decref(r);
    sessions_fini(&s);
    world_close(&w);
}

/* No samples wanted, capture switched off, another engine: nothing is left. */
TEST(nothing_where_nothing_is_asked)
{
    static const char *const cases[][4] = {
        {"GPUFL_BACKEND=Sim", "-e", "Monitor", "-s0"},
        {"GPUFL_DISABLED=1", "-e", "Monitor", "-q"},
        {"GPUFL_SYSTEM_SAMPLE_RATE_MS=0", "-e", "Monitor", "-q"},
        {"GPUFL_BACKEND=Sim", "-e", "Trace", "-q"},
        {"GPUFL_BACKEND=Sim", "-eMonitor", "--option", "system_sample_rate_ms=0"},
        {"GPUFL_BACKEND=Sim", "-eMonitor", "--option", "continuous_system_sampling=off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        struct child c;
        world_open(&w);
        int code = gpufl_run(
            &w, &c, ENV(cases[i][0]), NULL,
            ARGS("trace", cases[i][1], cases[i][2], cases[i][3], path_program(), "plain", "4"));
        assert_int_equal(code, 4);
        assert_int_equal(count_files(w.dir, ".log") + count_files(w.dir, ".gz"), 0);
        child_free(&c);
        world_close(&w);
    }
}

/* The environment's engine, directory and name replace the defaults of `gpufl trace`; flags replace
 * the environment's. */
TEST(environment_beats_defaults)
{
    struct world w;
    struct child c;
    const char *const *env = ENV("GPUFL_PROFILING_ENGINE=Monitor", "GPUFL_LOG_PATH=of-env",
                                 "GPUFL_APP_NAME=env", "GPUFL_SYSTEM_SAMPLE_RATE_MS=20");
    world_open(&w);
    assert_int_equal(
        gpufl_run(&w, &c, env, NULL, ARGS("trace", "--", "/bin/sh", "-c", "cd /; sleep 0.2")), 0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in of-env\n"));
    child_free(&c);
    json_t *r = report(&w, "of-env");
    assert_string_equal(text(r, "session", "app"), "env");
    assert_string_equal(text(r, "session", "engine"), "Monitor");
    json_decref(r);
    assert_int_equal(
        gpufl_run(&w, &c, env, NULL, ARGS("trace", "-o", "flag", "-n", "flag", "--", "/bin/true")),
        0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in flag\n"));
    child_free(&c);
    r = report(&w, "flag");
    assert_string_equal(text(r, "session", "app"), "flag");
    json_decref(r);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_program_is_sampled),
        cmocka_unit_test(nothing_where_nothing_is_asked),
        cmocka_unit_test(environment_beats_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
