/* test_rights.c - tests programs that give something up: the log is complete although they could
 * not open its files any more, and if nothing can be captured `gpufl trace` says only what is
 * known. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SKIPPED_EXIT = 77, OWN_FILES = 64 };

static void run_at(struct run *r, const char *what, const char *rotate, const char *interval)
{
    char option[64];
    snprintf(option, sizeof option, "log_rotate_bytes=%s", rotate);
    /* The search for leaks needs rights that these programs give up, and a crash must end the
     * program by its signal. */
    run_all(r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0:handle_segv=0"),
                                   .options = LIST("-e", "Trace", "--option", option, "--option",
                                                   interval, "--option", "flush_first_ms=5"),
                                   .binary = "fake/fake_rights",
                                   .program = LIST(what),
                                   .own_library = true});
}

static void run_it(struct run *r, const char *what, const char *rotate)
{
    run_at(r, what, rotate, "flush_interval_ms=250");
}

/* The short intervals at the start bring kernels to the log before the program's deadline, and
 * flush_interval_ms alone does not. */
static void run_brief(struct run *r, const char *what)
{
    run_at(r, what, "64M", "flush_interval_ms=10000");
}

/* Every kernel from before and after the change is in the log, with small parts and with one. */
TEST(the_log_goes_on)
{
    static const char *const all[] = {"user", "root", "folder", "nofile", "seccomp"};
    static const char *const rotates[] = {"64M", "64K"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof rotates / sizeof *rotates; k++) {
            struct run r;
            run_it(&r, all[i], rotates[k]);
            if (r.code == SKIPPED_EXIT) {
                print_message("%s: not possible here\n", all[i]);
                run_free(&r);
                continue;
            }
            check_program(&r, 0);
            assert_non_null(r.report);
            if (int_at(r.report, "ledger.kernels_written") != 20020 ||
                !json_is_true(at(r.report, "session.clean_end")))
                fail_msg("%s, parts of %s: %s", all[i], rotates[k], r.c.text[CHILD_ERR].data);
            run_free(&r);
        }
}

/* A session that listens for orders: the files of a program that closes all descriptors get nothing
 * of it, and the program's end does not wait for it. */
TEST(files_of_the_program_stay_its_own)
{
    struct run r;
    char path[PATH_MAX + 16];
    struct stat st;
    run_all(&r,
            &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                .options = LIST("-e", "Trace", "--option", "remote_control=true"),
                                .binary = "fake/fake_rights",
                                .program = LIST("reuse")});
    check_program(&r, 0);
    assert_non_null(r.report);
    assert_int_equal(int_at(r.report, "ledger.kernels_written"), 20020);
    assert_true(json_is_true(at(r.report, "session.clean_end")));
    assert_null(strstr(r.c.text[CHILD_ERR].data, "did not come in time"));
    for (int i = 3; i < OWN_FILES; i++) {
        snprintf(path, sizeof path, "%s/own-%d", r.w.dir, i);
        assert_int_equal(stat(path, &st), 0);
        if (st.st_size)
            fail_msg("%s has %d bytes", path, (int)st.st_size);
    }
    run_free(&r);
}

/* Stacks name the program's lines, though neither /proc nor the program's file is reachable where
 * the first one is captured. */
TEST(lines_in_a_new_root)
{
    struct run r;
    run_it(&r, "jail", "64K");
    if (r.code != SKIPPED_EXIT) {
        check_program(&r, 0);
        assert_non_null(r.report);
        assert_int_equal(int_at(r.report, "ledger.kernels_written"), 20000);
        assert_true(json_is_true(at(r.report, "session.clean_end")));
        char *text = json_dumps(r.report, 0);
        assert_non_null(strstr(text, "rights.c"));
        assert_null(strstr(text, "<driver-internal>"));
        assert_null(strstr(text, "<unknown>"));
        free(text);
    }
    run_free(&r);
}

