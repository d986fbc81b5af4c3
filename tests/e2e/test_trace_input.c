/* test_trace_input.c - tests wrong command lines and environments: one clear sentence, the right
 * exit code, and a program that was named correctly runs. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A command line, its exit code and a part of the message. */
struct wrong {
    const char *args[8]; /* after "gpufl" */
    int code;
    const char *says;
};

static const struct wrong usages[] = {
    {{"trace"}, 2, "there is no command to run"},
    {{"trace", "--"}, 2, "there is no command to run"},
    {{"trace", ""}, 2, "there is no command to run"},
    {{"trace", "--nam", "x", "true"}, 2, "did you mean '--name'?"},
    {{"trace", "--nonsense", "true"}, 2, "unknown option '--nonsense'"},
    {{"trace", "-o"}, 2, "needs a value"},
    {{"trace", "-o", "", "true"}, 2, "name of a directory"},
    {{"trace", "--engine", "Tracee", "true"}, 2, "did you mean 'Trace'?"},
    {{"trace", "--engine", "42", "true"}, 2, "not one of Monitor, Trace"},
    {{"trace", "--duration", "soon", "true"}, 2, "is not a duration"},
    {{"trace", "--duration", "10us", "true"}, 2, "at least 1ms"},
    {{"trace", "--kill", "true"}, 2, "which is not given"},
    {{"trace", "--top", "-2", "true"}, 2, "'-2' is not a whole number, 0 or more"},
    {{"trace", "--json=yes", "true"}, 2, "takes no value"},
    {{"trace", "--option", "log_compres=1", "true"}, 2, "did you mean 'log_compress'?"},
    {{"trace", "--option", "log_compress", "true"}, 2, "needs a value"},
    {{"trace", "--option", "log_compress=maybe", "true"}, 2, "true or false"},
    {{"trace", "--option", "flush_interval_ms=x", "true"}, 2, "'x'"},
    {{"trace", "--option", "backend=Voodoo", "true"}, 2, "Nvidia"},
    {{"trace", "--option", "log_path=/tmp", "true"}, 2, "use --output"},
    {{"tarce", "true"}, 2, "did you mean 'trace'?"},
    {{"frobnicate"}, 2, "there is no command 'frobnicate'"},
    {{"--frobnicate"}, 2, "comes before any command"},
    {{"info", "extra"}, 2, "takes no operands"},
    {{"info", "--engines", "--metrics"}, 2, "exclude each other"},
    {{"trace", "--ranges", "kernels", "true"}, 2, "--ranges goes with --engine RangeProfiler"},
    {{"trace", "--every", "1s", "true"}, 2, "--every must be longer than --for, which it needs"},
    {{"trace", "--every", "1s", "--for", "1s", "true"}, 2, "--every must be longer than --for"},
    {{"trace", "--every", "1s", "--for", "10ms", "--launches=7", "true"},
     2,
     "--every goes with --after and --for"},
    {{"trace", "--every", "25h", "--for", "1s", "true"}, 2, "a day at most"},
    {{"trace", "--pc-kernels", "none", "true"}, 2, "--pc-kernels goes with --engine PcSampling"},
    {{"trace", "--passes", "Trace,PcSamplin", "true"}, 2, "did you mean 'PcSampling'?"},
    {{"trace", "--passes", "Trace,,PcSampling", "true"}, 2, "there is no engine ''"},
    {{"trace", "--passes", "Trace,Qqqqqqqq", "true"},
     2,
     "Trace, PcSampling, SassMetrics, RangeProfiler and PmSampling can be passes"},
    {{"trace", "--passes", "Trace", "true"}, 2, "needs two engines or more"},
    {{"trace", "--passes", "PcSampling,SassMetrics", "true"}, 2, "needs Trace among them"},
    {{"trace", "--passes", "Trace,Trace", "true"}, 2, "names Trace twice"},
    {{"trace", "--passes", "Trace,Monitor", "true"}, 2, "the pass of Trace has what it records"},
    {{"trace", "--passes", "Trace,Deep", "true"}, 2, "name PcSampling and SassMetrics"},
    {{"trace", "-e", "Trace", "--passes", "Trace,PcSampling", "true"}, 2, "excludes --engine"},
    {{"trace", "--passes", "Trace,PcSampling", "--duration=1s", "true"}, 2, "excludes --duration"},
    {{"trace", "--passes", "Trace,PcSampling", "--for=1s", "true"}, 2, "excludes windows"},
    {{"trace", "--passes", "Trace,PcSampling", "--yield-cupti", "true"}, 2, "no engine could run"},
    {{"trace", "--passes", "Trace,PcSampling", "--ranges=scopes", "true"},
     2,
     "--ranges goes with --engine RangeProfiler"},
    {{"trace", "--option", "pass=1", "true"}, 2, "use --passes"},
    {{"help", "frobnicate"}, 2, "there is no command 'frobnicate'"},
    {{"help", "tarce"}, 2, "did you mean 'trace'?"},
    {{"help", "trace", "report"}, 2, "one COMMAND at a time"},
    {{"report", ""}, 2, "PATH is missing"},
    {{"trace", "--no-report", "--json", "true"}, 2, "--no-report excludes --json"},
    {{"trace", "--no-report", "--report", "r", "true"}, 2, "--no-report excludes --report"},
    {{"trace", "--", "./not-there"}, 127, "No such file"},
    {{"trace", "--", "not-there-in-path"}, 127, "No such file"},
    {{"trace", "--", "./text"}, 126, "Permission denied"},
    {{"trace", "--", "/"}, 126, "ermission denied"},
    {{"upload", "x"}, 2, "to which server?"},
};

