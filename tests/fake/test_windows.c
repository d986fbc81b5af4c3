/* test_windows.c - tests windows of capture: everything inside is recorded, nothing outside, and
 * the profiling library is detached when its guide allows that, and attached again. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CYCLES = FEWER(1000, 200) };

static const char kernel[] = "_Z9fake_reluPfi";

static int64_t count_of(const struct run *r, const char *symbol)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(r->report, "kernels.by_name"), i, one)
    {
        if (!strcmp(text_at(one, "symbol"), symbol))
            return int_at(one, "count");
    }
    return 0;
}

static void run_windows(struct run *r, const char *const *options, const char *const *program)
{
    run_all(r, &(struct run_setup){
                   .binary = "fake/fake_windows", .options = options, .program = program});
    check_program(r, 0);
}

/* Options with which the library is detached as soon as it can be. */
#define DETACH "--option", "window_detach=true"
#define AT_ONCE                                                                                    \
    "--windows", DETACH, "--option", "flush_interval_ms=10", "--option", "window_rest_ms=1"

static void check_life(const struct run *r, int64_t finalized)
{
    assert_int_equal(int_at(r->said, "0.finalized"), finalized);
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    assert_int_equal(int_at(r->said, "0.touched"), 0);
}

/* Windows open and close while other threads launch: the session has every kernel of the windows,
 * and none of those after them. */
static void run_cycles(struct run *r, const struct run_setup *setup, int64_t count)
{
    run_start(r, setup);
    run_end(r);
    check_program(r, 0);
    assert_int_equal(int_at(r->report, "windows.opened"), count);
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    assert_int_equal(int_at(r->said, "0.touched"), 0);
    assert_int_equal(count_of(r, kernel), int_at(r->said, "0.in_windows"));
    assert_int_equal(count_of(r, "_Z10graph_nodev"), int_at(r->said, "0.nodes"));
}

static void check_cycles(const struct run_setup *setup, int64_t count)
{
    struct run r;
    run_cycles(&r, setup, count);
    check_life(&r, count);
    assert_int_equal(int_at(r.report, "ledger.graph_launches"), int_at(r.said, "0.graphs"));
    assert_true(int_at(r.report, "ledger.launches") >= int_at(r.said, "0.in_windows"));
    assert_true(int_at(r.report, "ledger.launches") + int_at(r.report, "ledger.graph_kernels") <=
                int_at(r.report, "ledger.kernels_recorded"));
    assert_true(int_at(r.report, "windows.recorded_ns") > 0);
    assert_true(int_at(r.report, "windows.recorded_ns") < int_at(r.report, "session.duration_ns"));
    assert_string_equal(capability_of(&r, "windows", "status"), "collected");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    assert_true(int_at(r.said, "0.unheard") <= int_at(r.said, "0.contexts") / 3);
    run_free(&r);
}

/* The library is attached and finalized 1000 times. */
TEST(thousand_cycles)
{
    char cycles[16];
    snprintf(cycles, sizeof cycles, "%d", CYCLES);
    check_cycles(&(struct run_setup){.binary = "fake/fake_windows",
                                     .options = LIST(AT_ONCE),
                                     .program = LIST(cycles, "threads=3")},
                 CYCLES);
}

/* The library stays attached if contexts are made and destroyed all the time: it could be detached
 * or attached while one is being made. */
TEST(cycles_with_contexts)
{
    struct run r;
    run_cycles(
        &r,
        &(struct run_setup){.binary = "fake/fake_windows",
                            .options = LIST(AT_ONCE),
                            .program = LIST("100", "threads=3", "contexts", "kept", "slow=3")},
        100);
    assert_int_equal(int_at(r.said, "0.finalized"), 0);
    check_contains(&r, message_of(&r, "windows.not_quiet"), "ten times its longest pause");
    run_free(&r);
}

/* The library is neither detached nor attached while a context is made (fake CUPTI aborts): making
 * the first one takes many times longer than the program paused before. */
TEST(while_contexts_are_created)
{
    check_cycles(
        &(struct run_setup){.binary = "fake/fake_windows",
                            .env = LIST("FAKE_CONTEXT_MS=300"),
                            .options = LIST("--windows", "--option", "flush_interval_ms=10",
                                            "--option", "window_rest_ms=50", DETACH),
                            .program = LIST("40", "threads=1", "made")},
        40);
}

/* The library waits for running kernels as it is detached and attached: only if the user wants
 * that. */
