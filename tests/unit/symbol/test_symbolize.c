/* test_symbolize.c - a session's frames are looked up, and the results are written into it. */
#include "analyze/symbolize/symbolize.h"
#include "tests/test.h"

#include "analyze/model/load.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/thread.h"
#include "tests/unit/support/symbolize_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

TEST(test_session)
{
    struct read_back r;
    char source[PATH_MAX];
    write_session(&(struct how){0});
    struct gpufl_symbolized s = symbolize(0);
    assert_string_equal(s.note, "");
    assert_true(s.written);
    assert_int_equal(s.sessions, 1);
    assert_int_equal(s.frames, CALLS + 3);
    assert_int_equal(s.known, 0);
    assert_int_equal(s.lines, CALLS);
    assert_int_equal(s.functions, 0);
    assert_int_equal(s.unknown, 3);
    assert_int_equal(s.sources, 2);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 0);
    assert_string_equal(r.channel, "code");
    assert_int_equal(r.part, 1);
    assert_int_equal(r.offset, 0);
    assert_int_equal(r.frames, CALLS + 3);
    check_symbols(&r);
    for (int i = 0; i < NAME_OPTION + 2; i++) /* ids of the session keep their names */
        assert_true(!r.names[i] || i <= NAME_GONE);
    check_source(&r, symbolize_fix.script);
    snprintf(source, sizeof source, "%s/tests/symbol/cases.cc", getenv("GPUFL_SOURCE_DIR"));
    check_source(&r, source);
    forget(&r);
}

TEST(test_again)
{
    write_session(&(struct how){0});
    symbolize(0);
    int64_t size = code_size();
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, CALLS + 3);
    assert_int_equal(s.lines + s.functions + s.unknown + s.sources, 0);
    assert_true(s.written);
    assert_int_equal(code_size(), size);
}

/* The program is gone; its debug file lies in a folder that the environment names. */
TEST(test_debug_files)
{
    static const char *const folders[] = {"/nonexistent", tmpdir};
    char program[PATH_MAX], debug[PATH_MAX];
    const char *id = symbolize_fix.file.build_id;
    memcpy(program, symbolize_fix.program, sizeof program);
    snprintf(debug, sizeof debug, "%s/.build-id/%.2s", tmpdir, id);
    assert_int_equal(file_mkdirs(debug, 0777, NULL), 0);
    snprintf(debug, sizeof debug, "%s/.build-id/%.2s/%s.debug", tmpdir, id, id + 2);
    assert_int_equal(symlink(program, debug), 0);
    snprintf(symbolize_fix.program, sizeof symbolize_fix.program, "/nowhere/cc5");
    for (int i = 0; i < 2; i++) {
        write_session(&(struct how){0});
        unlink(in_session("code.log"));
        setenv("GPUFL_DEBUG_FILES", folders[i], 1);
        assert_int_equal(symbolize(0).lines, i ? CALLS + 1 : 0); /* libgone.so has that id, too */
    }
    unsetenv("GPUFL_DEBUG_FILES");
    memcpy(symbolize_fix.program, program, sizeof program);
}

/* The file ends in an incomplete line, and the session has new frames since the first run. */
TEST(test_more)
{
    struct read_back r;
    struct make_log l;
    write_session(&(struct how){0});
    symbolize(0);
    int64_t size = code_size();
    make_log_init(&l, SESSION);
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    put_native(&l, CALLS + 5, 1, symbolize_fix.addresses[0]);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    FILE *f = fopen(in_session("code.log"), "a");
    assert_non_null(f);
    fputs("{\"type\":\"names\",\"ro", f);
    fclose(f);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, CALLS + 3);
    assert_int_equal(s.lines, 1);
    assert_true(s.written);
    assert_true(code_size() > size);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 1);
    check_symbols(&r);
    assert_non_null(symbol_of(&r, CALLS + 5, 2));
    forget(&r);
}

