/* meta_migrations.c - every older version of the schema, also after a crash anywhere on the way,
 * becomes the same as the schema of an empty database; a newer version is refused. */
#include "meta_place.h"

#include "base/alloc.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 32768 };

/* Rows as a version's own program would have written them. */
static const char *const rows_of[] = {
    [1] = "INSERT INTO workspaces VALUES ('w1', 'one', 5);"
          "INSERT INTO users VALUES ('u1', 'ada@example.org', 'Ada', 'hash', 1, 0, 6);"
          "INSERT INTO members VALUES ('w1', 'u1', 'owner', 7);"
          "INSERT INTO api_keys VALUES ('w1', 'k1', 'ci', 'gpfl_abc', 'h1', 3, 8, 'u1', 0, 0, 0)",
    [2] = "INSERT INTO sessions VALUES ('w1', 's1', 'train', 'a', 7, 'ada', 'Trace', 'gpufl', "
          "'0.1', 0, "
          "'[]', '{}', 100, 0, 'live', 10, 5, 1000, NULL, 150, 101, 'train');"
          "INSERT INTO sessions VALUES ('w1', 's2', 'watch', 'a', 8, 'ada', 'Monitor', 'gpufl', "
          "'0.1', 0, '[]', '{}', 100, 0, 'live', 10, 0, 1000, 0, 150, 101, 'watch')",
    [3] =
        "INSERT INTO findings VALUES ('w1', 's1', 0, 'spills', 'MEMORY', 1, 0, 5, NULL, 't', 'x', "
        "'a.py', 3, 'f', 'k', '')",
    [4] = "INSERT INTO usages VALUES ('w1', 's1', 10, 'GPU-1', 'a', 'train', 100, 50, 7);"
          "INSERT INTO usages VALUES ('w1', 's2', 10, 'GPU-1', 'a', 'watch', 100, 0, 0)",
};

static struct meta_conn *connect_to(const struct meta_config *c)
{
    static const char *sql[META_S_COUNT] = {[META_S_schema_set] =
                                                "UPDATE meta_schema SET version = ?1"};
    struct meta_conn *conn = NULL;
    struct err e = {0};
    if (place->engine->connect(&conn, c, sql, true, &e))
        fail_msg("%s", e.text);
    return conn;
}

/* Makes a database of that version, with rows. */
static void database_at(const struct meta_config *c, int version)
{
    struct err e = {0};
    struct meta_conn *conn = connect_to(c);
    for (int v = 1; v <= version; v++) {
        int rc = meta_migrate(place->engine, conn, v, true, &e);
        if (rc == 0 && (size_t)v < sizeof rows_of / sizeof rows_of[0])
            rc = place->engine->script(conn, rows_of[v], &e);
        if (rc)
            fail_msg("version %d: %s", v, e.text);
    }
    place->engine->disconnect(conn);
}

/* Findings of older versions have heads, which the sums of a fleet read. */
static void heads_check(struct fixture *f)
{
    struct meta_fleet_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        bool train = strcmp(rows[i].name, "train") == 0;
        assert_int_equal(rows[i].findings, train);
        assert_string_equal(rows[i].rule, train ? "spills" : "");
    }
}

/* An engine that records no kernels had its unknown count written as 0. */
static void unknown_check(struct fixture *f, int from)
{
    struct meta_session s;
    struct meta_usage_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    OK(meta_session_get(ASK(f, "w1"), "s1", &s));
    assert_int_equal(s.kernels, 5);
    OK(meta_session_get(ASK(f, "w1"), "s2", &s));
    assert_int_equal(s.kernels, META_NONE);
    assert_true(isnan(s.busy));
    if (from < 4)
        return;
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].kernels, 7);
    assert_int_equal(rows[0].counted, 1);
    assert_int_equal(rows[1].kernels, META_NONE);
    assert_int_equal(rows[1].busy, META_NONE);
    assert_int_equal(rows[1].counted, 0);
    heads_check(f);
}

static void newest_look(char *text)
{
    struct meta_config c;
    struct meta *m = NULL;
    struct err e = {0};
    place->make(&c);
    assert_int_equal(meta_open(&m, &c, &e), 0);
    meta_close(m);
    place_ask(&c, place->fingerprint, text, TEXT_MAX);
    assert_true(strlen(text) > 1000);
    place->drop(&c);
}

