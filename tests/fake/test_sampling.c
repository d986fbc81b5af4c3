/* test_sampling.c - tests engine PcSampling over the fake library: every sample of the library is
 * in the session, once, in each of its ways of counting; samples that it reports as lost are in the
 * ledger; contexts and modules begin and end; and if sampling is not available, the session says
 * why and what ran instead, and has everything else. */
#include "backend/nvidia/abi/pc.h"
#include "tests/fake/pc_run.h"
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_CODE = 5 };

/* The time that sampling takes from the program at its begin is not the program's idle time, and is
 * part of the cost. */
TEST(its_begin_is_its_own)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=pc-slow=120", NULL, LIST("500"));
    pc_check_samples(&r, &g);
    int64_t engine = idle_of_engine(&r), taken = 0, count = 0;
    size_t i;
    json_t *row;
    json_array_foreach(at(r.report, "vendor_overhead"), i, row)
    {
        if (!strcmp(text_at(row, "kind"), "engine")) {
            taken = int_at(row, "total_ns");
            count = int_at(row, "count");
        }
    }
    assert_in_range(engine, 230000000, taken); /* less what the first kernel itself takes */
    assert_in_range(taken, 240000000,
                    int_at(r.report, "ledger.cost_callbacks") +
                        int_at(r.report, "ledger.cost_start"));
    assert_true(int_at(r.report, "ledger.cost_callbacks") >= 120000000);
    assert_true(count >= 2); /* others are as long on a machine that is slow */
    bool said = false;
    json_array_foreach(at(r.report, "summary"), i, row)
    {
        said |= strstr(json_string_value(row), "while engine PcSampling was set up") != NULL;
    }
    assert_true(said);
    run_free(&r);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Each sample counts once, whether the library counts one without an issue under its reason as
 * well or not; however many calls it takes to get them. */
TEST(every_sample_once)
{
    static const struct {
        const char *script, *relation;
    } cases[] = {
        {"FAKE_CUPTI=", "within"},
        {"FAKE_CUPTI=pc-apart", "apart"},
        {"FAKE_CUPTI=pc-room=3", "within"},
        {"FAKE_CUPTI=pc-drop=7,pc-other=1000", "within"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        struct pc_given g =
            pc_sample(&r, cases[i].script, NULL, LIST("2000", "threads=2", "ms=600"));
        check_program(&r, 0);
        pc_check_samples(&r, &g);
        pc_check_setting(&r, "not_issued", cases[i].relation);
        pc_check_setting(&r, "ran_as", "PcSampling");
        pc_check_setting(&r, "period_cycles", "1048576");
        assert_string_equal(text_at(r.report, "session.engine"), "PcSampling");
        assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
        run_free(&r);
    }
}

/* None of 50 000 kernels is lost, and the report is quick: it once took 26 s. A build with a
 * sanitizer, which is several times slower, has fewer kernels. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 10000
#else
#define MANY 50000
#endif
#define TEXT_OF(number) #number
#define AS_TEXT(number) TEXT_OF(number)

TEST(kernels_without_number)
{
    struct run r;
    struct pc_given g =
        pc_run(&r, "FAKE_CUPTI=",
               (struct run_setup){.options = LIST("-e", "PcSampling"),
                                  .program = LIST(AS_TEXT(MANY), "distinct", "rate=100", "exit=5"),
                                  .top = "100"});
    check_program(&r, EXIT_CODE);
    pc_check_samples(&r, &g);
    pc_check_setting(&r, "ran_as", "PcSampling");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_int_equal(int_at(r.report, "kernels.names"), MANY);
    run_free(&r);
}

/* Half of the fake's samples are of one reason, and most of these in cycles without an issue. */
TEST(reasons_by_name)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=", "pc_kernel_collect=none", LIST("4000"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    json_t *samples = at(r.report, "samples");
    int64_t idle = int_at(samples, "not_issued");
    assert_in_range(idle * 100, g.samples * 48, g.samples * 52);
    char *text = json_dumps(at(samples, "kernels"), JSON_INDENT(1));
    check_contains(&r, text, "long_scoreboard");
    check_contains(&r, text, "barrier");
    check_contains(&r, text, "fake_gemm");
    free(text);
    run_free(&r);
}

/* With samples alone no kernel is recorded, which is no loss; launches are counted all the same. */
TEST(without_kernel_records)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("-e", "PcSampling", "--pc-kernels", "none"),
                                    .program = LIST("3000", "exit=5")});
    check_program(&r, EXIT_CODE);
    assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
    assert_true(unknown_at(r.report, "kernels.count"));
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.launches"));
    assert_string_equal(capability_of(&r, "kernels", "status"), "not_requested");
    assert_string_equal(capability_of(&r, "pc_sampling", "status"), "collected");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
}