TEST(test_next_part)
{
    struct read_back r;
    write_session(&(struct how){.no_sources = true});
    symbolize(0);
    int64_t size = code_size();
    assert_int_equal(file_gzip(in_session("code.log"), in_session("code.1.log.gz"), 1, NULL), 0);
    unlink(in_session("code.log"));
    assert_int_equal(symbolize(0).known, CALLS + 3);
    assert_false(file_exists(in_session("code.log")));
    struct make_log l;
    make_log_init(&l, SESSION);
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    put_native(&l, CALLS + 5, 1, symbolize_fix.addresses[0]);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    assert_int_equal(symbolize(0).lines, 1);
    read_file(&r, "code.log");
    assert_int_equal(r.part, 2);
    assert_int_equal(r.offset, size);
    assert_int_equal(r.frames, 1);
    assert_int_equal(r.modules, 1);
    assert_int_equal(r.source_count, 0);
    forget(&r);
}

/* ---- what is not written ------------------------------------------------------------ */

/* Results that are not written into the session still get into the model. */
static void check_in_memory(const char *reason)
{
    struct discover d;
    struct load_options o = {0};
    struct load_stats stats;
    struct intern *names;
    struct model m;
    struct err e = {0};
    int64_t size = code_size();
    assert_int_equal(intern_open(&names, 1 << 20, 1 << 28), 0);
    assert_int_equal(discover_open(&d, in_session(""), &e), 0);
    model_init(&m, names);
    assert_int_equal(load_session(&m, &d.sessions[0], &o, &stats, &e), 0);
    assert_int_equal(stats.symbols.lines, CALLS);
    assert_int_equal(stats.symbols.unwritten, reason != NULL);
    if (reason && !strstr(stats.symbols.note, reason))
        fail_msg("%s: %s", reason, stats.symbols.note);
    assert_true(m.stacks.symbol_count >= CALLS + 3);
    if (reason)
        assert_int_equal(code_size(), size);
    assert_int_equal(stats.lines.damaged, 0);
    model_fini(&m);
    discover_close(&d);
    intern_close(names);
}

TEST(test_not_written)
{
    write_session(&(struct how){.running = true});
    check_in_memory("has not ended");
    write_session(&(struct how){.host = "elsewhere"});
    check_in_memory("another host");
    assert_int_equal(symbolize(0).sources, 0);
    write_session(&(struct how){0});
    int fd = open(in_session(""), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    check_in_memory("another report");
    close(fd);
    assert_int_equal(symlink(tmpdir_write("empty", "", 0), in_session("code.log")), 0);
    check_in_memory("symbolic links");
    assert_int_equal(unlink(in_session("code.log")), 0);
    check_in_memory(NULL);
    assert_int_equal(symbolize(0).known, CALLS + 3);
}

TEST(test_over)
{
    write_session(&(struct how){.running = true, .no_sources = true});
    struct gpufl_symbolized s = symbolize(GPUFL_SYMBOLIZE_ENDED);
    assert_true(s.written);
    assert_int_equal(s.sources, 0);
    assert_int_equal(symbolize(0).known, CALLS + 3);
}

/* Gives the session another process id, and its files an age. */
static void make_it_of(pid_t pid, int seconds)
{
    static const char *const files[] = {"scope.log", "system.log", "device.log"};
    for (size_t i = 0; i < 3; i++) {
        const char *path = in_session(files[i]);
        char command[PATH_MAX + 128];
        snprintf(command, sizeof command,
                 "test ! -e '%s' || { sed -i '1s/\"pid\":[0-9]*/\"pid\":%d/; "
                 "1s/\"start\":[0-9]*/\"start\":0/' '%s' && "
                 "touch -d '-%d seconds' '%s'; }",
                 path, (int)pid, path, seconds, path);
        assert_int_equal(system(command), 0);
    }
}

/* A program that was killed, or ended by _exit, leaves no end in its log. Its session counts as
 * ended if the process is gone and has not written lately. */
TEST(test_died)
{
    int status;
    write_session(&(struct how){.running = true});
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    make_it_of(getpid(), 60);
    check_in_memory("has not ended");
    make_it_of(pid, 0);
    check_in_memory("has not ended");
    make_it_of(pid, 60);
    assert_true(symbolize(0).written);
    assert_int_equal(symbolize(0).known, CALLS + 3);
}

/* If the results exceed a limit, none of them is in the log. */
TEST(test_no_room)
{
    struct rlimit before, small;
    write_session(&(struct how){0});
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){2000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(s.written);
    assert_non_null(strstr(s.note, "too large"));
    assert_int_equal(s.lines, CALLS);
    assert_false(file_exists(in_session("code.log")));
    assert_true(symbolize(0).written);
}

/* ---- several at once, and little memory -------------------------------------------------- */

static void *symbolize_thread(void *arg)
{
    *(struct gpufl_symbolized *)arg = symbolize(0);
    return NULL;
}

/* However many threads symbolize a session at once, its results are written once. */
TEST(test_together)
{
    enum { THREADS = 4 };
    struct gpufl_symbolized results[THREADS];
    struct thread threads[THREADS];
    struct read_back r;
    write_session(&(struct how){0});
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], "symbolize", 0, symbolize_thread, &results[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(results[i].known + results[i].lines + results[i].unknown, CALLS + 3);
    assert_true(symbolize(0).written);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 0);
    check_symbols(&r);
    forget(&r);
}