TEST(stays_unless_it_is_detached)
{
    static const char *const programs[][5] = {{"4", "kept", "slow=60"},
                                              {"4", "kept", "threads=2", "slow=60"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct run r;
        run_windows(
            &r,
            LIST("--windows", "--option", "flush_interval_ms=10", "--option", "window_rest_ms=5"),
            programs[i]);
        assert_int_equal(int_at(r.said, "0.finalized"), 0);
        assert_int_equal(count_of(&r, kernel), int_at(r.said, "0.in_windows"));
        check_contains(&r, capability_of(&r, "windows", "reason"), "stayed attached");
        run_free(&r);
    }
}

/* After a detach the library is attached again at once, not with the next flush, which is 10 s
 * later. On a busy machine this may take most of the 10 s. */
TEST(comes_back_at_once)
{
    struct run r;
    run_windows(&r,
                LIST("--windows", "--option", "flush_interval_ms=10000", "--option",
                     "window_rest_ms=1", DETACH),
                LIST("1", "back"));
    check_life(&r, 1);
    assert_in_range(int_at(r.said, "0.away_ms"), 0, 8000);
    run_free(&r);
}

/* Records that do not come are missed, also if windows are open only now and then. */
TEST(losses_in_windows)
{
    struct run r;
    run_start(&r, &(struct run_setup){.binary = "fake/fake_windows",
                                      .env = LIST("FAKE_CUPTI=hide=10"),
                                      .options = LIST(AT_ONCE),
                                      .program = LIST("20")});
    run_end(&r);
    check_program(&r, 0);
    int64_t ran = int_at(r.said, "0.in_windows") + int_at(r.said, "0.nodes");
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.in_windows"));
    assert_int_equal(int_at(r.report, "ledger.kernels_recorded"), ran - ran / 10);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
    run_free(&r);
}

/* A library that refuses to be detached stays, which the session says, and windows go on. */
TEST(stays_attached)
{
    struct run r;
    run_start(&r, &(struct run_setup){.binary = "fake/fake_windows",
                                      .env = LIST("FAKE_CUPTI=fail=cuptiFinalize:0:999"),
                                      .options = LIST(AT_ONCE),
                                      .program = LIST("stay", "1")});
    child_expect(&r.c, CHILD_OUT, "\n");
    run_expect(&r, "kernels.count", 1);
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    assert_int_equal(int_at(r.said, "1.finalized"), 0);
    assert_int_equal(int_at(r.report, "kernels.count"), 1);
    check_contains(&r, capability_of(&r, "windows", "reason"), "cost up to 0.7 us more");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0); /* that alone is why */
    run_free(&r);
}

TEST(by_scope)
{
    struct run r;
    run_windows(&r, LIST("--in-scope", "step"), LIST("scopes"));
    assert_int_equal(int_at(r.report, "kernels.count"), 60);
    assert_int_equal(count_of(&r, kernel), int_at(r.said, "0.in_windows"));
    assert_int_equal(int_at(r.report, "windows.opened"), 20);
    run_free(&r);
}

/* Every kernel's id is larger than the one before, in the order of the log; how many there are. */
static size_t check_ids_count_up(const struct run *r)
{
    char pattern[PATH_MAX + 16], line[65536];
    glob_t found;
    size_t kernels = 0;
    json_int_t last = 0;
    snprintf(pattern, sizeof pattern, "%s/*/device.log", r->logs);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    FILE *f = fopen(found.gl_pathv[0], "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *batch = json_loads(line, 0, NULL);
        json_int_t id = 0;
        bool is_kernel = !strcmp(text_at(batch, "type"), "kernel");
        json_t *steps = is_kernel ? at(batch, "correlation") : NULL;
        size_t rows = is_kernel ? (size_t)int_at(batch, "rows") : 0;
        for (size_t i = 0; i < rows; i++) {
            /* An array has steps from 0; a number, as in a batch of one row, is the id itself. */
            id = json_is_array(steps) ? id + json_integer_value(json_array_get(steps, i))
                                      : json_integer_value(steps);
            assert_true(id > last);
            last = id;
        }
        kernels += rows;
        json_decref(batch);
    }
    (void)fclose(f);
    globfree(&found);
    return kernels;
}

/* After it is attached again the library counts calls from the start; a session's ids go on, so
 * that records of one window are never taken for those of another. */
TEST(ids_begin_again)
{
    struct run r;
    run_windows(&r, LIST(AT_ONCE, "--option", "log_compress=false"), LIST("again"));
    assert_int_equal(check_ids_count_up(&r), int_at(r.said, "0.in_windows"));
    assert_int_equal(count_of(&r, kernel), int_at(r.said, "0.in_windows"));
    assert_int_equal(json_array_size(at(r.report, "scopes")), 1);
    assert_int_equal(int_at(r.report, "scopes.0.kernels"), 10);
    run_free(&r);
}

TEST(by_launches)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--after-launches", "100", "--launches", "50"),
                                    .program = LIST("1000", "threads=1")});
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count"), 50);
    assert_int_equal(int_at(r.report, "windows.opened"), 1);
    run_free(&r);
    run_all(&r, &(struct run_setup){.options = LIST("--launches", "7"), .program = LIST("500")});
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count"), 7);
    run_free(&r);
}