/* Copies are not recorded, since with them a graph faults (the fake library does that). They are
 * unknown, not 0. Deep samples, too. */
TEST(no_copies_with_samples)
{
    static const char *const engines[] = {"PcSampling", "Deep"};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.options = LIST("-e", engines[i]),
                                        .program = LIST("100", "graphs=3", "peers=2", "exit=5")});
        check_program(&r, EXIT_CODE);
        assert_string_equal(capability_of(&r, "copies", "status"), "not_requested");
        check_contains(&r, capability_of(&r, "copies", "reason"), "Trace records copies");
        assert_string_equal(text_at(r.report, "known.copies.why"), "not_recorded");
        assert_true(unknown_at(r.report, "copies.count"));
        assert_true(json_is_null(at(r.report, "ledger.copies_recorded")));
        assert_true(int_at(r.said, "0.copies") > 0);
        if (i == 0) /* Deep records no kernels */
            check_section(&r, "time", "copies, which are not recorded, may have run");
        run_free(&r);
    }
}

/* ---- contexts, modules --------------------------------------------------------------------- */

/* The library samples one context of a device: the others wait, and the end of one does no harm. */
TEST(contexts_take_turns)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=", NULL, LIST("300", "threads=1", "contexts=5"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    check_contains(&r, message_of(&r, "pc_sampling.contexts"), "several contexts");
    run_free(&r);
    g = pc_sample(&r, "FAKE_CUPTI=", NULL, LIST("300", "threads=0", "contexts=5"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    run_free(&r);
}

static int count_files(const char *dir, const char *end)
{
    int count = 0;
    char path[PATH_MAX];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), m = strlen(end);
        if (e->d_name[0] == '.')
            continue;
        if (n > m && !strcmp(e->d_name + n - m, end))
            count++;
        else if (e->d_type == DT_DIR &&
                 snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
            count += count_files(path, end);
    }
    if (d)
        closedir(d);
    return count;
}

/* Loaded and unloaded time and again, the same code is one file. */
TEST(code_is_kept_once)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=", NULL, LIST("100", "threads=0", "modules=20"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    assert_int_equal(count_files(r.logs, ".cubin"), 2);
    run_free(&r);
    pc_sample(&r, "FAKE_CUPTI=fail=cuptiGetCubinCrc:0:999", NULL, LIST("100", "modules=4"));
    check_program(&r, 0);
    assert_int_equal(count_files(r.logs, ".cubin"), 0);
    check_contains(&r, message_of(&r, "code.not_kept"), "could not be written or read");
    run_free(&r);
}

/* The report has nvdisasm's error for a file that is no ELF, as the fake's code. */
static const char REFUSES[] = "#!/bin/sh\n"
                              "echo \"nvdisasm fatal   : Input file is not in 'elf' format\" >&2\n"
                              "exit 255\n";

static void check_no_text(const struct run *r, const char *nvdisasm, const char *why)
{
    struct child c;
    json_error_t e;
    char env[PATH_MAX + 32];
    snprintf(env, sizeof env, "GPUFL_NVDISASM=%s", nvdisasm);
    const char *const argv[] = {path_reader(), "report", "--json", "--kernel",
                                "kernel_0",    r->logs,  NULL};
    child_start(&c, &(struct child_setup){.dir = r->w.dir, .argv = argv, .env = LIST(env)});
    assert_int_equal(child_end(&c), 0);
    json_t *report = json_loads(c.text[CHILD_OUT].data, 0, &e);
    assert_non_null(report);
    check_contains(r, text_at(report, "code.0.no_text"), why);
    assert_int_equal(json_array_size(at(report, "code.0.instructions")), 3); /* by offset */
    assert_true(int_at(report, "code.0.samples") > 0);
    json_decref(report);
    child_free(&c);
}