TEST(wrong_command_lines)
{
    struct world w;
    struct child c;
    char text[PATH_MAX + 8];
    world_open(&w);
    snprintf(text, sizeof text, "%s/text", w.dir);
    close(open(text, O_CREAT | O_WRONLY, 0600));
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        const struct wrong *u = &usages[i];
        int code = gpufl_run(&w, &c, NULL, NULL, u->args);
        if (code != u->code || !strstr(c.text[CHILD_ERR].data, u->says))
            fail_msg("%s %s …: code %d\n%s", u->args[0], u->args[1], code, c.text[CHILD_ERR].data);
        assert_int_equal(c.text[CHILD_OUT].len, 0);
        child_free(&c);
    }
    unlink(text);
    assert_int_equal(rmdir(w.dir), 0); /* nothing was left in it */
}

/* A place that cannot be written is found before the program starts, which then does not run; with
 * --anyway it runs to its own end, without capture. */
TEST(unwritable_places)
{
    static const char *const places[] = {"/proc/gpufl", "file", "file/below", "/dev/null"};
    struct world w;
    struct child c;
    char path[PATH_MAX + 8];
    world_open(&w);
    snprintf(path, sizeof path, "%s/file", w.dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(
            gpufl(&w, &c, "trace", "-o", places[i], "--report", "r", path_program(), "show", "7"),
            3);
        assert_non_null(strstr(c.text[CHILD_ERR].data,
                               "nothing was run: --anyway runs the program without capture"));
        assert_non_null(strstr(c.text[CHILD_ERR].data, "-o DIR"));
        assert_int_equal(c.text[CHILD_OUT].len, 0);
        child_free(&c);
        snprintf(path, sizeof path, "%s/r", w.dir);
        assert_int_not_equal(access(path, F_OK), 0); /* no empty report either */
        assert_int_equal(
            gpufl(&w, &c, "trace", "--anyway", "-o", places[i], path_program(), "show", "7"), 7);
        assert_non_null(strstr(c.text[CHILD_ERR].data, "the program runs without capture"));
        assert_non_null(strstr(c.text[CHILD_ERR].data, "-o DIR"));
        assert_non_null(strstr(c.text[CHILD_OUT].data, "injection unset"));
        child_free(&c);
    }
    world_close(&w);
}

/* The default directory cannot be made: the sentence names -o. A user who may write
 * everywhere cannot test that, so the current directory is one that is gone. */
TEST(current_directory_is_gone)
{
    struct world w;
    struct child c;
    world_open(&w);
    const char *argv[] = {"/bin/sh",
                          "-c",
                          "mkdir gone; cd gone; rmdir ../gone; \"$0\" trace \"$1\" show 5; "
                          "[ $? = 3 ] && \"$0\" trace --anyway \"$1\" show 5",
                          path_gpufl(),
                          path_program(),
                          NULL};
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 5);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "-o DIR"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "the current folder was deleted"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "injection unset"));
    assert_null(strstr(strstr(c.text[CHILD_OUT].data, "injection") + 1, "injection"));
    child_free(&c);
    world_close(&w);
}

/* A report that cannot be written where it should go goes to stderr; the program runs. */
TEST(unwritable_report)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", "--report", "no/such/dir", path_program(), "exit", "6"),
                     6);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "cannot write the report to no/such/dir"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "our cost"));
    assert_null(strstr(c.text[CHILD_ERR].data, "the report is in"));
    child_free(&c);
    world_close(&w);
}

/* With -q the report is not printed instead, and no message says that it is. */
TEST(unwritable_report_quiet)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(
        gpufl(&w, &c, "trace", "-q", "--report", "no/such/dir", path_program(), "exit", "6"), 6);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "`gpufl report` can make it from the logs"));
    assert_null(strstr(c.text[CHILD_ERR].data, "stderr"));
    assert_null(strstr(c.text[CHILD_ERR].data, "our cost"));
    child_free(&c);
    world_close(&w);
}

