/* gpufl_upload_logs: the command's arguments, the result made from its output, and that nothing
 * of the program affects the command or is blocked by it. */
#include "capture/upload.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/unit/support/tmpdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gpufl_upload_result result;
static const struct upload_standard LAST = {.dir = "/last/session"}, NOTHING;

static int setup(void **state)
{
    result = (struct gpufl_upload_result){.size = sizeof result};
    unsetenv("GPUFL_API_KEY");
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    signal(SIGCHLD, SIG_DFL);
    unsetenv("GPUFL_CLI");
    return tmpdir_close(state);
}

/* Makes the script the command `gpufl`. */
static void command(const char *script)
{
    const char *path = tmpdir_path("cli");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("GPUFL_CLI", path, 1);
    setenv("TEST_DIR", tmpdir_path(""), 1);
}

static int upload(const char *log_path, int timeout_ms)
{
    struct gpufl_upload_options o = {.size = sizeof o,
                                     .log_path = log_path,
                                     .backend_url = "https://gpufl.test",
                                     .api_key = "gpfl_secret",
                                     .timeout_ms = timeout_ms,
                                     .result = &result};
    return upload_run(&o, &LAST);
}

static void expect_file(const char *name, const char *wanted)
{
    char text[4096] = "";
    FILE *f = fopen(tmpdir_path(name), "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_string_equal(text, wanted);
}

#define ALL                                                                                        \
    "echo '{\"server\":\"x\",\"sessions\":[{\"session\":\"a\",\"message\":null,"                   \
    "\"lines_accepted\":3},{\"lines_accepted\":4}],\"result\":\"all\"}'\n"

TEST(test_what_the_command_gets)
{
    command("echo \"$@\" > $TEST_DIR/args\n"
            "echo $GPUFL_BACKEND_URL $GPUFL_API_KEY $GPUFL_API_PATH > $TEST_DIR/env\n" ALL);
    assert_int_equal(upload("", 0), 0);
    expect_file(
        "args",
        "upload --for-code --json --progress --time-limit 300000ms --unreachable 15000ms -- "
        "/last/session\n");
    expect_file("env", "https://gpufl.test gpfl_secret\n");
    assert_int_equal(result.lines, 7);
    assert_string_equal(result.message, "");
    setenv("GPUFL_API_KEY", "another", 1);
    assert_int_equal(upload("-odd", 5000), 0);
    expect_file(
        "args",
        "upload --for-code --json --progress --time-limit 5000ms --unreachable 15000ms -- -odd\n");
    expect_file("env", "https://gpufl.test gpfl_secret\n");
}

TEST(test_a_path_as_init_takes_it)
{
    char path[4096];
    command("echo \"${10}\" > $TEST_DIR/path\n" ALL);
    snprintf(path, sizeof path, "%s.log", tmpdir_path("logs"));
    assert_int_equal(upload(path, 0), 0);
    path[strlen(path) - 4] = '\n';
    path[strlen(path) - 3] = '\0';
    expect_file("path", path);
}

/* The key and the path of the session are sent only to the session's server, also if the caller
 * names it. */
TEST(test_the_server_of_the_session)
{
    const struct upload_standard session = {
        .dir = "/last", .url = "https://one.test", .key = "key_of_one", .api = "/a/v1"};
    struct gpufl_upload_options o = {.size = sizeof o, .result = &result};
    unsetenv("GPUFL_API_PATH");
    command("echo $GPUFL_BACKEND_URL $GPUFL_API_KEY $GPUFL_API_PATH > $TEST_DIR/env\n" ALL);
    assert_int_equal(upload_run(&o, &session), 0);
    expect_file("env", "https://one.test key_of_one /a/v1\n");
    assert_int_equal(upload_run(NULL, &session), 0);
    expect_file("env", "https://one.test key_of_one /a/v1\n");
    o.backend_url = "https://one.test";
    o.api_key = "mine";
    assert_int_equal(upload_run(&o, &session), 0);
    expect_file("env", "https://one.test mine /a/v1\n");
    o = (struct gpufl_upload_options){.size = sizeof o, .backend_url = "https://two.test"};
    assert_int_equal(upload_run(&o, &session), 0);
    expect_file("env", "https://two.test\n");
}

TEST(test_nothing_is_inherited)
{
    sigset_t some, was;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(fd, 200), 200); /* without close-on-exec, like those of many programs */
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &some, &was), 0);
    signal(SIGUSR1, SIG_IGN);
    command("[ -e /proc/$$/fd/200 ] && echo 'a descriptor' >&2 && exit 1\n"
            "grep SigBlk /proc/self/status | grep -q 0000000000000000 || exit 2\n"
            "grep SigIgn /proc/self/status | grep -q '0000000$' || exit 3\n"
            "read line && exit 4\n" ALL);
    int rc = upload("", 0);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    signal(SIGUSR1, SIG_DFL);
    close(200);
    close(fd);
    assert_string_equal(result.message, "");
    assert_int_equal(rc, 0);
}

