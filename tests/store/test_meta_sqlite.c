/* test_meta_sqlite.c - tests the small tables in SQLite: the suite of both engines, and cases of
 * SQLite. */
#include "meta_place.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_make(struct meta_config *c)
{
    char dir[] = "meta-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/meta.db", dir);
    *c = (struct meta_config){.path = mem_strdup(path), .migrate = true, .relaxed = true};
}

static void file_drop(struct meta_config *c)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".copy"};
    char path[128];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(path, sizeof path, "%s%s", c->path, ends[i]);
        unlink(path);
    }
    *strrchr((char *)c->path, '/') = '\0';
    assert_int_equal(rmdir(c->path), 0); /* no other file was left */
    mem_free((char *)c->path);
}

static const struct meta_place sqlite_place = {
    .engine = &meta_engine_sqlite,
    .make = file_make,
    .drop = file_drop,
    .fingerprint = "SELECT group_concat(sql, '\n') FROM (SELECT sql FROM sqlite_master "
                   "WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name)",
};

const struct meta_place *place = &sqlite_place;

static void test_only_the_owner_reads_it(void **state)
{
    struct fixture *f = *state;
    static const char *const ends[] = {"", "-wal", "-shm"};
    people_make(f);
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        struct stat st;
        snprintf(path, sizeof path, "%s%s", f->config.path, ends[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void test_backup_is_a_store(void **state)
{
    struct fixture *f = *state;
    struct meta *copy = NULL;
    struct meta_config c = f->config;
    struct meta_user u;
    char path[128];
    people_make(f);
    snprintf(path, sizeof path, "%s.copy", f->config.path);
    OK(meta_check(f->m, &f->e));
    OK(meta_backup(f->m, path, &f->e));
    OK(meta_backup(f->m, path, &f->e)); /* again, over the first backup */
    OK(meta_user_add(f->m, &(struct meta_user){.id = "late", .email = "late"}, &f->e));
    c.path = path;
    OK(meta_open(&copy, &c, &f->e));
    OK(meta_user_get(&(struct meta_ask){copy, NULL, &f->mem, &f->e}, "u1", &u));
    FAILS(NOENT, meta_user_get(&(struct meta_ask){copy, NULL, &f->mem, &f->e}, "late", &u));
    OK(meta_check(copy, &f->e));
    meta_close(copy);
    FAILS(NOENT, meta_backup(f->m, "no/such/folder/x", &f->e));
    assert_non_null(strstr(f->e.text, "no/such/folder/x"));
    OK(meta_user_add(f->m, &(struct meta_user){.id = "v", .email = "v"}, &f->e));
}

TEST(test_what_is_no_database)
{
    struct meta *m = NULL;
    struct err e = {0};
    struct meta_config c = {.path = "meta-garbage.db", .migrate = true};
    FILE *file = fopen(c.path, "w");
    for (int i = 0; i < 2000; i++)
        fputs("this is not a database ", file);
    fclose(file);
    FAILS(CORRUPT, meta_open(&m, &c, &e));
    assert_null(m);
    assert_non_null(strstr(e.text, "meta-garbage.db"));
    unlink(c.path);
    c.path = "no/such/folder/meta.db";
    FAILS(NOENT, meta_open(&m, &c, &e));
    assert_non_null(strstr(e.text, "no/such/folder"));
    c.path = ":memory:";
    FAILS(INVAL, meta_open(&m, &c, &e));
    c = (struct meta_config){0};
    FAILS(INVAL, meta_open(&m, &c, &e));
    c.url = "mysql://localhost/x";
    assert_int_equal(meta_open(&m, &c, &e),
                     meta_has_postgres() ? GPUFL_E_INVAL : GPUFL_E_NOT_BUILT);
}

static void test_damage_is_found(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};
    people_make(f);
    for (int i = 0; i < 300; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        session_make(f, "w1", id, "train", "a", 100 + i);
    }
    meta_close(f->m); /* writes the log into the file */
    f->m = NULL;
    FILE *file = fopen(f->config.path, "r+");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    for (long at = 3 * 4096; at + 64 < size; at += 4096) { /* the begin of every later page */
        fseek(file, at, SEEK_SET);
        for (int i = 0; i < 64; i++)
            fputc(0xa5, file);
    }
    fclose(file);
    int rc = meta_open(&f->m, &f->config, &e);
    if (rc == 0)
        rc = meta_check(f->m, &e);
    assert_int_equal(rc, GPUFL_E_CORRUPT);
    assert_true(*e.text);
}

/* A function that statements name; it is not called. */
static void nothing(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_null(context);
}

/* Puts the steps by which SQLite would run a statement, a line for each. */
static void plan_of(sqlite3 *db, enum meta_statement_id s, struct buf *plan)
{
    struct buf sql;
    sqlite3_stmt *statement = NULL;
    buf_init(&sql, 1 << 16);
    buf_str(&sql, "EXPLAIN QUERY PLAN ");
    assert_int_equal(meta_sql_expand(meta_statements[s].sql, &sql), 0);
    if (sqlite3_prepare_v2(db, buf_cstr(&sql), -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", meta_statements[s].id, sqlite3_errmsg(db));
    buf_clear(plan);
    while (sqlite3_step(statement) == SQLITE_ROW)
        buf_printf(plan, "%s\n", (const char *)sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    buf_fini(&sql);
}

/* SQLite chooses an index without knowing how many rows a table has. Statements that are asked
 * often, or of a year, read few rows: with the wrong index they would read all sessions. */
static void test_statements_use_their_indexes(void **state)
{
    static const struct {
        enum meta_statement_id s;
        const char *uses;
    } wanted[] = {
        {META_S_running_list, "SEARCH s USING INDEX sessions_live_host (workspace=?)"},
        {META_S_host_list, "SEARCH s USING INDEX sessions_live_host (workspace=? AND host=?)"},
        {META_S_session_silent, "USING INDEX sessions_live (workspace=? AND received<?)"},
        {META_S_session_oldest, "USING INDEX sessions_started (workspace=? AND started>?)"},
        {META_S_session_bytes, "USING INDEX sessions_started (workspace=? AND started>?)"},
        {META_S_session_names_engine, "USING INDEX sessions_started (workspace=? AND started>?)"},
        {META_S_session_names_app, "USING COVERING INDEX sessions_app (workspace=?)"},
        {META_S_session_names_host, "USING COVERING INDEX sessions_host (workspace=?)"},
        {META_S_finding_search, "SEARCH f USING INDEX findings_weight (workspace=?"},
        {META_S_finding_search_app, "sessions_app (workspace=? AND app=? AND started>?"},
        {META_S_finding_search_host, "sessions_host (workspace=? AND host=? AND started>?"},
        {META_S_rollup_days, "INDEX rollup_daily_name (workspace=? AND key=? AND day>? AND day<?)"},
        {META_S_rollup_days_app, "rollups_name_app (workspace=? AND kind=? AND key=?"},
        {META_S_rollup_days_host, "rollups_name_host (workspace=? AND kind=? AND key=?"},
        {META_S_rollup_days_host_of_app, "name_app (workspace=? AND kind=? AND key=? AND app=?)"},
        {META_S_rollup_days_app_of_host, "name_host (workspace=? AND kind=? AND key=? AND host=?)"},
        {META_S_rollup_forget, "(workspace=? AND kind=? AND key=? AND day=?)"},
    };
    struct fixture *f = *state;
    struct buf plan;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->config.path, &db), SQLITE_OK);
    sqlite3_create_function(db, "strpos", 2, SQLITE_UTF8, NULL, nothing, NULL, NULL);
    buf_init(&plan, 1 << 16);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        plan_of(db, wanted[i].s, &plan);
        if (!strstr(buf_cstr(&plan), wanted[i].uses))
            fail_msg("%s:\n%s", meta_statements[wanted[i].s].id, buf_cstr(&plan));
    }
    buf_fini(&plan);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_only_the_owner_reads_it),         CASE(test_backup_is_a_store),
        cmocka_unit_test(test_what_is_no_database), CASE(test_damage_is_found),
        CASE(test_statements_use_their_indexes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + meta_cases();
}