/* The schema is the newest, all rows are still there, and the store can be used. */
static void newest_check(const struct meta_config *c, int from, const char *want)
{
    struct fixture fixture = {.config = *c}, *f = &fixture;
    char *got = mem_alloc(TEXT_MAX);
    struct meta_user u;
    struct meta_finding *findings = NULL;
    size_t n = 0;
    region_init(&f->mem, 1 << 20);
    OK(meta_open(&f->m, c, &f->e));
    OK(meta_ping(f->m, &f->e));
    if (from >= 1)
        OK(meta_user_by_email(ASK(f, NULL), "ada@example.org", &u));
    if (from >= 2)
        unknown_check(f, from);
    if (from >= 3) {
        OK(meta_finding_list(ASK(f, "w1"), "s1", &findings, &n));
        assert_int_equal(n, 1);
    }
    if (from >= 1)
        session_make(f, "w1", "new", "train", "a", 500);
    meta_close(f->m);
    region_fini(&f->mem);
    place_ask(c, place->fingerprint, got, TEXT_MAX);
    assert_string_equal(got, want);
    mem_free(got);
}

TEST(test_every_older_version)
{
    char *want = mem_alloc(TEXT_MAX);
    newest_look(want);
    for (int version = 0; version < meta_version(); version++) {
        struct meta_config c, timid;
        struct meta *m = NULL;
        struct err e = {0};
        place->make(&c);
        database_at(&c, version);
        timid = c;
        timid.migrate = false;
        FAILS(STATE, meta_open(&m, &timid, &e)); /* not without `migrate` */
        assert_non_null(strstr(e.text, "gpufl-server migrate"));
        newest_check(&c, version, want);
        assert_int_equal(meta_open(&m, &timid, &e), 0);
        meta_close(m);
        place->drop(&c);
    }
    mem_free(want);
}

TEST(test_a_newer_one_is_refused)
{
    struct meta_config c;
    struct meta *m = NULL;
    struct err e = {0};
    place->make(&c);
    database_at(&c, meta_version());
    place_script(&c, "UPDATE meta_schema SET version = 999");
    FAILS(STATE, meta_open(&m, &c, &e));
    assert_non_null(strstr(e.text, "schema 999"));
    assert_non_null(strstr(e.text, "newer"));
    c.migrate = false;
    FAILS(STATE, meta_open(&m, &c, &e));
    place->drop(&c);
}

/* ---- killed in the middle -------------------------------------------------------------------- */

static int kill_version;
static unsigned kill_statement;

static void kill_here(int version, unsigned statement)
{
    if (version == kill_version && statement == kill_statement)
        raise(SIGKILL);
}

/* Migrates in a process that is killed after a statement; false: there is no statement with that
 * number. */
static bool migrate_and_die(const struct meta_config *c, int version, unsigned statement)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct meta *m = NULL;
        struct err e = {0};
        kill_version = version;
        kill_statement = statement;
        meta_migrate_step = kill_here;
        _exit(meta_open(&m, c, &e) ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

/* ThreadSanitizer finds nothing in a process with one thread, and makes it several times as slow:
 * there fewer statements are the last. */
#ifdef __SANITIZE_THREAD__
enum { KILL_EVERY = 15 };
#else
enum { KILL_EVERY = 3 };
#endif

TEST(test_killed_in_the_middle)
{
    char *want = mem_alloc(TEXT_MAX);
    newest_look(want);
    for (int version = 1; version <= meta_version(); version++)
        for (unsigned statement = 0;; statement += KILL_EVERY) {
            struct meta_config c;
            place->make(&c);
            database_at(&c, version - 1);
            bool died = migrate_and_die(&c, version, statement);
            newest_check(&c, version - 1, want);
            place->drop(&c);
            if (!died)
                break;
            assert_true(statement < 100);
        }
    mem_free(want);
}

/* ---- side by side ---------------------------------------------------------------------------- */

struct opener {
    struct meta_config config;
    struct meta *m;
    struct err e;
    int rc;
};

static void *opener_run(void *arg)
{
    struct opener *o = arg;
    o->rc = meta_open(&o->m, &o->config, &o->e);
    return NULL;
}

TEST(test_servers_that_start_together)
{
    enum { SERVERS = 4 };
    struct opener openers[SERVERS] = {0};
    pthread_t threads[SERVERS];
    struct meta_config c;
    char *want = mem_alloc(TEXT_MAX);
    newest_look(want);
    place->make(&c);
    for (int i = 0; i < SERVERS; i++) {
        openers[i].config = c;
        assert_int_equal(pthread_create(&threads[i], NULL, opener_run, &openers[i]), 0);
    }
    for (int i = 0; i < SERVERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SERVERS; i++) {
        if (openers[i].rc)
            fail_msg("server %d: %s", i, openers[i].e.text);
    }
    for (int i = 0; i < SERVERS; i++)
        meta_close(openers[i].m);
    newest_check(&c, 0, want);
    place->drop(&c);
    mem_free(want);
}

int meta_migrate_cases(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_older_version),
        cmocka_unit_test(test_a_newer_one_is_refused),
        cmocka_unit_test(test_killed_in_the_middle),
        cmocka_unit_test(test_servers_that_start_together),
    };
    return cmocka_run_group_tests_name("migrations", tests, NULL, NULL);
}