/* A report that finds no room on the disk is an error that names its cause. */
TEST(report_without_room)
{
    static const char *const formats[] = {"--top=3", "--json"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct world w;
        struct child c;
        world_open(&w);
        assert_int_equal(gpufl(&w, &c, "trace", "--report", "/dev/full", "-o", "logs", formats[i],
                               path_program(), "exit", "7"),
                         7);
        assert_non_null(strstr(c.text[CHILD_ERR].data,
                               "gpufl trace: /dev/full: the report could not be written: No space "
                               "left on device; `gpufl report` makes it again"));
        assert_null(strstr(c.text[CHILD_ERR].data, "the report is in"));
        assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in logs\n"));
        child_free(&c);
        world_close(&w);
    }
}

/* What another run left in the file is not taken for this run's report. */
TEST(old_report_is_emptied)
{
    struct world w;
    struct child c;
    char path[PATH_MAX + 16];
    struct stat st;
    world_open(&w);
    snprintf(path, sizeof path, "%s/r.json", w.dir);
    assert_int_equal(
        gpufl(&w, &c, "trace", "--json", "--report", "r.json", path_program(), "exit", "0"), 0);
    child_free(&c);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 1000);
    assert_int_equal(
        gpufl(&w, &c, "trace", "--json", "--report", "r.json", path_program(), "plain", "3"), 3);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "nothing was captured"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
    child_free(&c);
    world_close(&w);
}

/* Holds why nothing was captured. */
struct reason {
    const char *env[2];
    const char *args[8];
    int code;
    const char *says;
};

TEST(reasons_for_nothing)
{
    const struct reason reasons[] = {
        {{"GPUFL_DISABLED=1"}, {"trace", path_program(), "exit", "3"}, 3, "GPUFL_DISABLED"},
        {{NULL},
         {"trace", "--option", "enabled=false", path_program(), "exit", "4"},
         4,
         "enabled=false"},
        {{"GPUFL_LIBRARY=/not/there"}, {"trace", path_program(), "exit", "5"}, 5, "GPUFL_LIBRARY"},
        {{"GPUFL_LIBRARY=/etc/hostname"},
         {"trace", path_program(), "exit", "6"},
         6,
         "does not load"},
        {{NULL}, {"trace", path_program(), "plain", "7"}, 7, "nothing was captured: "},
    };
    struct world w;
    struct child c;
    world_open(&w);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        int code = gpufl_run(&w, &c, reasons[i].env, NULL, reasons[i].args);
        if (code != reasons[i].code || !strstr(c.text[CHILD_ERR].data, reasons[i].says))
            fail_msg("%s: code %d\n%s", reasons[i].says, code, c.text[CHILD_ERR].data);
        child_free(&c);
    }
    assert_int_equal(rmdir(w.dir), 0); /* empty directories that gpufl made are removed again */
}

/* Another tool's injection is replaced, and named. */
TEST(other_tool_is_named)
{
    static const char *const env[] = {"CUDA_INJECTION64_PATH=/opt/other/libother.so", NULL};
    struct world w;
    struct child c;
    world_open(&w);
    const char *const args[] = {"trace", "--no-report", path_program(), "exit", "0", NULL};
    assert_int_equal(gpufl_run(&w, &c, env, NULL, args), 0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "/opt/other/libother.so"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in "));
    child_free(&c);
    world_close(&w);
}

/* Runs into one directory are distinguished. */
TEST(runs_share_a_directory)
{
    struct world w;
    struct child c;
    struct sessions s;
    char dir[PATH_MAX + 8];
    world_open(&w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            gpufl(&w, &c, "trace", "-o", "logs", "--no-report", path_program(), "exit", "0"), 0);
        assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in logs\n"));
        child_free(&c);
    }
    snprintf(dir, sizeof dir, "%s/logs", w.dir);
    sessions_of(&s, dir);
    assert_int_equal(s.count, 2);
    assert_string_not_equal(s.items[0].run, s.items[1].run);
    sessions_fini(&s);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_command_lines),       cmocka_unit_test(unwritable_places),
        cmocka_unit_test(current_directory_is_gone), cmocka_unit_test(reasons_for_nothing),
        cmocka_unit_test(other_tool_is_named),       cmocka_unit_test(unwritable_report),
        cmocka_unit_test(unwritable_report_quiet),   cmocka_unit_test(report_without_room),
        cmocka_unit_test(old_report_is_emptied),     cmocka_unit_test(runs_share_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
