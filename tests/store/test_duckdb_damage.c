/* test_duckdb_damage.c - tests failures of files: damage, foreign files, older and newer versions,
 * a killed process, a full disk. Only one session is affected, never the store. */
#include "damage.h"
#include "store/duckdb/duck.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/sql.h"
#include "store/store.h"

#include "base/file/file.h"
#include "base/process/thread.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct store_ops *ops = &store_duckdb;
static char folder[64];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/gpufl-damage-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *file_of(const char *id)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/columns/w/%s.duckdb", folder, id);
    return path;
}

static struct store *open_store(void)
{
    const struct store_config config = {.data = folder, .threads = 2, .small_most = -1};
    struct store *s;
    OK(ops->open(&s, &config, e));
    return s;
}

static int write_some(struct store_session *ss, size_t n, int64_t position, struct err *e)
{
    return damage_write(ops, ss, n, position, e);
}

static int64_t kernels_of(struct store_session *ss)
{
    return damage_kernels(ops, ss);
}

static int64_t position_of(struct store_session *ss)
{
    return damage_position(ops, ss);
}

static void make_session(struct store *s, const char *id, size_t rows)
{
    struct store_session *ss;
    OK(ops->get(s, "w", id, true, &ss, e));
    OK(write_some(ss, rows, (int64_t)rows, e));
    ops->put(ss);
}

/* ---- files of others, and files that are broken ---------------------------------------------- */

static void put_bytes(const char *path, off_t at, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    close(fd);
}

static void assert_refused(struct store *s, const char *id, int rc)
{
    struct store_session *ss;
    struct err why = {0};
    assert_int_equal(ops->get(s, "w", id, false, &ss, &why), rc);
    assert_null(ss);
    assert_non_null(strstr(why.text, id));
    OK(ops->get(s, "w", "good", false, &ss, e)); /* other sessions go on */
    assert_int_equal(kernels_of(ss), 1000);
    ops->put(ss);
}

TEST(test_broken_files)
{
    static char zeros[8192],
        text[] = "this is no database, but a text that is long enough to be one";
    struct store *s = open_store();
    make_session(s, "good", 1000);
    make_session(s, "headless", 1000);
    make_session(s, "cut", 300000);
    ops->close(s);
    put_bytes(file_of("headless"), 0, zeros, sizeof zeros);
    assert_int_equal(truncate(file_of("cut"), 20000), 0);
    put_bytes(file_of("text"), 0, text, sizeof text);
    s = open_store();
    for (int round = 0; round < 2; round++) {
        assert_refused(s, "headless", GPUFL_E_CORRUPT);
        assert_refused(s, "cut", GPUFL_E_CORRUPT);
        assert_refused(s, "text", GPUFL_E_CORRUPT);
    }
    OK(ops->drop(s, "w", "headless", e)); /* a broken session can be deleted, and made again */
    make_session(s, "headless", 10);
    ops->close(s);
}

/* Runs statements on a database file with the library alone. */
static void run_on(const char *path, const char *text)
{
    struct duck_database *db;
    struct duck_connection *c;
    const struct duck *d = duck_open(NULL);
    assert_int_equal(d->open_ext(path, &db, NULL, NULL), DUCK_OK);
    assert_int_equal(d->connect(db, &c), DUCK_OK);
    OK(sql_run(d, c, text, e));
    d->disconnect(&c);
    d->close(&db);
}

TEST(test_other_versions)
{
    struct store_session *ss;
    struct store *s;
    run_on(file_of("stranger"), "CREATE TABLE accounts(id BIGINT)");
    run_on(file_of("newer"), "CREATE TABLE about(name VARCHAR, columns BIGINT);"
                             "INSERT INTO about VALUES ('', 999)");
    /* The file is of a version whose kernels had four columns, and which had a table more. */
    run_on(file_of("older"),
           "CREATE TABLE about(name VARCHAR, columns BIGINT);"
           "CREATE TABLE kernel(start BIGINT, duration BIGINT, config BIGINT, stream BIGINT);"
           "INSERT INTO about VALUES ('', 1), ('kernel', 4), ('gone', 3);"
           "INSERT INTO kernel SELECT i, 1, 2, 3 FROM range(7) t(i)");
    run_on(file_of("empty"), "SELECT 1");
    s = open_store();
    assert_refused(s, "stranger", GPUFL_E_CORRUPT);
    assert_refused(s, "newer", GPUFL_E_CORRUPT);
    OK(ops->get(s, "w", "older", false, &ss, e));
    assert_int_equal(kernels_of(ss), 7); /* as the older version wrote it */
    OK(write_some(ss, 5, 5, e));
    assert_int_equal(kernels_of(ss), 12); /* with the columns of today */
    ops->put(ss);
    OK(ops->get(s, "w", "empty", false, &ss, e)); /* a crash came right after it was made */
    OK(write_some(ss, 5, 5, e));
    assert_int_equal(kernels_of(ss), 5);
    ops->put(ss);
    ops->close(s);
}

