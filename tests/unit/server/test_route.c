/* test_route.c - tests the table of routes: its rows are consistent, and are found. */
#include "meta/meta.h"
#include "server/request/param.h"
#include "server/request/route.h"
#include "store/store.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static struct region mem;

static const struct route *find(enum http_method method, const char *target, unsigned *allowed)
{
    struct uri u;
    assert_int_equal(uri_parse(&u, target, &mem, NULL), 0);
    return route_find(method, &u, allowed);
}

TEST(test_rows_make_sense)
{
    for (unsigned i = 0; i < ROUTE_COUNT; i++) {
        const struct route *r = &routes[i];
        assert_true(r->path[0] == '/' && r->path[1]);
        assert_true(r->param_count <= ROUTE_PARAMS_MAX);
        assert_non_null(r->handler);
        if (r->doc[strlen(r->doc) - 1] != '.')
            fail_msg("%s: its sentence has no end", r->id);
        for (unsigned k = 0; k < i; k++)
            if (routes[k].method == r->method && strcmp(routes[k].path, r->path) == 0)
                fail_msg("%s and %s are one address", routes[k].id, r->id);
        for (const char *s = strchr(r->path, '{'); s; s = strchr(s + 1, '{')) {
            bool found = false;
            for (unsigned k = 0; k < r->param_count; k++)
                found =
                    found || (strncmp(s + 1, r->params[k].name, strlen(r->params[k].name)) == 0 &&
                              s[1 + strlen(r->params[k].name)] == '}');
            if (!found)
                fail_msg("%s: a part of its path has no row", r->id);
        }
    }
}

TEST(test_standards_are_within_limits)
{
    for (unsigned i = 0; i < ROUTE_COUNT; i++)
        for (unsigned k = 0; k < routes[i].param_count; k++) {
            const struct param *p = &routes[i].params[k];
            struct value v = {0};
            struct err e = {0};
            int64_t least, most;
            param_range(p, &least, &most);
            assert_true(least <= most);
            if (p->type == PARAM_CHOICE)
                assert_non_null(p->limits);
            if (p->standard && p->standard != NEEDED && !param_parse(p, p->standard, &mem, &v, &e))
                fail_msg("%s: the standard of %s is not %s", routes[i].id, p->name, e.text);
        }
}

TEST(test_found)
{
    unsigned allowed;
    assert_ptr_equal(find(HTTP_GET, "/healthz", &allowed), &routes[ROUTE_healthz]);
    assert_ptr_equal(find(HTTP_HEAD, "/healthz", &allowed), &routes[ROUTE_healthz]);
    assert_ptr_equal(find(HTTP_GET, "/api/v1/info/version", &allowed), &routes[ROUTE_version]);
    assert_null(find(HTTP_POST, "/healthz", &allowed));
    assert_int_equal(allowed, 1u << HTTP_GET | 1u << HTTP_HEAD);
    assert_null(find(HTTP_OTHER, "/healthz", &allowed));
    assert_int_not_equal(allowed, 0);
    static const char *const unknown[] = {
        "/",       "/healthz/x",   "/health",  "/healthzz",
        "/api/v1", "/api/v1/info", "/HEALTHZ", "/api/v1/info/version/x"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_null(find(HTTP_GET, unknown[i], &allowed));
        assert_int_equal(allowed, 0);
    }
}

TEST(test_segments)
{
    static const struct route r = {.path = "/a/{one}/b/{another}"};
    struct uri u;
    assert_int_equal(route_segment(&r, "one"), 1);
    assert_int_equal(route_segment(&r, "another"), 3);
    assert_int_equal(route_segment(&r, "other"), -1);
    assert_int_equal(route_segment(&r, "a"), -1);
    assert_int_equal(uri_parse(&u, "/a/x/b/y", &mem, NULL), 0);
    assert_true(route_matches(&r, &u));
    assert_int_equal(uri_parse(&u, "/a/x/c/y", &mem, NULL), 0);
    assert_false(route_matches(&r, &u));
    assert_int_equal(uri_parse(&u, "/a/x/b", &mem, NULL), 0);
    assert_false(route_matches(&r, &u));
    assert_int_equal(uri_parse(&u, "/a/x/b/y/z", &mem, NULL), 0);
    assert_false(route_matches(&r, &u));
}