/* Code that is damaged: its samples stay, by offset, and the report says why they have no lines. */
TEST(damaged_code)
{
    struct run r;
    char stub[PATH_MAX + 16];
    pc_sample(&r, "FAKE_CUPTI=", NULL, LIST("100", "modules=4", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_int_equal(count_files(r.logs, ".cubin"), 2);
    snprintf(stub, sizeof stub, "%s/nvdisasm", r.w.dir);
    FILE *f = fopen(stub, "we");
    assert_true(f && fputs(REFUSES, f) >= 0 && fclose(f) == 0 && chmod(stub, 0700) == 0);
    check_no_text(&r, stub, "nvdisasm cannot read");
    check_no_text(&r, "/bin/true", "knows no instruction of");
    check_no_text(&r, "/nowhere/nvdisasm", "/nowhere/nvdisasm");
    run_free(&r);
}

/* ---- losses, refusals ---------------------------------------------------------------------- */

TEST(a_full_buffer_is_counted)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=pc-full=2", NULL, LIST("1000", "ms=900"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    assert_int_equal(int_at(r.report, "ledger.samples_overflows"), 1);
    check_contains(&r, message_of(&r, "pc_sampling.overflow"), "pc_sampling_period");
    run_free(&r);
}

/* If sampling is not available, kernels are traced; without kernel records Sync is left. */
TEST(refusals)
{
    for (int i = 0; i < PC_REFUSALS; i++) {
        struct run r;
        struct engine_case sync = {"PcSampling", "pc_sampling", .instead = "Sync",
                                   .sentence = pc_refusals[i].sentence};
        pc_sample(&r, pc_refusals[i].script, NULL, LIST("500", "exit=5"));
        check_refused(&r, &pc_refusals[i], EXIT_CODE);
        run_free(&r);
        pc_sample(&r, pc_refusals[i].script, "pc_kernel_collect=none", LIST("500", "exit=5"));
        check_instead(&r, &sync, EXIT_CODE);
        check_contains(&r, message_of(&r, "pc_sampling.unavailable"), "were not asked for");
        run_free(&r);
    }
}

static void run_with_fault(const char *script)
{
    struct run r;
    pc_sample(&r, script, NULL, LIST("300", "contexts=1", "modules=2", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* Every call fails once, twice, always: the program runs to its end, and kernels are traced. */
TEST(every_function_fails)
{
    static const char *const functions[] = {CUPTI_PC_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 3, run_with_fault);
}

/* Attributes that only tune may be refused. */
TEST(goes_on_without_tuning)
{
    static const char *const scripts[] = {
        "FAKE_CUPTI=fail=cuptiPCSamplingSetConfigurationAttribute:1:7",
        "FAKE_CUPTI=pc-few",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        struct pc_given g = pc_sample(&r, scripts[i], NULL, LIST("500"));
        check_program(&r, 0);
        pc_check_samples(&r, &g);
        pc_check_setting(&r, "ran_as", "PcSampling");
        if (i == 1)
            pc_check_setting(&r, "refused_attributes", "24"); /* scratch and hardware buffer */
        run_free(&r);
    }
}

/* Sampling stays on if another thread may be in the driver, and so do kernel records: the next
 * session goes on with both. A session that wants kernel records says so if there were none. */
TEST(sampling_outlives_a_session)
{
    struct run r;
    struct run_setup setup = {.env = LIST("GPUFL_LOG_PATH=logs"),
                              .linked = true,
                              .alone = true,
                              .program = LIST("500", "sampled", "sessions=2", "other-thread")};
    run_all(&r, &setup);
    check_program(&r, 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
    assert_null(message_of(&r, "trace_failed"));
    /* Kernels that were queued between the sessions run in the second. */
    assert_true(int_at(r.report, "kernels.count") >= 1000);
    assert_int_equal(int_at(r.report, "ledger.lost_driver"), 0);
    run_free(&r);

    setup.program = LIST("500", "sampled", "sessions=2", "other-thread", "alone-first");
    run_all(&r, &setup);
    check_program(&r, 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
    check_contains(&r, message_of(&r, "trace_failed"), "still sampled for an earlier session");
    run_free(&r);
}

/* Nothing is switched off while threads launch: neither as the process ends, nor after the
 * capture. */
TEST(launching_at_exit)
{
    static const char *const collects[] = {"all", "none"};
    for (int i = 0; i < 4; i++) {
        struct run r;
        const char *collect = collects[i % 2];
        run_all(&r, &(struct run_setup){
                        .options = i < 2 ? LIST("-e", "PcSampling", "--pc-kernels", collect)
                                         : LIST("-e", "PcSampling", "--pc-kernels", collect,
                                                "--duration", "400ms"),
                        .program = LIST("300", "ms=900", "storm=4", "exit=5")});
        check_program(&r, EXIT_CODE);
        assert_true(json_is_true(at(r.report, "ledger.final")));
        assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
        run_free(&r);
    }
}

/* A scope gets the samples of windows that it covers, and no others: the first one began before. */
TEST(scopes_that_cover_a_window)
{
    struct run r;
    run_all(&r,
            &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=50"),
                                .linked = true,
                                .alone = true,
                                .program = LIST("500", "threads=1", "sampled", "ms=1200")});
    check_program(&r, 0);
    json_t *scopes = at(r.report, "samples.scopes");
    int64_t sum = 0, all = int_at(r.report, "ledger.samples_recorded");
    size_t i;
    json_t *row;
    json_array_foreach(scopes, i, row)
    {
        assert_string_equal(text_at(row, "scope"), "work");
        sum += int_at(row, "samples");
    }
    assert_in_range(sum, 1, all - 1); /* how many depends on the collector */
    run_free(&r);
}

/* Scopes that end before samples are drained twice have no measured samples, but a share through
 * their kernels, if these have records. */
TEST(short_scopes)
{
    static const char *const collects[] = {"all", "none"};
    for (int i = 0; i < 2; i++) {
        struct run r;
        char env[64];
        int64_t measured = 0;
        double estimated = 0;
        size_t row;
        json_t *scope;
        snprintf(env, sizeof env, "GPUFL_PC_KERNEL_COLLECT=%s", collects[i]);
        run_all(&r,
                &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs", env),
                                    .linked = true,
                                    .alone = true,
                                    .program = LIST("500", "threads=1", "sampled", "steps=20")});
        check_program(&r, 0);
        json_array_foreach(at(r.report, "samples.scopes"), row, scope)
        {
            assert_string_equal(text_at(scope, "scope"), "step");
            measured += int_at(scope, "samples");
            estimated += json_number_value(at(scope, "estimated"));
        }
        assert_int_equal(measured, 0);
        if (i == 0) { /* all but the launches before and after, 500 each */
            int64_t all = int_at(r.report, "samples.samples"), about = (int64_t)(estimated + 0.5);
            assert_int_equal(int_at(r.report, "samples.estimated_of"), all);
            assert_in_range(about, all * 20 / 22 - all / 50, all * 20 / 22 + all / 50);
        } else {
            assert_true(estimated == 0);
            assert_true(json_is_null(at(r.report, "samples.estimated_of")));
        }
        run_free(&r);
    }
}

/* Each session has its own samples; no session has those taken in between. */
TEST(sessions_follow_each_other)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs"),
                                    .linked = true,
                                    .alone = true,
                                    .program = LIST("500", "threads=2", "sampled", "sessions=3")});
    check_program(&r, 0);
    assert_non_null(r.report);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 3);
    assert_int_equal(int_at(r.report, "kernels.count"), 3 * int_at(r.said, "0.launches"));
    int64_t samples = int_at(r.report, "ledger.samples_recorded");
    assert_in_range(samples, 3 * 1500 * 50, 3 * 1500 * 60);
    pc_check_setting(&r, "ran_as", "PcSampling");
    run_free(&r);
}

