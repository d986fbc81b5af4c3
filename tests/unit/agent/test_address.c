/* test_address.c - tests networks that webhooks may not reach: their edges, and their addresses
 * inside other addresses. */
#include "net/client/address.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static const struct {
    const char *text;
    enum address_kind kind;
} cases[] = {
    {"8.8.8.8", ADDRESS_PUBLIC},
    {"1.0.0.0", ADDRESS_PUBLIC},
    {"0.255.255.255", ADDRESS_SPECIAL},
    {"0.0.0.0", ADDRESS_SPECIAL},
    {"9.255.255.255", ADDRESS_PUBLIC},
    {"10.0.0.0", ADDRESS_PRIVATE},
    {"10.255.255.255", ADDRESS_PRIVATE},
    {"11.0.0.0", ADDRESS_PUBLIC},
    {"100.63.255.255", ADDRESS_PUBLIC},
    {"100.64.0.1", ADDRESS_PRIVATE},
    {"100.100.100.200", ADDRESS_SPECIAL},
    {"100.100.100.201", ADDRESS_PRIVATE},
    {"100.128.0.0", ADDRESS_PUBLIC},
    {"126.255.255.255", ADDRESS_PUBLIC},
    {"127.0.0.1", ADDRESS_SPECIAL},
    {"127.1", ADDRESS_SPECIAL},
    {"0x7f000001", ADDRESS_SPECIAL},
    {"2130706433", ADDRESS_SPECIAL},
    {"012.1.2.3", ADDRESS_PRIVATE},
    {"127.255.255.255", ADDRESS_SPECIAL},
    {"128.0.0.0", ADDRESS_PUBLIC},
    {"168.63.129.16", ADDRESS_SPECIAL},
    {"169.253.255.255", ADDRESS_PUBLIC},
    {"169.254.169.254", ADDRESS_SPECIAL},
    {"172.15.255.255", ADDRESS_PUBLIC},
    {"172.16.0.0", ADDRESS_PRIVATE},
    {"172.31.255.255", ADDRESS_PRIVATE},
    {"172.32.0.0", ADDRESS_PUBLIC},
    {"192.0.0.192", ADDRESS_SPECIAL},
    {"192.167.255.255", ADDRESS_PUBLIC},
    {"192.168.1.1", ADDRESS_PRIVATE},
    {"198.17.255.255", ADDRESS_PUBLIC},
    {"198.19.0.1", ADDRESS_SPECIAL},
    {"223.255.255.255", ADDRESS_PUBLIC},
    {"224.0.0.1", ADDRESS_SPECIAL},
    {"255.255.255.255", ADDRESS_SPECIAL},
    {"::", ADDRESS_SPECIAL},
    {"::1", ADDRESS_SPECIAL},
    {"[::1]", ADDRESS_SPECIAL},
    {"::127.0.0.1", ADDRESS_SPECIAL},
    {"::ffff:127.0.0.1", ADDRESS_SPECIAL},
    {"::ffff:10.1.2.3", ADDRESS_PRIVATE},
    {"::ffff:8.8.8.8", ADDRESS_PUBLIC},
    {"64:ff9b::7f00:1", ADDRESS_SPECIAL},
    {"64:ff9b::808:808", ADDRESS_PUBLIC},
    {"2002:7f00:1::", ADDRESS_SPECIAL},
    {"2002:a9fe:a9fe::1", ADDRESS_SPECIAL},
    {"2002:808:808::", ADDRESS_PUBLIC},
    {"2001:0:1::80ff:fffe", ADDRESS_SPECIAL}, /* Teredo: 127.0.0.1 with each bit inverted */
    {"2001:db8::1", ADDRESS_SPECIAL},
    {"2001:4860:4860::8888", ADDRESS_PUBLIC},
    {"fe80::1", ADDRESS_SPECIAL},
    {"fec0::1", ADDRESS_SPECIAL},
    {"fd00:ec2::254", ADDRESS_SPECIAL},
    {"fd20:ce::254", ADDRESS_SPECIAL},
    {"fd00:1::1", ADDRESS_PRIVATE},
    {"fc00::1", ADDRESS_PRIVATE},
    {"ff02::1", ADDRESS_SPECIAL},
    {"4000::1", ADDRESS_SPECIAL},
};

TEST(test_kinds)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum address_kind kind;
        if (!address_parse(cases[i].text, &kind))
            fail_msg("%s is not read", cases[i].text);
        if (kind != cases[i].kind)
            fail_msg("%s: %d", cases[i].text, (int)kind);
    }
}

TEST(test_sockets)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct sockaddr_in6 b = {.sin6_family = AF_INET6};
    struct sockaddr_un c = {.sun_family = AF_UNIX};
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    inet_pton(AF_INET6, "2001:4860:4860::8888", &b.sin6_addr);
    assert_int_equal(address_kind((struct sockaddr *)&a, sizeof a), ADDRESS_SPECIAL);
    inet_pton(AF_INET, "8.8.8.8", &a.sin_addr);
    assert_int_equal(address_kind((struct sockaddr *)&a, sizeof a), ADDRESS_PUBLIC);
    assert_int_equal(address_kind((struct sockaddr *)&a, 4), ADDRESS_SPECIAL);
    assert_int_equal(address_kind((struct sockaddr *)&b, sizeof b), ADDRESS_PUBLIC);
    assert_int_equal(address_kind((struct sockaddr *)&c, sizeof c), ADDRESS_SPECIAL);
}

TEST(test_names_are_none)
{
    static const char *const names[] = {"",   "localhost", "example.org",
                                        "[]", "::1%lo",    "1.2.3.4.5"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum address_kind kind;
        assert_false(address_parse(names[i], &kind)); /* what a name resolves to is checked later */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_names_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
