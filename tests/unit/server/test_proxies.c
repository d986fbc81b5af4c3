/* test_proxies.c - tests the client's address behind proxies that are trusted, and behind
 * others. */
#include "server/common/proxies.h"
#include "tests/test.h"

#include <string.h>

static struct region mem;

static int fresh(void **state)
{
    (void)state;
    region_init(&mem, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    region_fini(&mem);
    return 0;
}

static const char *client(const char *nets, const char *peer, const struct http_field *fields,
                          unsigned count)
{
    struct proxies p;
    struct http_request r = {.peer = peer, .fields = fields, .field_count = count};
    assert_int_equal(proxies_init(&p, nets, NULL), 0);
    r.memory = mem;
    proxies_client(&p, &r);
    mem = r.memory;
    return r.peer;
}

#define XFF(value)       ((const struct http_field[]){{"X-Forwarded-For", value}}), 1
#define FORWARDED(value) ((const struct http_field[]){{"forwarded", value}}), 1

TEST(test_only_trusted_proxies_are_believed)
{
    assert_string_equal(client("10.0.0.0/8", "10.1.2.3", XFF("192.0.2.7")), "192.0.2.7");
    assert_string_equal(client("10.0.0.0/8", "::ffff:10.1.2.3", XFF("192.0.2.7")), "192.0.2.7");
    assert_string_equal(client("10.0.0.0/8", "198.51.100.1", XFF("192.0.2.7")), "198.51.100.1");
    assert_string_equal(client(NULL, "10.1.2.3", XFF("192.0.2.7")), "10.1.2.3");
    assert_string_equal(client("10.0.0.0/8", "10.1.2.3", NULL, 0), "10.1.2.3");
    assert_string_equal(client("fd00::/8, 10.0.0.1", "fd00::1", XFF("2001:db8::7")), "2001:db8::7");
}

TEST(test_the_rightmost_address_that_is_no_proxy_counts)
{
    static const char *const lists[] = {
        "6.6.6.6, 192.0.2.7",     "10.9.9.9, 192.0.2.7, 10.0.0.2, 10.0.0.3",
        "6.6.6.6,192.0.2.7:4711", "junk, 192.0.2.7 ,10.0.0.2:80",
        ",,192.0.2.7,",           "192.0.2.7",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_string_equal(client("10.0.0.0/8", "10.0.0.1", XFF(lists[i])), "192.0.2.7");
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", XFF("10.0.0.9, 10.0.0.2")), "10.0.0.9");
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", XFF("192.0.2.7, unknown, 10.0.0.2")),
                        "10.0.0.2");
    const struct http_field two[] = {
        {"X-Forwarded-For", "6.6.6.6"}, {"Host", "x"}, {"x-forwarded-for", "192.0.2.7, 10.0.0.2"}};
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", two, 3), "192.0.2.7");
}

TEST(test_forwarded)
{
    static const char *const lists[] = {
        "for=192.0.2.7",
        "for=6.6.6.6;by=1.1.1.1, proto=https; For=\"192.0.2.7:80\" ;host=x",
        "for=192.0.2.7, for=10.0.0.4",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_string_equal(client("10.0.0.0/8", "10.0.0.1", FORWARDED(lists[i])), "192.0.2.7");
    assert_string_equal(
        client("10.0.0.0/8", "10.0.0.1", FORWARDED("for=\"[2001:db8:cafe::17]:4711\"")),
        "2001:db8:cafe::17");
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", FORWARDED("for=_hidden")), "10.0.0.1");
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", FORWARDED("by=192.0.2.7")), "10.0.0.1");
    const struct http_field both[] = {{"Forwarded", "for=6.6.6.6"},
                                      {"X-Forwarded-For", "192.0.2.7"}};
    assert_string_equal(client("10.0.0.0/8", "10.0.0.1", both, 2), "10.0.0.1");
}

TEST(test_networks_that_are_none)
{
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0.1/8", "proxy.example.org", "10.0.0.0/",
                                      "::1/129",     "10/8",       "10.0.0.0/8x",       "/8"};
    struct proxies p;
    struct err e;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(proxies_init(&p, bad[i], &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, bad[i]));
    }
    assert_int_equal(proxies_init(&p, "0.0.0.0/0,::/0, 127.0.0.1", &e), 0);
    assert_int_equal(p.count, 3);
    assert_string_equal(client("0.0.0.0/0", "9.9.9.9", XFF("2001:db8::7")), "2001:db8::7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_trusted_proxies_are_believed, fresh, end),
        cmocka_unit_test_setup_teardown(test_the_rightmost_address_that_is_no_proxy_counts, fresh,
                                        end),
        cmocka_unit_test_setup_teardown(test_forwarded, fresh, end),
        cmocka_unit_test_setup_teardown(test_networks_that_are_none, fresh, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