TEST(test_what_it_says_of_failures)
{
    command("echo '{\"sessions\":[{\"message\":\"the disk of it\",\"lines_accepted\":2}],"
            "\"result\":\"partly\"}'; exit 1");
    assert_int_equal(upload("", 0), GPUFL_E_IO);
    assert_string_equal(result.message, "sent in part: the disk of it");
    assert_int_equal(result.lines, 2);
    command("echo 'gpufl upload: the key file is empty' >&2; echo more >&2; exit 2");
    assert_int_equal(upload("", 0), GPUFL_E_IO);
    assert_string_equal(result.message, "the key file is empty");
    command("exit 69");
    assert_int_equal(upload("", 0), GPUFL_E_NOT_BUILT);
    command("kill -9 $$");
    assert_int_equal(upload("", 0), GPUFL_E_IO);
    assert_true(*result.message);
    command("head -c 9000000 /dev/zero; exit 2"); /* far too much output */
    assert_int_equal(upload("", 0), GPUFL_E_IO);
}

static char received[4096];

static void receive(enum log_level level, const char *line)
{
    size_t n = strlen(received);
    (void)level;
    snprintf(received + n, sizeof received - n, "%s\n", line);
}

/* What the command says while it waits is logged. */
TEST(test_it_says_why_it_waits)
{
    received[0] = '\0';
    log_set_sink(receive);
    command("echo 'gpufl upload: http://x: connection refused; again in 1 s' >&2; exit 2");
    assert_int_equal(upload("", 0), GPUFL_E_IO);
    log_set_sink(NULL);
    assert_non_null(
        strstr(received, "gpufl: upload: http://x: connection refused; again in 1 s\n"));
}

/* The debug output has a line for what is sent, and one for the result. */
TEST(test_debug_lines)
{
    received[0] = '\0';
    log_set_sink(receive);
    log_set_debug(true);
    command(ALL);
    assert_int_equal(upload("", 0), 0);
    log_set_debug(false);
    log_set_sink(NULL);
    assert_non_null(strstr(received, "debug: upload: /last/session to https://gpufl.test\n"));
    assert_non_null(strstr(received, "debug: upload: done: 7 lines sent\n"));
    assert_null(strstr(received, "gpfl_secret"));
}

TEST(test_no_command_and_no_session)
{
    setenv("GPUFL_CLI", "/nowhere/gpufl", 1);
    assert_int_equal(upload("", 0), GPUFL_E_NOENT);
    assert_non_null(strstr(result.message, "/nowhere/gpufl"));
    assert_int_equal(upload_run(NULL, &NOTHING), GPUFL_E_STATE);
    struct gpufl_upload_options old = {.size = offsetof(struct gpufl_upload_options, timeout_ms)};
    old.result = (struct gpufl_upload_result *)1; /* beyond the struct of an older caller */
    assert_int_equal(upload_run(&old, &NOTHING), GPUFL_E_STATE);
}

TEST(test_it_is_not_waited_for_without_end)
{
    int64_t began = clock_mono();
    command("exec sleep 600");
    assert_int_equal(upload("", 200), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(result.message, "in time"));
    command("exec sleep 600 >/dev/null 2>&1"); /* its output is closed */
    assert_int_equal(upload("", 200), GPUFL_E_TIMEOUT);
    command("sleep 60 & exit 2"); /* another process has its output open */
    assert_int_equal(upload("", 200), GPUFL_E_TIMEOUT);
    assert_true(clock_mono() - began < (int64_t)50 * 1000000000);
}

TEST(test_a_program_that_reaps_every_child)
{
    signal(SIGCHLD, SIG_IGN);
    command(ALL);
    assert_int_equal(upload("", 0), 0);
    command("echo '{\"sessions\":[],\"result\":\"none\"}'; exit 2");
    assert_int_equal(upload("", 0), GPUFL_E_IO);
}

TEST(test_a_daemon_without_standard_files)
{
    int status = 0;
    command(ALL);
    pid_t pid = fork();
    if (pid == 0) {
        close(0);
        close(1);
        close(2);
        _exit(upload("", 0) == 0 && result.lines == 7 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(test_every_allocation_fails_once)
{
    command(ALL);
    for (int64_t n = 0;; n++) {
        mem_fail_at(n);
        int rc = upload("", 0);
        int64_t made = mem_count();
        mem_fail_at(-1);
        if (made <= n) {
            assert_int_equal(rc, 0);
            return;
        }
        assert_true(rc == GPUFL_E_NOMEM || rc == GPUFL_E_IO || rc == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_the_command_gets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_path_as_init_takes_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_server_of_the_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_inherited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_it_says_of_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_says_why_it_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_debug_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_command_and_no_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_is_not_waited_for_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_program_that_reaps_every_child, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_daemon_without_standard_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
