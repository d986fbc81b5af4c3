/* test_param.c - tests parameters of the path, the query and the body: values, or a problem that
 * names the one that is wrong. */
#include "server/request/param.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct param PARAMS[] = {
    {"session", PARAM_ID, PLACE_ADDRESS, NULL, NULL, NULL, "Session"},
    {"limit", PARAM_INT, PLACE_ADDRESS, NULL, "100", "1..1000", "Rows at most"},
    {"from", PARAM_TIME, PLACE_ADDRESS, NULL, NULL, NULL, "Begin"},
    {"pattern", PARAM_TEXT, PLACE_ADDRESS, NULL, NULL, "8", "Part of the name"},
    {"order", PARAM_CHOICE, PLACE_ADDRESS, NULL, "total", "total|calls|mean", "Order"},
    {"lanes", PARAM_LIST, PLACE_ADDRESS, NULL, NULL, "3", "Lanes"},
    {"back", PARAM_BOOL, PLACE_ADDRESS, NULL, NULL, NULL, "Backwards"},
    {"share", PARAM_REAL, PLACE_ADDRESS, NULL, NULL, "0..1", "A part"},
};

enum { SESSION, LIMIT, FROM, PATTERN, ORDER, LANES, BACK, SHARE, COUNT };

static const struct route ROUTE = {.id = "test",
                                   .method = HTTP_GET,
                                   .path = "/s/{session}/x",
                                   .rights = RIGHTS_READ,
                                   .params = PARAMS,
                                   .param_count = COUNT};

static struct http_request request;
static struct value values[COUNT];

static void begin(void)
{
    request = (struct http_request){.answer.fd = -1};
    strcpy(request.id, "1");
    memset(values, 0, sizeof values);
    region_init(&request.memory, 1 << 16);
    buf_init(&request.body, 1 << 16);
}

static void end(void)
{
    buf_fini(&request.answer.body);
    buf_fini(&request.body);
    region_fini(&request.memory);
}

/* Returns true if the target's parameters are accepted; calls begin(), and the caller calls end().
 * */
static bool take(const char *target)
{
    begin();
    assert_int_equal(uri_parse(&request.uri, target, &request.memory, NULL), 0);
    assert_true(route_matches(&ROUTE, &request.uri));
    return params_read(&request, &ROUTE, values);
}

TEST(test_values)
{
    assert_true(take("/s/abc-1/x?limit=7&from=-5&pattern=gemm&order=mean&lanes=1,-2,3&back=true&"
                     "share=0.25"));
    assert_string_equal(values[SESSION].text, "abc-1");
    assert_int_equal(values[LIMIT].i, 7);
    assert_int_equal(values[FROM].i, -5);
    assert_string_equal(values[PATTERN].text, "gemm");
    assert_int_equal(values[ORDER].i, 2);
    assert_string_equal(values[ORDER].text, "mean");
    assert_int_equal(values[LANES].count, 3);
    assert_int_equal(values[LANES].list[1], -2);
    assert_int_equal(values[BACK].i, 1);
    assert_true(values[SHARE].r == 0.25);
    end();
}

