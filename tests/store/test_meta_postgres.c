/* test_meta_postgres.c - tests the small tables in a real PostgreSQL: the suite of both engines,
 * and cases of PostgreSQL: connections that break, a server that stops and starts again. */
#include "meta_place.h"

#include "postgres_server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int schemas;

/* Makes a schema of the database for each test, which is much faster than a database for each. */
static void schema_make(struct meta_config *c)
{
    char sql[128], url[256];
    snprintf(sql, sizeof sql, "CREATE SCHEMA test%d", ++schemas);
    postgres_server_sql(sql);
    postgres_server_url("postgres", url, sizeof url);
    snprintf(url + strlen(url), sizeof url - strlen(url), "&options=-csearch_path%%3Dtest%d",
             schemas);
    *c = (struct meta_config){.url = mem_strdup(url), .migrate = true, .relaxed = true};
}

static void schema_drop(struct meta_config *c)
{
    char sql[128];
    snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", strstr(c->url, "%3D") + 3);
    postgres_server_sql(sql);
    mem_free((char *)c->url);
}

static const struct meta_place postgres_place = {
    .engine = &meta_engine_postgres,
    .make = schema_make,
    .drop = schema_drop,
    .fingerprint =
        "SELECT (SELECT string_agg(table_name || '.' || column_name || ' ' || data_type || ' ' || "
        "is_nullable || ' ' || COALESCE(collation_name, ''), E'\n' ORDER BY table_name, "
        "ordinal_position) FROM information_schema.columns WHERE table_schema = current_schema()) "
        "|| "
        "(SELECT string_agg(replace(indexdef, current_schema(), ''), E'\n' ORDER BY indexname) "
        "FROM pg_indexes "
        "WHERE schemaname = current_schema()) || (SELECT string_agg(conname || "
        "pg_get_constraintdef(oid), E'\n' "
        "ORDER BY conname) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace)",
};

const struct meta_place *place = &postgres_place;

#define BREAK_ALL                                                                                  \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "                                      \
    "WHERE application_name = 'gpufl-server' AND pid <> pg_backend_pid()"

static void test_connections_that_break(void **state)
{
    struct fixture *f = *state;
    struct meta_user u;
    people_make(f);
    postgres_server_sql(BREAK_ALL);
    OK(meta_user_get(ASK(f, NULL), "u1", &u));
    postgres_server_sql(BREAK_ALL);
    OK(meta_user_add(f->m, &(struct meta_user){.id = "u4", .email = "dan@example.org"}, &f->e));
    OK(meta_user_get(ASK(f, NULL), "u4", &u));
}

struct writer {
    struct meta *m;
    atomic_bool *stop;
    _Atomic int done;
    int first, unknown, rc;
    struct err e;
};

/* Puts session after session; if a commit broke, nobody knows whether its session is there. */
static void *writer_run(void *arg)
{
    struct writer *w = arg;
    while (!atomic_load(w->stop) && w->rc == 0) {
        char id[32];
        snprintf(id, sizeof id, "s%d-%d", w->first, w->done);
        const struct meta_session s = {.id = id, .app = "train", .pid = 1, .started = 1};
        w->rc = meta_session_put(w->m, "w1", &s, NULL, NULL, &w->e);
        if (w->rc == GPUFL_E_IO && strstr(w->e.text, "may or may not")) {
            w->unknown++;
            w->rc = 0;
        } else {
            w->done += w->rc == 0;
        }
    }
    return NULL;
}

/* A call that breaks in the middle is done once, or returns an error that says that nobody
 * knows. */
static void test_broken_in_the_middle(void **state)
{
    struct fixture *f = *state;
    enum { WRITERS = 3 };
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    atomic_bool stop = false;
    int64_t count = 0;
    int done = 0;
    people_make(f);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.m = f->m, .stop = &stop, .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, writer_run, &writers[i]), 0);
    }
    int64_t until = clock_mono() + PATIENCE_NS;
    for (int i = 0; i < 20 || (done <= 10 && clock_mono() < until); i++) {
        postgres_server_sql(BREAK_ALL);
        nanosleep(&(struct timespec){0, 20000000}, NULL); /* between two breaks */
        done = 0;
        for (int k = 0; k < WRITERS; k++)
            done += writers[k].done;
    }
    done = 0;
    atomic_store(&stop, true);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WRITERS; i++) {
        if (writers[i].rc)
            fail_msg("writer %d: %d %s", i, writers[i].rc, writers[i].e.text);
        done += writers[i].done;
    }
    OK(meta_session_count(f->m, "w1", &(struct meta_session_query){0}, &count, &f->e));
    assert_true(done > 10);
    assert_true(count >= done);
    assert_true(count <= done + WRITERS); /* at most one more for each writer */
}

struct asker {
    struct meta *m;
    int rc;
    struct err e;
};

static void *asker_run(void *arg)
{
    struct asker *a = arg;
    struct region mem;
    struct meta_user u;
    region_init(&mem, 1 << 20);
    a->rc = meta_user_get(&(struct meta_ask){a->m, NULL, &mem, &a->e}, "u1", &u);
    region_fini(&mem);
    return NULL;
}

/* The server stops and starts again: calls during that time wait. */
static void test_the_server_restarts(void **state)
{
    struct fixture *f = *state;
    struct asker asker = {.m = f->m};
    struct meta_user u;
    pthread_t thread;
    people_make(f);
    postgres_server_stop();
    assert_int_equal(pthread_create(&thread, NULL, asker_run, &asker), 0);
    postgres_server_start(); /* by this thread: the server dies with the thread that started it */
    pthread_join(thread, NULL);
    if (asker.rc)
        fail_msg("%d %s", asker.rc, asker.e.text);
    OK(meta_user_get(ASK(f, NULL), "u1", &u));
}

TEST(test_what_cannot_be_reached)
{
    static const struct {
        const char *url;
        int code;
    } bad[] = {{"postgres://gpufl:hunter2@/x?host=/no/such/folder", GPUFL_E_UNAVAILABLE},
               {"postgres://gpufl:hunter2@127.0.0.1:1/x", GPUFL_E_UNAVAILABLE},
               {"postgres://gpufl:hunter2@/x?no_such_key=1", GPUFL_E_UNAVAILABLE},
               {"http://gpufl:hunter2@/x", GPUFL_E_INVAL}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct meta_config c = {.url = bad[i].url, .migrate = true};
        struct meta *m = NULL;
        struct err e = {0};
        assert_int_equal(meta_open(&m, &c, &e), bad[i].code);
        assert_null(m);
        assert_true(strlen(e.text) > 20);
        assert_null(strstr(e.text, "hunter2"));
    }
    char url[256];
    postgres_server_url("postgres", url, sizeof url);
    memcpy(strchr(url + 11, ':') + 1, "wrong", 5);
    const struct meta_config c = {.url = url, .migrate = true};
    struct meta *m = NULL;
    struct err e = {0};
    assert_int_equal(meta_open(&m, &c, &e), GPUFL_E_UNAVAILABLE);
    assert_non_null(strstr(e.text, "password authentication failed"));
}

static void test_backups_are_its_own(void **state)
{
    struct fixture *f = *state;
    FAILS(UNAVAILABLE, meta_backup(f->m, "x", &f->e));
    assert_non_null(strstr(f->e.text, "pg_dump"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_connections_that_break), CASE(test_broken_in_the_middle),
        CASE(test_the_server_restarts),    cmocka_unit_test(test_what_cannot_be_reached),
        CASE(test_backups_are_its_own),
    };
    if (postgres_server_open())
        return 77; /* skipped */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += meta_cases();
    postgres_server_close();
    return failed;
}
