/* test_meta_statements.c - checks the table of statements: every statement about a workspace's
 * rows names the workspace; and the cases of tenants call every function with a workspace. */
#include "meta/inside.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIGRATION(version, about)
#define STATEMENT(sql) sql,
#define MIGRATION_END
static const char *const SCHEMA[] = {
#include "meta/migrations.def"
};

/* All tables of the schema; tenant: with a workspace column. */
struct table {
    char name[32];
    bool tenant;
};

static struct table tables[64];
static size_t table_count;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void tables_read(void)
{
    static const char create[] = "CREATE TABLE ";
    for (size_t i = 0; i < sizeof SCHEMA / sizeof SCHEMA[0]; i++) {
        if (strncmp(SCHEMA[i], create, sizeof create - 1) != 0)
            continue;
        const char *name = SCHEMA[i] + sizeof create - 1;
        struct table *t = &tables[table_count++];
        snprintf(t->name, sizeof t->name, "%.*s", (int)strcspn(name, " ("), name);
        /* A ticket may open a workspace or none: it is found by its hash alone. */
        t->tenant = strstr(name, "workspace {text}") && strcmp(t->name, "tickets") != 0;
    }
    snprintf(tables[table_count++].name, sizeof tables[0].name, "meta_schema");
}

/* Returns how often a text has this word, as a whole word. */
static unsigned words_count(const char *text, const char *word)
{
    unsigned n = 0;
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += len)
        n += (at == text || !is_word(at[-1])) && !is_word(at[len]);
    return n;
}

/* Mentions of tables of tenants: after FROM, JOIN, INTO, UPDATE. */
static unsigned tenant_tables(const char *sql)
{
    static const char *const before[] = {"FROM ", "JOIN ", "INTO ", "UPDATE "};
    unsigned n = 0;
    for (size_t b = 0; b < 4; b++)
        for (const char *at = sql; (at = strstr(at, before[b]));) {
            at += strlen(before[b]);
            if (strncmp(at, "SET ", 4) == 0) /* of an upsert: the table is counted already */
                continue;
            bool known = *at == '(';
            for (size_t t = 0; t < table_count; t++) {
                size_t len = strlen(tables[t].name);
                if (strncmp(at, tables[t].name, len) != 0 || is_word(at[len]))
                    continue;
                known = true;
                n += tables[t].tenant;
            }
            if (!known)
                fail_msg("no table of the schema: %s", at);
        }
    return n;
}

/* `workspace = ?1`, with an alias or not; or the first column and value of an insertion. */
static unsigned bindings(const char *sql)
{
    unsigned n = 0;
    for (const char *at = sql; (at = strstr(at, "workspace = ?1")); at += 14)
        n += !isdigit((unsigned char)at[14]);
    const char *columns = strstr(sql, " (workspace, ");
    if (strncmp(sql, "INSERT INTO ", 12) == 0 && columns) {
        const char *values = strstr(columns, "VALUES (?1, "),
                   *select = strstr(columns, "SELECT ?1, ");
        n += values || select;
    }
    return n;
}

static bool has_only_disjunctions_inside(const char *sql)
{
    int depth = 0; /* an OR outside of brackets could lead past the workspace */
    for (const char *at = sql; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0 && strncmp(at, " OR ", 4) == 0)
            return false;
    }
    return true;
}

TEST(test_tenants_are_bound)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < META_S_COUNT; i++) {
        const struct meta_statement *s = &meta_statements[i];
        unsigned touched = tenant_tables(s->sql);
        if (s->of != META_TENANT)
            continue;
        seen++;
        if (touched == 0)
            fail_msg("%s is of tenants but names none of their tables", s->id);
        if (bindings(s->sql) < touched)
            fail_msg("%s: %u tables of tenants, %u bound to the workspace: %s", s->id, touched,
                     bindings(s->sql), s->sql);
        if (!has_only_disjunctions_inside(s->sql))
            fail_msg("%s: an OR without brackets", s->id);
    }
    assert_true(seen > 80);
}

TEST(test_others_stay_away_from_tenants)
{
    /* Statements that may look across workspaces. Add a reason to each. */
    static const char *const across[] = {
        "user_memberships", /* one user's own workspaces */
        "share_expire",     /* forgets links that open nothing any more */
        "dropped_list",     /* whose columns the server frees */
        "firing_expire",    /* ended long ago */
        "delivery_expire",  /* ended long ago */
        "delivery_due",     /* posts that the server makes */
        "turn_expire",      /* turns that nobody gave back */
    };
    size_t found = 0;
    for (unsigned i = 0; i < META_S_COUNT; i++) {
        const struct meta_statement *s = &meta_statements[i];
        if (s->of == META_GLOBAL && tenant_tables(s->sql))
            fail_msg("%s is global but names a table of tenants", s->id);
        if (s->of == META_FIND && words_count(s->sql, "hash = ?1") != 1)
            fail_msg("%s finds by something else than a hash", s->id);
        if (s->of == META_FIND && !has_only_disjunctions_inside(s->sql))
            fail_msg("%s: an OR without brackets", s->id);
        if (s->of != META_ACROSS)
            continue;
        bool known = false;
        for (size_t k = 0; k < sizeof across / sizeof across[0]; k++)
            known = known || strcmp(across[k], s->id) == 0;
        if (!known)
            fail_msg("%s looks across workspaces", s->id);
        found++;
    }
    assert_int_equal(found, sizeof across / sizeof across[0]);
}

/* The audit log is only ever appended to. */
TEST(test_the_audit_log_is_for_good)
{
    for (unsigned i = 0; i < META_S_COUNT; i++) {
        const char *sql = meta_statements[i].sql;
        assert_null(strstr(sql, "UPDATE audits"));
        assert_null(strstr(sql, "DELETE FROM audits"));
        if (strstr(sql, "INTO audits"))
            assert_null(strstr(sql, "ON CONFLICT"));
    }
}