/* A run of numbers is named by its first one and its length. */
TEST(test_runs)
{
    assert_true(take("/s/a/x?lanes=72057594037927937*3"));
    assert_int_equal(values[LANES].count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(values[LANES].list[i], INT64_C(72057594037927937) + i);
    end();
    assert_true(take("/s/a/x?lanes=-1*2,7*1"));
    assert_int_equal(values[LANES].count, 3);
    assert_int_equal(values[LANES].list[0], -1);
    assert_int_equal(values[LANES].list[1], 0);
    assert_int_equal(values[LANES].list[2], 7);
    end();
    assert_true(take("/s/a/x?lanes=9223372036854775806*2"));
    assert_int_equal(values[LANES].list[1], INT64_MAX);
    end();
}

TEST(test_standards)
{
    assert_true(take("/s/a/x"));
    assert_true(values[LIMIT].given);
    assert_int_equal(values[LIMIT].i, 100);
    assert_int_equal(values[ORDER].i, 0);
    assert_string_equal(values[ORDER].text, "total");
    assert_false(values[FROM].given);
    assert_false(values[PATTERN].given);
    end();
}

TEST(test_workspace_is_known_everywhere)
{
    assert_true(take("/s/a/x?workspace=w"));
    end();
}

static void refuse(const char *target, const char *parameter)
{
    char want[64];
    if (take(target))
        fail_msg("%s was taken", target);
    assert_int_equal(request.answer.status, 400);
    snprintf(want, sizeof want, "\"parameter\":\"%s\"", parameter);
    const char *body = buf_cstr(&request.answer.body);
    if (!strstr(body, want))
        fail_msg("%s: %s", target, body);
    end();
}

TEST(test_problems)
{
    refuse("/s/a/x?limit=0", "limit");
    refuse("/s/a/x?limit=1001", "limit");
    refuse("/s/a/x?limit=99999999999999999999", "limit");
    refuse("/s/a/x?limit=-1", "limit");
    refuse("/s/a/x?limit=1e3", "limit");
    refuse("/s/a/x?limit=", "limit");
    refuse("/s/a/x?limit=7;drop", "limit");
    refuse("/s/a/x?limit=7&limit=8", "limit");
    refuse("/s/a/x?pattern=123456789", "pattern");
    refuse("/s/a/x?order=tot", "order");
    refuse("/s/a/x?order=", "order");
    refuse("/s/a/x?lanes=1,2,3,4", "lanes");
    refuse("/s/a/x?lanes=1*4", "lanes");
    refuse("/s/a/x?lanes=1,2*3", "lanes");
    refuse("/s/a/x?lanes=1*0", "lanes");
    refuse("/s/a/x?lanes=1*-1", "lanes");
    refuse("/s/a/x?lanes=1*", "lanes");
    refuse("/s/a/x?lanes=*2", "lanes");
    refuse("/s/a/x?lanes=1*2*2", "lanes");
    refuse("/s/a/x?lanes=9223372036854775806*3", "lanes"); /* the last one would have 64 bits */
    refuse("/s/a/x?lanes=", "lanes");
    refuse("/s/a/x?lanes=1,,2", "lanes");
    refuse("/s/a/x?lanes=1,x", "lanes");
    refuse("/s/a/x?back=maybe", "back");
    refuse("/s/a/x?share=1.5", "share");
    refuse("/s/a/x?share=nan", "share");
    refuse("/s/a/x?share=0x1", "share");
    refuse("/s/a/x?nothing=1", "nothing");
    refuse("/s/a/x?session=b", "session"); /* it is in the path */
    refuse("/s/a'b/x", "session");
    refuse("/s/a%2fb/x", "session");
    refuse("/s/%20/x", "session");
    char target[256] = "/s/";
    memset(target + 3, 'a', 64);
    strcpy(target + 67, "/x");
    refuse(target, "session");
}

/* A field of the header that comes twice is refused: readers differ in which one they take. */
TEST(test_header_twice)
{
    static const struct param field[] = {
        {"session", PARAM_ID, PLACE_HEADER, "X-GpuFlight-Session-Id", NULL, NULL, "Session"}};
    static const struct route route = {
        .id = "in", .method = HTTP_POST, .path = "/in", .params = field, .param_count = 1};
    static const struct http_field twice[] = {{"X-GpuFlight-Session-Id", "a"},
                                              {"x-gpuflight-session-id", "b"}};
    for (unsigned n = 1; n <= 2; n++) {
        begin();
        request.fields = twice;
        request.field_count = n;
        assert_int_equal(uri_parse(&request.uri, "/in", &request.memory, NULL), 0);
        assert_int_equal(params_read(&request, &route, values), n == 1);
        if (n == 1)
            assert_string_equal(values[0].text, "a");
        else
            assert_non_null(strstr(buf_cstr(&request.answer.body), "given twice"));
        end();
    }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static const struct param MEMBERS[] = {
    {"name", PARAM_TEXT, PLACE_BODY, NULL, NEEDED, "16", "A name"},
    {"scopes", PARAM_CHOICE, PLACE_BODY, NULL, "read", "ingest|read", "What for"},
    {"enabled", PARAM_BOOL, PLACE_BODY, NULL, NULL, NULL, "On"},
    {"threshold", PARAM_REAL, PLACE_BODY, NULL, NULL, "0..100", "Above it"},
    {"hold", PARAM_INT, PLACE_BODY, NULL, NULL, "0..1000", "For so long"},
};

static const struct route POST = {.id = "post",
                                  .method = HTTP_POST,
                                  .path = "/p",
                                  .params = MEMBERS,
                                  .param_count = sizeof MEMBERS / sizeof MEMBERS[0]};

static const struct http_field JSON[] = {{"Content-Type", "application/json; charset=utf-8"}};

static bool take_body(const char *text, bool typed)
{
    begin();
    if (typed) {
        request.fields = JSON;
        request.field_count = 1;
    }
    buf_str(&request.body, text);
    return params_body(&request, &POST, values);
}

TEST(test_body)
{
    assert_true(
        take_body("{\"name\":\"x\\u00e9\",\"enabled\":true,\"threshold\":1.5,\"hold\":7}", true));
    assert_string_equal(values[0].text, "x\xc3\xa9");
    assert_int_equal(values[1].i, 1);
    assert_int_equal(values[2].i, 1);
    assert_true(values[3].r == 1.5);
    assert_int_equal(values[4].i, 7);
    end();
    assert_true(take_body("{\"name\":\"x\",\"threshold\":2,\"hold\":null}", true));
    assert_true(values[3].r == 2);
    assert_false(values[4].given);
    end();
}

TEST(test_bad_bodies)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"name\":1}",
        "{\"name\":\"a\",\"name\":\"b\"}",
        "{\"name\":\"a\\u0000b\"}",
        "{\"name\":\"12345678901234567\"}",
        "{\"name\":\"a\",\"scopes\":\"all\"}",
        "{\"name\":\"a\",\"enabled\":1}",
        "{\"name\":\"a\",\"enabled\":\"true\"}",
        "{\"name\":\"a\",\"hold\":1.5}",
        "{\"name\":\"a\",\"hold\":\"7\"}",
        "{\"name\":\"a\",\"threshold\":{}}",
        "{\"name\":\"a\",\"more\":1}",
        "{\"name\":\"a\"} x",
        "{\"name\":\"\xff\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (take_body(bad[i], true))
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(request.answer.status, 400);
        end();
    }
    assert_false(take_body("{\"name\":\"x\"}", false));
    assert_int_equal(request.answer.status, 415);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_standards),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_workspace_is_known_everywhere),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_bad_bodies),
        cmocka_unit_test(test_header_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