static int group_begin(void **state)
{
    (void)state;
    region_init(&mem, 1 << 20);
    return 0;
}

static int group_end(void **state)
{
    (void)state;
    region_fini(&mem);
    return 0;
}

/* The route whose handler asks a query for itself; NULL: the query has a route of its own. */
static const struct route *asking(const char *query)
{
    for (unsigned i = 0; i < ROUTE_COUNT && strcmp(query, "trend") == 0; i++)
        if (strcmp(routes[i].id, "history") == 0)
            return &routes[i];
    return NULL;
}

/* Every query of the store has a route, and each of its parameters has a row of that name. */
TEST(test_questions_have_routes)
{
    for (unsigned q = 0; q < STORE_QUERY_COUNT; q++) {
        const struct route *asks = asking(store_queries[q].id), *r = asks;
        for (unsigned i = 0; i < ROUTE_COUNT && !r; i++)
            if (routes[i].answer == ANSWER_QUERY && strcmp(routes[i].of, store_queries[q].id) == 0)
                r = &routes[i];
        if (!r)
            fail_msg("nobody can ask %s", store_queries[q].id);
        for (unsigned k = 0; k < store_queries[q].param_count; k++) {
            bool found = asks && strcmp(store_queries[q].params[k].name, "limit") == 0;
            for (unsigned i = 0; i < r->param_count; i++)
                found = found || strcmp(r->params[i].name, store_queries[q].params[k].name) == 0;
            if (!found)
                fail_msg("%s: nobody can say %s", r->id, store_queries[q].params[k].name);
        }
    }
}

TEST(test_answers_are_known)
{
    for (unsigned i = 0; i < ROUTE_COUNT; i++) {
        const struct route *r = &routes[i];
        bool found =
            r->answer != ANSWER_QUERY && r->answer != ANSWER_ROW && r->answer != ANSWER_PAGE;
        for (unsigned k = 0; k < STORE_QUERY_COUNT && r->answer == ANSWER_QUERY; k++)
            found = found || strcmp(store_queries[k].id, r->of) == 0;
        for (unsigned k = 0; k < META_ROW_COUNT && r->answer != ANSWER_QUERY && r->of; k++)
            found = found || strcmp(meta_rows[k].name, r->of) == 0;
        if (!found)
            fail_msg("%s answers with %s, which is nothing", r->id, r->of);
    }
}

/* The words of a choice are in the order of an enum's numbers. */
TEST(test_choices_follow_their_enums)
{
    static const char sorts[] = ""
#define X(key, expression, type) "|" #key
        META_SESSION_SORTS(X)
#undef X
        ;
    assert_string_equal(routes[ROUTE_sessions].params[IN_sessions_sort].limits, sorts + 1);
    assert_string_equal(routes[ROUTE_session_names].params[IN_session_names_by].limits,
                        "app|host|gpu|engine");
    assert_int_equal(META_BY_COUNT, 4);
    assert_int_equal(META_BY_ENGINE, 3);
}

/* The routes without a right are those that are asked before somebody has logged in. */
TEST(test_public_routes_are_these)
{
    static const char *const allowed[] = {
        "healthz", "readyz", "metrics", "version", "openapi",      "login", "logout",
        "me",      "setup",  "open",    "accept",  "setup_needed", "reset", "password"};
    for (unsigned i = 0; i < ROUTE_COUNT; i++) {
        bool found = routes[i].rights != RIGHTS_PUBLIC;
        for (size_t k = 0; k < sizeof allowed / sizeof allowed[0]; k++)
            found = found || strcmp(allowed[k], routes[i].id) == 0;
        if (!found)
            fail_msg("%s is open to everybody", routes[i].id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_make_sense),
        cmocka_unit_test(test_standards_are_within_limits),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_questions_have_routes),
        cmocka_unit_test(test_answers_are_known),
        cmocka_unit_test(test_choices_follow_their_enums),
        cmocka_unit_test(test_public_routes_are_these),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