TEST(test_the_check_finds_what_it_should)
{
    assert_int_equal(tenant_tables("SELECT 1 FROM sessions s JOIN findings f ON 1 = 1"), 2);
    assert_int_equal(tenant_tables("SELECT 1 FROM users"), 0);
    assert_int_equal(bindings("SELECT 1 FROM sessions WHERE s.workspace = ?1"), 1);
    assert_int_equal(bindings("SELECT 1 FROM sessions WHERE workspace = ?12"), 0);
    assert_int_equal(bindings("INSERT INTO hosts (workspace, name) VALUES (?1, ?2)"), 1);
    assert_int_equal(bindings("INSERT INTO hosts (workspace, name) VALUES (?2, ?1)"), 0);
    assert_false(has_only_disjunctions_inside("WHERE workspace = ?1 OR 1 = 1"));
    assert_true(has_only_disjunctions_inside("WHERE workspace = ?1 AND (a OR b)"));
}

/* Columns replace braces; an unknown row is refused. */
TEST(test_braces)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    assert_int_equal(meta_sql_expand("SELECT {workspace} FROM w", &b), 0);
    assert_string_equal(buf_cstr(&b), "SELECT id, name, created FROM w");
    buf_clear(&b);
    assert_int_equal(meta_sql_expand("(?1, ?7, {?workspace}) {w.setting}", &b), 0);
    assert_string_equal(buf_cstr(&b), "(?1, ?7, ?8, ?9, ?10) w.name, w.value, w.changed");
    buf_clear(&b);
    assert_int_equal(meta_sql_expand("SET {=setting}", &b), 0);
    assert_string_equal(buf_cstr(&b), "SET value = excluded.value, changed = excluded.changed");
    assert_int_equal(meta_sql_expand("{nothing}", &b), GPUFL_E_INVAL);
    assert_int_equal(meta_sql_expand("{workspace", &b), GPUFL_E_INVAL);
    for (unsigned i = 0; i < META_S_COUNT; i++) {
        buf_clear(&b);
        assert_int_equal(meta_sql_expand(meta_statements[i].sql, &b), 0);
        assert_null(strchr(buf_cstr(&b), '{'));
    }
    buf_fini(&b);
}

/* Functions that ask, and whose rows belong to no workspace. Add a reason to each. */
static const char *const NO_TENANTS[] = {
    "meta_workspace_list(",   /* lists the workspaces themselves */
    "meta_user_get(",         /* users are the server's */
    "meta_user_by_email(",    /* users are the server's */
    "meta_user_list(",        /* users are the server's */
    "meta_user_memberships(", /* one user's own workspaces */
    "meta_login_use(",        /* a secret finds its user */
    "meta_ticket_get(",       /* a secret finds its ticket */
    "meta_ticket_take(",      /* a secret finds its ticket */
    "meta_key_use(",          /* a secret finds its workspace */
    "meta_share_use(",        /* a secret finds its workspace */
    "meta_setting_get(",      /* settings are the server's */
    "meta_setting_list(",     /* settings are the server's */
    "meta_dropped_list(",     /* columns the server frees */
    "meta_delivery_due(",     /* posts that the server makes */
};

static bool has_tenants(const char *name)
{
    for (size_t i = 0; i < sizeof NO_TENANTS / sizeof NO_TENANTS[0]; i++)
        if (strcmp(NO_TENANTS[i], name) == 0)
            return false;
    return true;
}

/* Counts the functions with this signature that have tenants; each must be in the cases. */
static unsigned functions_tried(const char *header, const char *signature, const char *cases)
{
    unsigned functions = 0;
    for (const char *at = header; (at = strstr(at, signature)); at++) {
        char name[64] = "";
        const char *begin = at;
        while (is_word(begin[-1]))
            begin--;
        snprintf(name, sizeof name, "%.*s(", (int)(at - begin), begin);
        if (!has_tenants(name))
            continue;
        if (!strstr(cases, name))
            fail_msg("meta_tenants.c does not try %s)", name);
        functions++;
    }
    return functions;
}

/* Every function of the contract that takes a workspace is called by the tenants' cases. */
TEST(test_tenants_cases_are_complete)
{
    char header_path[4096], cases_path[4096], *header = NULL, *cases = NULL;
    size_t len = 0;
    const char *root = getenv("GPUFL_SOURCE_DIR");
    assert_non_null(root);
    snprintf(header_path, sizeof header_path, "%s/src/meta/meta.h", root);
    snprintf(cases_path, sizeof cases_path, "%s/tests/store/meta_tenants.c", root);
    assert_int_equal(file_read_all(header_path, 1 << 20, &header, &len, NULL), 0);
    assert_int_equal(file_read_all(cases_path, 1 << 20, &cases, &len, NULL), 0);
    unsigned writers = functions_tried(header, "(struct meta *m, const char *workspace,", cases);
    unsigned readers = functions_tried(header, "(const struct meta_ask *ask,", cases);
    assert_true(writers > 30);
    assert_true(readers > 30);
    for (size_t i = 0; i < sizeof NO_TENANTS / sizeof NO_TENANTS[0]; i++)
        if (!strstr(header, NO_TENANTS[i]))
            fail_msg("meta.h has no %s)", NO_TENANTS[i]);
    mem_free(header);
    mem_free(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tenants_are_bound),
        cmocka_unit_test(test_others_stay_away_from_tenants),
        cmocka_unit_test(test_the_audit_log_is_for_good),
        cmocka_unit_test(test_the_check_finds_what_it_should),
        cmocka_unit_test(test_braces),
        cmocka_unit_test(test_tenants_cases_are_complete),
    };
    tables_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