/* The run's folder has another name by the end. */
TEST(moved_away)
{
    struct run r;
    char moved[PATH_MAX];
    run_it(&r, "moved", "64K");
    check_program(&r, 0);
    check_contains(&r, r.c.text[CHILD_ERR].data, "1 session began, and the files are gone");
    snprintf(moved, sizeof moved, "%.4000s/moved", r.w.dir);
    assert_int_equal(rename(moved, r.logs), 0);
    json_t *report = run_report(&r);
    assert_non_null(report);
    assert_int_equal(int_at(report, "ledger.kernels_written"), 20020);
    assert_true(json_is_true(at(report, "session.clean_end")));
    json_decref(report);
    run_free(&r);
}

/* ---- no end -------------------------------------------------------------------------------- */

/* A program that ends by _exit after 50 ms of kernels, on a busy machine when half of them are in
 * the log: the session has them, with names, and says how the program ended. */
TEST(ended_by_exit)
{
    struct run r;
    run_brief(&r, "brief");
    check_program(&r, 3);
    check_contains(&r, r.c.text[CHILD_ERR].data, "the program ended by _exit, code 3");
    assert_non_null(r.report);
    int64_t kept = int_at(r.said, "0.kept"), written = int_at(r.report, "ledger.kernels_written");
    print_message("%lld of %lld kernels in %lld ms\n", (long long)written,
                  (long long)int_at(r.said, "0.launches"), (long long)int_at(r.said, "0.ms"));
    assert_in_range(written, kept, int_at(r.said, "0.launches"));
    assert_true(2 * kept >= int_at(r.said, "0.launches"));
    assert_string_equal(text_at(r.report, "session.ending"), "the program ended by _exit, code 3");
    assert_false(json_is_true(at(r.report, "session.clean_end")));
    char *text = json_dumps(r.report, 0);
    assert_non_null(strstr(text, "rights.c")); /* the line at which it waited */
    free(text);
    run_free(&r);
}

/* From Linux 6.16 on, other processes can see how a process ended. */
static bool kernel_reports(void)
{
    struct utsname u;
    int major = 0, minor = 0;
    assert_int_equal(uname(&u), 0);
    assert_int_equal(sscanf(u.release, "%d.%d", &major, &minor), 2);
    return major > 6 || (major == 6 && minor >= 16);
}

/* A child that ends by _exit: its parent knows how it ended, and so may the kernel. */
TEST(a_child_ended_by_exit)
{
    struct run r;
    run_brief(&r, "child");
    check_program(&r, 0);
    check_contains(&r, r.c.text[CHILD_ERR].data,
                   kernel_reports() ? "1 process ended by _exit, code 3: what it did"
                                    : "1 process ended without exit handlers (_exit, or killed)");
    assert_non_null(r.report);
    check_contains(&r, text_at(r.report, "session.ending"),
                   kernel_reports() ? "ended by _exit, code 3" : "ran no exit handler");
    /* What was read was launched: nothing of it "never reached the log". */
    int64_t read = int_at(r.report, "kernels.count");
    assert_true(int_at(r.report, "ledger.kernels_written") >= read);
    assert_true(int_at(r.report, "ledger.launches") >= read);
    char *text = json_dumps(r.report, 0);
    assert_non_null(strstr(text, "rights.c"));
    free(text);
    run_free(&r);
}

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        count += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return count;
}

/* Processes of which nothing was written are named next to others, too, and leave nothing on
 * disk. */
