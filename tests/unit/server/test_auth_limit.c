/* test_auth_limit.c - attempts are used up and return with time; filling the table resets nobody's
 * attempts. */
#include "server/auth/limit.h"
#include "server/auth/secret.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000LL

static struct auth_limit limit;

static int fresh(void **state)
{
    (void)state;
    return auth_limit_init(&limit);
}

static int end(void **state)
{
    (void)state;
    auth_limit_fini(&limit);
    return 0;
}

TEST(test_tries_run_out)
{
    int64_t now = 1000 * SECOND;
    for (int i = 0; i < ADDRESS_TRIES; i++)
        assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now), 0);
    assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now), ADDRESS_EVERY);
    assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.2", now), 0);
    assert_int_equal(auth_limit_take(&limit, LIMIT_ACCOUNT, "192.0.2.1", now), 0);
    now += ADDRESS_EVERY / 2;
    assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now), ADDRESS_EVERY / 2);
    now += ADDRESS_EVERY / 2; /* the refused attempt cost nothing: one is back */
    assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now), 0);
    assert_true(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now) > 0);
    now += 100 * ADDRESS_EVERY; /* never more than all of them */
    for (int i = 0; i < ADDRESS_TRIES; i++)
        assert_int_equal(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now), 0);
    assert_true(auth_limit_take(&limit, LIMIT_ADDRESS, "192.0.2.1", now) > 0);
}

TEST(test_a_right_one_costs_nothing)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(auth_limit_take(&limit, LIMIT_ACCOUNT, "ada", SECOND), 0);
        auth_limit_give(&limit, LIMIT_ACCOUNT, "ada", SECOND);
    }
    /* an unknown name: nothing changes */
    auth_limit_give(&limit, LIMIT_ACCOUNT, "unknown", SECOND);
    for (int i = 0; i < ACCOUNT_TRIES; i++)
        assert_int_equal(auth_limit_take(&limit, LIMIT_ACCOUNT, "ada", SECOND), 0);
    assert_true(auth_limit_take(&limit, LIMIT_ACCOUNT, "ada", SECOND) > 0);
}

/* A hundred thousand other names do not make the table forget one that has tried often. */
TEST(test_the_table_is_flooded)
{
    char name[32];
    for (int i = 0; i < ACCOUNT_TRIES; i++)
        assert_int_equal(auth_limit_take(&limit, LIMIT_ACCOUNT, "victim", SECOND), 0);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "flood%d", i);
        auth_limit_take(&limit, LIMIT_ACCOUNT, name, SECOND + i);
    }
    assert_true(auth_limit_take(&limit, LIMIT_ACCOUNT, "victim", 2 * SECOND) > 0);
}

TEST(test_addresses)
{
    static const char *const cases[][2] = {
        {"192.0.2.7", "192.0.2.7"},
        {"::ffff:192.0.2.7", "192.0.2.7"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
        {"2001:db8:1:2:ffff::1", "2001:db8:1:2::"},
        {"fe80::1%eth0", "fe80::"},
        {"::1", "::"},
        {"", ""},
        {"unix", "unix"},
    };
    char out[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        auth_limit_address(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
    char longest[1000];
    memset(longest, 'f', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    auth_limit_address(longest, out, sizeof out);
    assert_int_equal(strlen(out), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tries_run_out, fresh, end),
        cmocka_unit_test_setup_teardown(test_a_right_one_costs_nothing, fresh, end),
        cmocka_unit_test_setup_teardown(test_the_table_is_flooded, fresh, end),
        cmocka_unit_test(test_addresses),
    };
    if (auth_secret_init())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