/* ---- a killed writer ------------------------------------------------------------------------- */

TEST(test_killed)
{
    const struct store_config config = {.data = folder, .threads = 2, .small_most = -1};
    damage_killed_writer(ops, &config, 12, 7);
}

/* ---- a full disk ----------------------------------------------------------------------------- */

/* Writes until a limit on file sizes stops it, which the library takes for a full disk. Returns 0,
 * or the number of the check that failed. */
static int write_until_full(void)
{
    struct store_session *ss, *other;
    struct err e = {0};
    const struct store_config config = {.data = folder, .threads = 2, .small_most = -1};
    struct rlimit limit;
    struct store *s;
    int64_t good = 0;
    int rc = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 24 << 20;
    if (setrlimit(RLIMIT_FSIZE, &limit) || ops->open(&s, &config, &e) ||
        ops->get(s, "w", "full", true, &ss, &e))
        return 1;
    while (!rc && good < 100) {
        rc = write_some(ss, 200000, good + 1, &e);
        good += !rc;
    }
    fprintf(stderr, "%lld commits, then: %s\n", (long long)good, e.text);
    if (rc != GPUFL_E_FULL || !good)
        return 2;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit); /* somebody made room */
    if (ops->get(s, "w", "other", true, &other, &e) || write_some(other, 10, 1, &e)) {
        fprintf(stderr, "another session: %s\n", e.text);
        return 3;
    }
    ops->put(other);
    if (kernels_of(ss) != good * 200000 || position_of(ss) != good)
        return 4;
    if (write_some(ss, 200000, good + 1, &e)) {
        fprintf(stderr, "again: %s\n", e.text);
        return 5;
    }
    if (kernels_of(ss) != (good + 1) * 200000)
        return 6;
    ops->put(ss);
    ops->close(s);
    return 0;
}

static void in_child(int (*run)(void))
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(run());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_full)
{
    in_child(write_until_full);
    struct store *s = open_store();
    struct store_session *ss;
    OK(ops->get(s, "w", "full", false, &ss, e));
    assert_int_equal(kernels_of(ss), position_of(ss) * 200000);
    ops->put(ss);
    ops->close(s);
}

/* The disk gets full while a session is brought into its final form. The library then refuses
 * everything, which must end by itself once nobody has a session any more. */
static int settle_when_full(void)
{
    struct store_session *ss, *other;
    struct err e = {0};
    const struct store_config config = {.data = folder, .threads = 2, .small_most = -1};
    struct rlimit limit;
    struct store *s;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    if (ops->open(&s, &config, &e) || ops->get(s, "w", "settled", true, &ss, &e))
        return 1;
    for (int i = 0; i < 10; i++)
        if (write_some(ss, 20000, i + 1, &e))
            return 2;
    limit.rlim_cur = 64 << 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    int rc = ops->settle(ss, &e);
    fprintf(stderr, "settle: %s: %s\n", err_name(rc), e.text);
    if (!rc)
        return 3;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (ops->get(s, "w", "other", true, &other, &e) || write_some(other, 100, 1, &e)) {
        fprintf(stderr, "another session: %s\n", e.text); /* a new session is not affected */
        return 6;
    }
    ops->put(other);
    ops->put(ss);
    if (ops->get(s, "w", "settled", false, &ss, &e)) {
        fprintf(stderr, "after it: %s\n", e.text);
        return 4;
    }
    if (kernels_of(ss) != 200000 || position_of(ss) != 10 || write_some(ss, 100, 11, &e))
        return 5;
    ops->put(ss);
    ops->close(s);
    return 0;
}

/* A session whose making failed (here for lack of room, or by a kill) is made again: it had no
 * rows. */