TEST(test_no_memory)
{
    struct discover d;
    struct symbolize_stats stats;
    int64_t n = 0;
    int rc = GPUFL_E_NOMEM;
    write_session(&(struct how){.running = true});
    assert_int_equal(discover_open(&d, in_session(""), NULL), 0);
    for (; rc; n++) {
        mem_fail_at(n);
        rc = symbolize_session(&d.sessions[0], 0, &stats);
        int64_t made = mem_count();
        mem_fail_at(-1);
        assert_true(rc == 0 || rc == GPUFL_E_NOMEM);
        if (made <= n)
            break;
        rc = GPUFL_E_NOMEM;
    }
    assert_true(n > 50);
    assert_int_equal(stats.lines, CALLS);
    discover_close(&d);
}

/* ---- a machine without libdw ------------------------------------------------------------- */

/* Runs in a process of its own, which finds a libdw that cannot be loaded: functions come from
 * the symbol table and are not written, so that a later run finds the lines. */
static int without_libdw(void)
{
    struct gpufl_symbolized s = {.size = sizeof s};
    if (gpufl_symbolize(getenv("GPUFL_TEST_SESSION"), 0, &s, NULL, 0))
        return 2;
    if (s.lines || s.functions != CALLS || s.written || !strstr(s.note, "install libdw1"))
        return 3;
    return 0;
}

TEST(test_without_libdw)
{
    char command[2 * PATH_MAX], exe[PATH_MAX];
    struct read_back r;
    write_session(&(struct how){0});
    tmpdir_write("libdw.so.1", "no library", 10);
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    snprintf(command, sizeof command,
             "GPUFL_TEST_SESSION='%s' LD_LIBRARY_PATH='%s' '%s' without-libdw", in_session(""),
             tmpdir, exe);
    assert_int_equal(system(command), 0);
    read_file(&r, "code.log"); /* sources do not need libdw */
    assert_int_equal(r.symbol_count, 0);
    check_source(&r, symbolize_fix.script);
    forget(&r);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, 0);
    assert_int_equal(s.lines, CALLS);
    assert_true(s.written);
    read_file(&r, "code.log");
    check_symbols(&r);
    forget(&r);
}

TEST(test_bad_arguments)
{
    char error[384] = "";
    assert_int_equal(gpufl_symbolize(NULL, 0, NULL, error, sizeof error), GPUFL_E_INVAL);
    assert_true(*error);
    assert_int_equal(gpufl_symbolize("/nowhere", 0, NULL, error, sizeof error), GPUFL_E_NOENT);
    assert_int_equal(gpufl_symbolize("/nowhere", 0, NULL, NULL, 0), GPUFL_E_NOENT);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "without-libdw"))
        return without_libdw();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_debug_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_next_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_died, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_libdw, set_up, tear_down),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