/* If another process samples the device, the program is traced as far as possible, and the
 * session says who has the device. A report of both says what each of them ran as. */
TEST(one_process_at_a_time)
{
    struct run r;
    char path[64], holder[32];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pc_claim_path(path, sizeof path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    run_all(&r, &(struct run_setup){.options = LIST("-e", "PcSampling"), .program = LIST("500")});
    snprintf(holder, sizeof holder, "process %d samples", (int)getpid());
    check_refused(&r, &(struct engine_case){"PcSampling", "pc_sampling", .sentence = holder}, 0);
    assert_int_equal(int_at(r.report, "ledger.samples_recorded"), 0);
    close(fd);

    struct run next; /* next to it on disk */
    run_all(&next, &(struct run_setup){.options = LIST("-e", "PcSampling", "-o", r.logs),
                                       .program = LIST("500")});
    json_decref(r.report);
    r.report = run_report(&r);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
    assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
    assert_int_equal(pc_settings_named(&r, "ran_as"), 2);
    assert_string_equal(text_at(r.report, "sessions.0.asked"), "PcSampling");
    assert_string_equal(text_at(r.report, "sessions.0.ran_as"), "Trace");
    check_contains(&r, text_at(r.report, "sessions.0.why"), holder);
    assert_true(json_is_null(at(r.report, "sessions.1.ran_as")));
    run_free(&next);
    run_free(&r);
}

/* A forked child is silent, and its parent goes on. */
TEST(survives_fork)
{
    struct run r;
    /* The child does not free the session that it inherited, on purpose. */
    run_all(&r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                    .options = LIST("-e", "PcSampling"),
                                    .program = LIST("500", "fork=after")});
    check_program(&r, 0);
    assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_begin_is_its_own),
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(kernels_without_number),
        cmocka_unit_test(reasons_by_name),
        cmocka_unit_test(without_kernel_records),
        cmocka_unit_test(no_copies_with_samples),
        cmocka_unit_test(contexts_take_turns),
        cmocka_unit_test(code_is_kept_once),
        cmocka_unit_test(damaged_code),
        cmocka_unit_test(a_full_buffer_is_counted),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_function_fails),
        cmocka_unit_test(goes_on_without_tuning),
        cmocka_unit_test(sampling_outlives_a_session),
        cmocka_unit_test(launching_at_exit),
        cmocka_unit_test(scopes_that_cover_a_window),
        cmocka_unit_test(short_scopes),
        cmocka_unit_test(sessions_follow_each_other),
        cmocka_unit_test(one_process_at_a_time),
        cmocka_unit_test(survives_fork),
    };
    return cmocka_run_group_tests(tests, NULL, pc_remove_claim);
}
