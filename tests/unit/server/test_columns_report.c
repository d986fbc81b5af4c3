/* test_columns_report.c - a sent session gives the report of its files: every session of
 * the examples and of the tests' data, of both formats, and simulated ones; the report says
 * what could not be loaded. */
#include "analyze/read/discover.h"
#include "analyze/report/report.h"
#include "base/file/file.h"
#include "base/packed/lines.h"
#include "server/analysis/columns_report.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/shared_log.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/encode.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- sending a folder ------------------------------------------------------------------------ */

/* Sends a part as it is on the disk, like an uploader; session gets its id. */
static void send_part(char *session, const struct discover_part *p)
{
    struct err e = {0};
    struct ingest_answer a;
    char *data;
    size_t n;
    struct ingest_request r = fixture_request(*session ? session : NULL, NULL, 0);
    const char *ending = strrchr(p->path, '.');
    r.encoding = !strcmp(ending, ".gz")    ? INGEST_GZIP
                 : !strcmp(ending, ".zst") ? INGEST_ZSTD
                                           : INGEST_PLAIN;
    if (file_read_all(p->path, 1u << 30, &data, &n, &e))
        fail_msg("%s", e.text);
    fixture_send(&fix, &r, data, n, 60000, &a);
    if (a.status != 200)
        fail_msg("%s: %d %s", p->path, a.status, a.text);
    snprintf(session, STORE_ID_MAX, "%s", a.session);
    free(data);
}

static void send_folder(const struct discover_session *s, char *id)
{
    struct ingest_answer a;
    *id = '\0';
    for (size_t i = 0; i < s->count; i++)
        send_part(id, &s->parts[i]);
    ingest_complete(fix.intake.ingest, "w", id, &a);
    assert_int_equal(a.status, 200);
    fixture_drain(&fix);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Removes from a report what depends on the place. */
static void take_out_place(json_t *report)
{
    static const char *const log[] = {
        "parts",         "missing_parts",    "unreadable_parts", "broken_off_parts",
        "foreign_files", "gpuflight_losses", "unfinished_lines", "damaged_lines"};
    for (size_t i = 0; i < sizeof log / sizeof *log; i++)
        json_object_del(json_object_get(report, "log"), log[i]);
    json_object_del(report, "symbols");
    size_t at;
    json_t *session;
    json_array_foreach(json_object_get(report, "sessions"), at, session)
        json_object_del(session, "dir");
}

/* Finds the first place where two documents differ, as a path. */
static bool differ(const json_t *a, const json_t *b, char *path, size_t size)
{
    size_t len = strlen(path), at;
    const char *key;
    json_t *v;
    if (json_equal(a, b))
        return false;
    if (json_is_object(a) && json_is_object(b)) {
        json_object_foreach((json_t *)(uintptr_t)a, key, v)
        {
            snprintf(path + len, size - len, ".%s", key);
            if (differ(v, json_object_get(b, key), path, size))
                return true;
        }
        json_object_foreach((json_t *)(uintptr_t)b, key, v) if (!json_object_get(a, key))
            snprintf(path + len, size - len, ".%s (only from the columns)", key);
        return true;
    }
    if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
        json_array_foreach(a, at, v)
        {
            snprintf(path + len, size - len, "[%zu]", at);
            if (differ(v, json_array_get(b, at), path, size))
                return true;
        }
    }
    char *x = json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT);
    char *y = json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT);
    len = strlen(path);
    snprintf(path + len, size - len, ": files %.300s, columns %.300s", x ? x : "?", y ? y : "?");
    free(x);
    free(y);
    return true;
}

static char *report_of_files(const char *dir, size_t *len)
{
    struct gpufl_report_options o;
    struct report r;
    struct err e = {0};
    char *text;
    gpufl_report_options_init(&o, sizeof o);
    o.format = GPUFL_REPORT_JSON;
    if (report_open(&r, dir, &o, &e))
        fail_msg("%s: %s", dir, e.text);
    assert_int_equal(columns_report_json(&r, &text, len), 0);
    report_close(&r);
    return text;
}

static char *report_of_columns(const char *session, size_t *len)
{
    struct gpufl_report_options o;
    struct store_session *ss;
    struct report r;
    struct err e = {0};
    char *text;
    gpufl_report_options_init(&o, sizeof o);
    o.format = GPUFL_REPORT_JSON;
    if (store_duckdb.get(fix.store, "w", session, false, &ss, &e) ||
        columns_report(&r,
                       &(struct columns_source){&store_duckdb, ss,
                                                &(struct columns_place){fix.store, "w"}, "here",
                                                NULL},
                       &o, &e))
        fail_msg("%s", e.text);
    assert_int_equal(columns_report_json(&r, &text, len), 0);
    report_close(&r);
    store_duckdb.put(ss);
    return text;
}

static void compare(const char *dir, const char *session)
{
    size_t n, m;
    char path[2048] = "report";
    char *files = report_of_files(dir, &n), *columns = report_of_columns(session, &m);
    json_t *a = json_loadb(files, n, 0, NULL), *b = json_loadb(columns, m, 0, NULL);
    assert_true(a && b);
    take_out_place(a);
    take_out_place(b);
    if (differ(a, b, path, sizeof path))
        fail_msg("%s: %s", dir, path);
    /* The reports are equal, byte by byte, as far as the place does not matter. */
    char *x = json_dumps(a, 0), *y = json_dumps(b, 0);
    assert_string_equal(x, y);
    free(x);
    free(y);
    json_decref(a);
    json_decref(b);
    free(files);
    free(columns);
}