TEST(lost_during_others)
{
    static const char *const all[] = {"others", "lost"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct run r;
        run_it(&r, all[i], "64M");
        check_program(&r, 0);
        const char *said = r.c.text[CHILD_ERR].data;
        bool known = kernel_reports();
        check_contains(&r, said,
                       known ? "1 process ended (signal 11, Segmentation fault) before its first "
                               "records were written: right after it had initialized CUDA (pid "
                             : "1 process ended before its first records were written");
        check_contains(&r, said,
                       known ? "1 process ended (signal 31, Bad system call) while capture began"
                             : "1 process ended while capture began");
        if (i == 0) {
            check_contains(&r, said, "1 session in ");
            assert_non_null(r.report);
            assert_int_equal(json_array_size(at(r.report, "sessions")), 1);
            assert_int_equal(int_at(r.report, "ledger.kernels_written"), 120);
        } else {
            check_contains(&r, said, "no process got so far as to write a record");
            assert_null(strstr(said, "exit code"));
        }
        assert_int_equal(entries(r.logs), i == 0);
        run_free(&r);
    }
}

/* A session whose log cannot take its end is no program that ended by _exit. */
TEST(a_log_that_cannot_grow)
{
    struct run r;
    run_it(&r, "fsize", "64M");
    check_program(&r, 0);
    check_contains(&r, r.c.text[CHILD_ERR].data, "raise the file size limit");
    check_contains(&r, r.c.text[CHILD_ERR].data,
                   "the log of 1 process could not be written to the end");
    assert_null(strstr(r.c.text[CHILD_ERR].data, "_exit"));
    assert_non_null(r.report);
    assert_string_equal(text_at(r.report, "session.ending"),
                        "the session ended, and its log could not be written to the end");
    run_free(&r);
}

/* ---- no session ---------------------------------------------------------------------------- */

/* The file by which sessions share their samples. */
static const char *sampler_in(const struct run *r)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/.gpufl-sampler", r->logs);
    return path;
}

/* Lines that gpufl prints. */
static int sentences(const char *text)
{
    int count = 0;
    for (; (text = strstr(text, "gpufl: ")); text++)
        count++;
    return count;
}

TEST(says_what_is_known)
{
    static const struct {
        const char *what;
        int code;
        const char *sentence;
    } cases[] = {
        {"threads", 0, "capture could not begin: the system refuses gpufl a thread"},
        {"environment", 0, "nothing was captured: "}, /* which one: see unit.cli.trace_why */
        {"removed", 0, "1 session began, and the files are gone"},
        {"silent", 139, "the program ended (signal 11"},
        {"127", 127, "the program ended with exit code 127, and no session began in it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_it(&r, cases[i].what, "64M");
        if (r.code != SKIPPED_EXIT) {
            if (r.code != cases[i].code || !strstr(r.c.text[CHILD_ERR].data, cases[i].sentence))
                fail_msg("%s: %d, %s", cases[i].what, r.code, r.c.text[CHILD_ERR].data);
            assert_null(strstr(r.c.text[CHILD_ERR].data, "never used the GPU"));
            if (strcmp(cases[i].what, "threads") == 0) /* one sentence, nothing before it */
                assert_int_equal(sentences(r.c.text[CHILD_ERR].data), 1);
            assert_int_equal(entries(r.logs), 0);
            assert_int_equal(access(sampler_in(&r), F_OK), -1);
        }
        run_free(&r);
    }
}

/* The limit leaves address space for the program and the driver, not for the library or its
 * threads. */
TEST(a_memory_limit)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers' own memory is beyond any limit */
#endif
    struct run r;
    run_it(&r, "memory", "64M");
    check_program(&r, 0);
    if (!r.report) {
        check_contains(&r, r.c.text[CHILD_ERR].data, "memory is limited");
        assert_null(strstr(r.c.text[CHILD_ERR].data, "never used the GPU"));
    }
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_goes_on),
        cmocka_unit_test(files_of_the_program_stay_its_own),
        cmocka_unit_test(moved_away),
        cmocka_unit_test(ended_by_exit),
        cmocka_unit_test(a_child_ended_by_exit),
        cmocka_unit_test(a_log_that_cannot_grow),
        cmocka_unit_test(says_what_is_known),
        cmocka_unit_test(a_memory_limit),
        cmocka_unit_test(lost_during_others),
        cmocka_unit_test(lines_in_a_new_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