TEST(by_clock)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--after", "100ms", "--for", "200ms"),
                                    .program = LIST("10", "ms=800")});
    check_program(&r, 0);
    int64_t ns = int_at(r.report, "windows.recorded_ns");
    assert_int_equal(int_at(r.report, "windows.opened"), 1);
    assert_true(ns >= 190000000);
    assert_true(ns < int_at(r.report, "session.duration_ns") - 100000000);
    assert_true(int_at(r.report, "kernels.count") > 0);
    assert_true(int_at(r.report, "kernels.count") < int_at(r.said, "0.launches"));
    run_free(&r);
}

/* Windows that repeat are open for a third of the time, as asked for, each as long as the first. */
TEST(by_clock_again)
{
    for (int detach = 0; detach < 2; detach++) {
        struct run r;
        run_all(&r, &(struct run_setup){
                        .options =
                            LIST("--after", "100ms", "--for", "50ms", "--every", "150ms",
                                 "--option", "flush_interval_ms=10", "--option", "window_rest_ms=1",
                                 "--option", detach ? "window_detach=true" : "window_detach=false"),
                        .program = LIST("10", "ms=1500")});
        check_program(&r, 0);
        int64_t opened = int_at(r.report, "windows.opened");
        int64_t ns = int_at(r.report, "windows.recorded_ns");
        int64_t whole = int_at(r.report, "session.duration_ns");
        assert_in_range(opened, 3, 1 + (whole - 100000000) / 150000000);
        /* A third; on a busy machine windows close late. */
        assert_in_range(ns, (opened - 1) * 50000000, whole * 3 / 4);
        assert_string_equal(capability_of(&r, "windows", "status"), "collected");
        assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.launches") * 3 / 4);
        const json_t *summary = at(r.report, "summary");
        check_contains(&r, json_string_value(json_array_get(summary, json_array_size(summary) - 1)),
                       "Percentages are shares of the time in windows.");
        run_free(&r);
    }
}

/* ---- gpufl ctl ------------------------------------------------------------------------------- */

/* Runs `gpufl ctl`. Returns its exit code; *answer is its output, which the caller frees. */
static int ctl(const struct run *r, const char *const *env, const char *pid, const char *verb,
               const char *name, json_t **answer)
{
    struct child c;
    json_error_t e;
    const char *const argv[] = {path_gpufl(), "ctl", pid, "window", verb, name, NULL};
    child_start(&c, &(struct child_setup){.dir = r->w.dir, .argv = argv, .env = env});
    int code = child_end(&c);
    *answer = json_loads(c.text[CHILD_OUT].data, 0, &e);
    child_free(&c);
    return code;
}

enum { PID_SIZE = 16 };

/* Starts a program that has closed one window and waits for a line on stdin; pid: its number. */
static void stay_start(struct run *r, const char *const *env, char pid[PID_SIZE])
{
    json_error_t e;
    run_start(r, &(struct run_setup){.binary = "fake/fake_windows",
                                     .env = env,
                                     .options = LIST(AT_ONCE),
                                     .program = LIST("stay")});
    child_expect(&r->c, CHILD_OUT, "\n");
    json_t *said = json_loads(r->c.text[CHILD_OUT].data, JSON_DISABLE_EOF_CHECK, &e);
    snprintf(pid, PID_SIZE, "%d", (int)int_at(said, "pid"));
    json_decref(said);
}

TEST(by_ctl)
{
    struct run r;
    json_t *answer;
    char pid[PID_SIZE], runtime[PATH_MAX + 64];
    stay_start(&r, NULL, pid);
    snprintf(runtime, sizeof runtime, "/tmp/gpufl-%u/%s.sock", (unsigned)geteuid(), pid);
    struct stat st;
    assert_int_equal(stat(runtime, &st), 0);
    *strrchr(runtime, '/') = '\0';
    assert_int_equal(stat(runtime, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    assert_int_equal(ctl(&r, NULL, pid, "status", NULL, &answer), 0);
    assert_int_equal(int_at(answer, "status.open"), 0);
    assert_int_equal(int_at(answer, "status.opened"), 1);
    json_decref(answer);
    assert_int_equal(ctl(&r, NULL, pid, "close", "outside", &answer), 1);
    assert_int_equal(int_at(answer, "code"), -2);
    json_decref(answer);
    assert_int_equal(ctl(&r, NULL, pid, "open", "outside", &answer), 0);
    assert_int_equal(int_at(answer, "status.open"), 1);
    json_decref(answer);
    run_expect(&r, "kernels.count", 20);
    assert_int_equal(ctl(&r, NULL, pid, "close", "outside", &answer), 0);
    json_decref(answer);
    assert_int_equal(ctl(&r, NULL, "1", "status", NULL, &answer), 1);
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "windows.opened"), 2);
    assert_int_equal(int_at(r.said, "1.outside_exit"), 0);
    run_free(&r);
}