/* Checks all sessions under a folder, in a server of their own. */
static void check_folder(const char *dir)
{
    static unsigned servers;
    char server[32];
    struct discover d;
    struct err e = {0};
    if (discover_open(&d, dir, &e))
        fail_msg("%s: %s", dir, e.text);
    snprintf(server, sizeof server, "server-%u", servers++);
    assert_int_equal(mkdir(tmpdir_path(server), 0700), 0);
    fixture_up(&fix, tmpdir_path(server));
    for (size_t i = 0; i < d.count; i++) {
        char id[STORE_ID_MAX];
        send_folder(&d.sessions[i], id);
        compare(d.sessions[i].dir, id);
    }
    assert_true(d.count > 0);
    discover_close(&d);
    fixture_down(&fix);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char *source_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("GPUFL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/%s", root ? root : "../..", name);
    return path;
}

TEST(test_examples)
{
    check_folder(source_path("examples/data"));
}

TEST(test_recorded)
{
    check_folder(source_path("tests/data/sessions"));
}

TEST(test_public_client)
{
    check_folder(source_path("tests/data/peer"));
}

/* Samples that another session took come from that one's columns, as they come from its file. */
TEST(test_shared)
{
    assert_int_equal(mkdir(tmpdir_path("shared"), 0700), 0);
    shared_log_first(tmpdir_path("shared"), "a", "a");
    shared_log_second(tmpdir_path("shared"), "a", NULL);
    check_folder(tmpdir_path("shared"));
}

/* Runs the command line; its output does not matter. It is not started by fork(): before a fork the
 * allocator of DuckDB's library takes all of its locks, more than ThreadSanitizer can follow. */
static void run(const char *const *argv)
{
    char path[4096];
    const char *bin = getenv("GPUFL_BINARY_DIR");
    snprintf(path, sizeof path, "%s/bin/gpufl", bin ? bin : "..");
    posix_spawn_file_actions_t quiet;
    assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0), 0);
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, path, &quiet, NULL, (char *const *)(uintptr_t)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&quiet);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(test_simulated)
{
    static const char *const sims[][8] = {
        {"--kernels", "30000", "--scopes", "--rate", "max"},
        {"--kernels", "30000", "--scopes", "--devices", "3", "--streams", "4", "--seed=5"},
        {"--kernels", "20000", "--errors", "drop:100,disorder:3,late:7,time:50,unknown:40"},
    };
    for (size_t i = 0; i < sizeof sims / sizeof *sims; i++) {
        const char *argv[16] = {"gpufl", "sim", "--output", tmpdir_path("sim")};
        size_t n = 4;
        for (size_t k = 0; k < 8 && sims[i][k]; k++)
            argv[n++] = sims[i][k];
        run(argv);
        const char *exported[] = {"gpufl",
                                  "export",
                                  "--format",
                                  "gpuflight",
                                  "--output",
                                  tmpdir_path("public"),
                                  tmpdir_path("sim"),
                                  NULL};
        run(exported);
        check_folder(tmpdir_path("sim"));
        check_folder(tmpdir_path("public"));
        tmpdir_close(NULL);
        tmpdir_open(NULL);
    }
}

/* ---- what was accepted, and cannot be read any more ------------------------------------------ */

static _Atomic bool away;

static int begin_unless_away(struct store_session *ss, struct err *e)
{
    return away ? err_set(e, GPUFL_E_UNAVAILABLE, "nobody is there") : store_duckdb.begin(ss, e);
}

/* Damages the last frame of the journal's only segment. */
static void damage_last_frame(void)
{
    char path[PATH_MAX];
    DIR *d = opendir(tmpdir_path("journal"));
    const struct dirent *e;
    *path = '\0';
    assert_non_null(d);
    while ((e = readdir(d)))
        if (strstr(e->d_name, ".journal"))
            snprintf(path, sizeof path, "%s/%s", tmpdir_path("journal"), e->d_name);
    closedir(d);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damaged", 7, lseek(fd, 0, SEEK_END) - 20), 7);
    close(fd);
}

/* The frame's lines are missing in the session's account, and the others are there. */
TEST(test_a_lost_frame)
{
    struct store_ops ops = store_duckdb;
    struct ingest_answer a;
    struct loader_stats st;
    size_t n;
    ops.begin = begin_unless_away;
    fix.config.ops = &ops;
    fix.config.retry_ns = 20000;
    fixture_up(&fix, tmpdir);
    away = true;
    struct ingest_request r = fixture_request("s", "device", 0);
    for (int i = 0; i < 2; i++) {
        char *text = fixture_lines("s", 20 * i, 2, i == 0, &n);
        fixture_send(&fix, &r, text, n, 0, &a);
        assert_int_equal(a.status, 200);
        r.offset = a.offset;
        free(text);
    }
    damage_last_frame();
    away = false;
    fixture_drain(&fix);
    loader_stats(fix.intake.loader, &st);
    assert_int_equal(st.lost_frames, 1);
    char *text = report_of_columns("s", &n);
    json_t *report = json_loadb(text, n, 0, NULL), *log = json_object_get(report, "log");
    assert_int_equal(json_integer_value(json_object_get(log, "damaged_lines")), 2);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(report, "kernels"), "count")), 20);
    json_decref(report);
    free(text);
    fixture_down(&fix);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        T(test_examples),  T(test_recorded),     T(test_public_client),
        T(test_simulated), T(test_a_lost_frame), T(test_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
