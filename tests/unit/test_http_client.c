/* Addresses of servers as people write them, and requests that must not go out. */
#include "net/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_url(const char *given, const char *wanted)
{
    char out[256];
    struct err e = {0};
    assert_int_equal(http_client_clean_url(given, out, sizeof out, &e), 0);
    assert_string_equal(out, wanted);
}

static void refuse_url(const char *given, const char *word)
{
    char out[64];
    struct err e = {0};
    assert_int_equal(http_client_clean_url(given, out, sizeof out, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, word));
}

static void test_addresses(void **state)
{
    (void)state;
    expect_url("gpufl.example.org", "https://gpufl.example.org");
    expect_url("gpufl.example.org:8443/", "https://gpufl.example.org:8443");
    expect_url("HTTP://Host/base//", "http://Host/base");
    expect_url("[::1]:8080", "https://[::1]:8080");
    refuse_url("", "names no server");
    refuse_url("https:///x", "names no server");
    refuse_url("http://:80", "names no server");
    refuse_url("file:///etc/passwd", "http://");
    refuse_url("https://name:secret@host", "must not hold");
    refuse_url("name:secret@host", "must not hold");
    refuse_url("http://host?x", "ends before");
    refuse_url("http://host\r\nX: y", "control");
    refuse_url("https://a-name-that-is-much-too-long-for-the-room-that-there-is.example.org",
               "too long");
}

static void test_what_can_be_read_on_the_way(void **state)
{
    (void)state;
    assert_false(http_client_in_clear("https://host"));
    assert_false(http_client_in_clear("http://localhost:80"));
    assert_false(http_client_in_clear("http://127.0.0.1"));
    assert_false(http_client_in_clear("http://[::1]/x"));
    assert_true(http_client_in_clear("http://host"));
    assert_true(http_client_in_clear("http://localhost.example.org"));
    assert_true(http_client_in_clear("http://10.0.0.1"));
}

/* A line break in a text of somebody's log would begin a field of its own. */
static void test_no_field_is_smuggled_in(void **state)
{
    (void)state;
    const struct http_client_config c = {.url = "http://127.0.0.1:9", .agent = "test"};
    const struct http_client_call call = {
        .method = "GET", .path = "/", .fields = {{"X-Host", "a\r\nAuthorization: other"}}};
    struct http_client *client;
    struct http_client_answer a;
    struct err e = {0};
    int code = http_client_open(&client, &c, &e);
    if (code == GPUFL_E_NOT_BUILT)
        skip();
    assert_int_equal(code, 0);
    http_client_answer_init(&a);
    assert_int_equal(http_client_send(client, &call, &a, &e), GPUFL_E_INVAL);
    http_client_answer_fini(&a);
    http_client_close(client);
}

static void test_keys_that_are_none(void **state)
{
    (void)state;
    const struct http_client_config c = {
        .url = "http://127.0.0.1:9", .agent = "test", .key = "gpfl_secret\nmore"};
    struct http_client *client;
    struct err e = {0};
    int code = http_client_open(&client, &c, &e);
    if (code == GPUFL_E_NOT_BUILT)
        skip();
    assert_int_equal(code, GPUFL_E_INVAL);
    assert_null(strstr(e.text, "secret"));
    assert_null(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_what_can_be_read_on_the_way),
        cmocka_unit_test(test_no_field_is_smuggled_in),
        cmocka_unit_test(test_keys_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