static int make_without_room(void)
{
    struct store_session *ss;
    struct err e = {0};
    struct rlimit limit;
    struct store *s = open_store();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    for (rlim_t size = 0; size <= 12288; size += 2048) {
        limit.rlim_cur = size;
        if (setrlimit(RLIMIT_FSIZE, &limit))
            return 1;
        if (ops->get(s, "w", "half", true, &ss, &e) == 0) {
            ops->put(ss); /* its table may fit into so little */
            break;
        }
        if (ops->get(s, "w", "half", false, &ss, &e) != GPUFL_E_NOENT)
            return 2;
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (ops->get(s, "w", "half", true, &ss, &e) || write_some(ss, 1000, 1000, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 3;
    }
    if (kernels_of(ss) != 1000)
        return 4;
    ops->put(ss);
    ops->close(s);
    return 0;
}

TEST(test_half_made)
{
    in_child(make_without_room);
}

TEST(test_settled_when_full)
{
    in_child(settle_when_full);
}

/* ---- a question that takes too long ---------------------------------------------------------- */

TEST(test_too_long)
{
    const struct store_config config = {
        .data = folder, .threads = 2, .small_most = -1, .query_limit = 1};
    const struct store_value args[] = {{.null = true}, {.null = true}, {.null = true},
                                       {.null = true}, {.null = true}, {.i = 0},
                                       {.i = 10},      {.i = 0}};
    const struct store_visitor v = {.arg = NULL, .chunk = damage_no_rows};
    struct err why = {0};
    struct store_session *ss;
    struct store *s;
    OK(ops->open(&s, &config, e));
    make_session(s, "slow", 1000);
    OK(ops->get(s, "w", "slow", false, &ss, e));
    for (int i = 0; i < 20; i++) {
        assert_int_equal(
            ops->query(s, &(struct store_question){"w", ss, QUERY_kernels, args}, &v, &why),
            GPUFL_E_TIMEOUT);
        assert_non_null(strstr(why.text, "kernels"));
        assert_int_equal(kernels_of(ss), 1000); /* the connection is as good as before */
    }
    ops->put(ss);
    ops->close(s);
    s = open_store();
    OK(ops->get(s, "w", "slow", false, &ss, e));
    OK(ops->query(s, &(struct store_question){"w", ss, QUERY_kernels, args}, &v, e));
    ops->put(ss);
    ops->close(s);
}

/* ---- a file that the library holds ----------------------------------------------------------- */

struct getter {
    struct thread thread;
    struct store *store;
    struct store_session *got;
    struct err why;
    int code;
    _Atomic bool done;
};

static void *get_again(void *arg)
{
    struct getter *g = arg;
    g->code = ops->get(g->store, "w", "held", false, &g->got, &g->why);
    g->done = true;
    return NULL;
}

/* A session is closed while a transaction that has read it goes on, and is asked for again: the
 * request waits until the transaction has ended. */
TEST(test_still_held)
{
    struct store *s = open_store();
    struct getter g = {.store = s};
    struct store_session *ss;
    struct connection *c;
    char text[64];
    make_session(s, "held", 1000);
    OK(ops->get(s, "w", "held", false, &ss, e));
    OK(engine_take(s, &c, e));
    OK(sql_run(s->duck, c->handle, "BEGIN", e));
    snprintf(text, sizeof text, "SELECT count(*) FROM %s.main.kernel", ss->alias);
    OK(sql_run(s->duck, c->handle, text, e));
    ops->put(ss);
    session_list_close_all(&s->open);
    assert_int_equal(thread_start(&g.thread, "getter", 0, get_again, &g), 0);
    while (!s->held && !g.done)
        sched_yield();
    OK(sql_run(s->duck, c->handle, "COMMIT", e));
    engine_give(s, c);
    thread_join(&g.thread);
    if (g.code)
        fail_msg("%s", g.why.text);
    assert_true(s->held > 0);
    assert_int_equal(kernels_of(g.got), 1000);
    ops->put(g.got);
    ops->close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full), /* tests that fork come before the library has threads */
        cmocka_unit_test(test_half_made),      cmocka_unit_test(test_settled_when_full),
        cmocka_unit_test(test_killed),         cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_other_versions), cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_still_held),
    };
    struct err e = {0};
    if (!duck_open(&e)) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
