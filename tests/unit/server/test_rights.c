/* test_rights.c - tests the table of rights, cell by cell, and unknown words. */
#include "base/alloc.h"
#include "base/file/file.h"
#include "server/auth/rights.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

TEST(test_roles)
{
    static const char *const roles[] = {"viewer", "member", "owner"};
    /* The least role that has the right; 3: no role. */
    static const int least[RIGHTS_COUNT] = {
        [RIGHTS_PUBLIC] = 0,  [RIGHTS_INGEST] = 1, [RIGHTS_READ] = 0, [RIGHTS_WRITE] = 1,
        [RIGHTS_CONTROL] = 1, [RIGHTS_OWNER] = 2,  [RIGHTS_ADMIN] = 3};
    for (int right = 0; right < RIGHTS_COUNT; right++) {
        for (int role = 0; role < 3; role++)
            assert_int_equal(rights_of_role((enum rights)right, roles[role]), role >= least[right]);
        assert_int_equal(rights_of_role((enum rights)right, ""), right == RIGHTS_PUBLIC);
        assert_int_equal(rights_of_role((enum rights)right, "Owner"), right == RIGHTS_PUBLIC);
        assert_int_equal(rights_of_role((enum rights)right, "owner "), right == RIGHTS_PUBLIC);
    }
}

TEST(test_scopes)
{
    for (int scopes = 0; scopes < 16; scopes++) {
        bool admin = scopes & SCOPE_ADMIN;
        assert_true(rights_of_scopes(RIGHTS_PUBLIC, scopes));
        assert_int_equal(rights_of_scopes(RIGHTS_INGEST, scopes), admin || scopes & SCOPE_INGEST);
        assert_int_equal(rights_of_scopes(RIGHTS_READ, scopes), admin || scopes & SCOPE_READ);
        assert_int_equal(rights_of_scopes(RIGHTS_WRITE, scopes), admin);
        assert_int_equal(rights_of_scopes(RIGHTS_CONTROL, scopes), admin);
        assert_int_equal(rights_of_scopes(RIGHTS_OWNER, scopes), admin);
        assert_false(rights_of_scopes(RIGHTS_ADMIN, scopes));
    }
    for (int right = 0; right < RIGHTS_COUNT; right++)
        assert_int_equal(rights_of_share((enum rights)right),
                         right == RIGHTS_PUBLIC || right == RIGHTS_READ);
}

TEST(test_words)
{
    static const char *const bad[] = {"",     ",",           "read,", ",read",
                                      "Read", "read ingest", "all",   "read,,ingest"};
    int64_t scopes = 0;
    assert_true(scopes_parse("ingest", &scopes));
    assert_int_equal(scopes, SCOPE_INGEST);
    assert_true(scopes_parse("admin,read,ingest,read", &scopes));
    assert_int_equal(scopes, SCOPE_ALL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(scopes_parse(bad[i], &scopes));
    assert_true(role_ok("viewer"));
    assert_false(role_ok("admin"));
}

/* docs/server-auth.md shows the same table. */
TEST(test_the_document)
{
    char *text;
    document_read("server-auth.md", &text);
    static const struct {
        const char *name;
        bool may[6]; /* in the order of the columns */
    } rows[] = {
#define RIGHT(name, viewer, member, owner, ingest, read, admin, share, doc)                        \
    {#name, {viewer, member, owner, ingest, read, admin}},
#include "server/auth/rights.def"
    };
    for (size_t i = 0; i < RIGHTS_COUNT; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "\n| %s: ", rows[i].name);
        const char *at = strstr(text, begin);
        if (i == RIGHTS_PUBLIC || i == RIGHTS_ADMIN)
            continue;
        assert_non_null(at);
        at = strchr(at + 3, '|');
        for (size_t column = 0; column < 6; column++) {
            assert_int_equal(strncmp(at, "| yes |", 7) == 0, rows[i].may[column]);
            at = strchr(at + 1, '|');
        }
    }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