/* The results of a request of another user: the session hangs up, answers, cannot be reached; or
 * this process cannot become that user. */
enum { HUNG_UP = 10, ANSWERED, NOT_REACHED, NOT_THAT_USER };

static int asks(uid_t user, const char *path, const char *request)
{
    const struct timeval most = {.tv_sec = 10};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char line[16];
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (setgroups(0, NULL) || setgid(user) || setuid(user))
        return NOT_THAT_USER;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) ||
        connect(fd, (const struct sockaddr *)&to, sizeof to))
        return NOT_REACHED;
    (void)!send(fd, request, strlen(request), MSG_NOSIGNAL); /* it may have hung up */
    ssize_t got = recv(fd, line, sizeof line, 0);
    if (got > 0)
        return ANSWERED;
    return got == 0 || errno == ECONNRESET ? HUNG_UP : NOT_REACHED;
}

static int asked_by(uid_t user, const char *path, const char *request)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(asks(user, path, request));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Another user is refused even if directories and socket let everybody in: the kernel says who
 * has connected. */
TEST(by_another_user)
{
    enum { NOBODY = 65534 };
    struct run r;
    json_t *answer;
    char runtime[64] = "/tmp/gpufl-ctl-XXXXXX", below[80], path[112], variable[96], pid[PID_SIZE];
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(runtime));
    snprintf(variable, sizeof variable, "XDG_RUNTIME_DIR=%s", runtime);
    const char *const env[] = {variable, NULL};
    stay_start(&r, env, pid);
    snprintf(below, sizeof below, "%s/gpufl", runtime);
    snprintf(path, sizeof path, "%s/%s.sock", below, pid);
    int kept_out = asked_by(NOBODY, path, "window open outside\n");
    assert_true(kept_out == NOT_REACHED || kept_out == NOT_THAT_USER);
    assert_int_equal(chmod(runtime, 0711) | chmod(below, 0711) | chmod(path, 0666), 0);
    assert_int_equal(asked_by(0, path, "window status\n"), ANSWERED);
    if (kept_out == NOT_REACHED)
        assert_int_equal(asked_by(NOBODY, path, "window open outside\n"), HUNG_UP);
    assert_int_equal(chmod(runtime, 0700), 0);
    /* none of their windows is open, and its own user is served as before */
    assert_int_equal(ctl(&r, env, pid, "status", NULL, &answer), 0);
    assert_int_equal(int_at(answer, "status.open"), 0);
    assert_int_equal(int_at(answer, "status.opened"), 1);
    json_decref(answer);
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "windows.opened"), 1);
    run_free(&r);
    assert_int_equal(rmdir(below) | rmdir(runtime), 0);
    if (kept_out == NOT_THAT_USER)
        skip();
}

/* Nothing was recorded, so nobody knows what the program did. */
TEST(none_was_opened)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--windows"), .program = LIST("500")});
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "windows.opened"), 0);
    assert_true(json_is_null(at(r.report, "kernels.count")));
    assert_string_equal(text_at(r.report, "known.kernels.why"), "not_recorded");
    check_contains(&r, text_at(r.report, "answer.statement"), "no window of capture was opened");
    run_free(&r);
}

/* A session that cannot have windows says why. */
TEST(not_possible)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--launches", "10", "-e", "PmSampling",
                                                    "--option", "pc_kernel_collect=none"),
                                    .program = LIST("100")});
    check_program(&r, 0);
    assert_string_equal(capability_of(&r, "windows", "status"), "unavailable");
    check_contains(&r, message_of(&r, "windows.unavailable"), "counts no launches");
    run_free(&r);
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=subscribed"),
                                    .options = LIST("--launches", "10"),
                                    .program = LIST("100")});
    check_program(&r, 0);
    assert_string_equal(capability_of(&r, "windows", "status"), "partial");
    check_contains(&r, message_of(&r, "windows.failed"), "another profiler");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand_cycles),
        cmocka_unit_test(cycles_with_contexts),
        cmocka_unit_test(while_contexts_are_created),
        cmocka_unit_test(stays_unless_it_is_detached),
        cmocka_unit_test(comes_back_at_once),
        cmocka_unit_test(losses_in_windows),
        cmocka_unit_test(stays_attached),
        cmocka_unit_test(by_scope),
        cmocka_unit_test(ids_begin_again),
        cmocka_unit_test(by_launches),
        cmocka_unit_test(by_clock),
        cmocka_unit_test(by_clock_again),
        cmocka_unit_test(by_ctl),
        cmocka_unit_test(by_another_user),
        cmocka_unit_test(none_was_opened),
        cmocka_unit_test(not_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
