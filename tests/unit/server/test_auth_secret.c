/* test_auth_secret.c - forms of secrets, known hashes, and that two are never the same. */
#include "server/auth/secret.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

TEST(test_forms)
{
    char id[SECRET_ID], token[SECRET_TOKEN], key[SECRET_KEY], share[SECRET_KEY];
    auth_secret_id(id);
    auth_secret_token(token);
    auth_secret_key(SECRET_API_KEY, key);
    auth_secret_key(SECRET_SHARE, share);
    assert_int_equal(strlen(id), 22);
    assert_int_equal(strlen(token), 43);
    assert_int_equal(strlen(key), 37); /* gpfl_ and 32 characters */
    assert_true(auth_secret_token_ok(token));
    assert_true(auth_secret_key_ok(SECRET_API_KEY, key));
    assert_false(auth_secret_key_ok(SECRET_API_KEY, share));
    assert_false(auth_secret_key_ok(SECRET_SHARE, key));
    assert_false(auth_secret_token_ok(key));
}

TEST(test_bad_forms)
{
    static const char *const bad[] = {"",
                                      "gpfl_",
                                      "gpfl_short",
                                      "gpfl_0123456789012345678901234567890!",
                                      "gpfl_012345678901234567890123456789012",
                                      "GPFL_01234567890123456789012345678901",
                                      " gpfl_01234567890123456789012345678901",
                                      "gpfl_0123456789012345678901234567890\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(auth_secret_key_ok(SECRET_API_KEY, bad[i]));
    assert_true(auth_secret_key_ok(SECRET_API_KEY, "gpfl_01234567890123456789012345678901"));
}

TEST(test_hashes)
{
    char hash[SECRET_HASH], csrf[SECRET_TOKEN], other[SECRET_TOKEN];
    auth_secret_hash("abc", hash); /* the standard's own example */
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    auth_secret_csrf("abc", csrf);
    auth_secret_csrf("abd", other);
    assert_string_not_equal(csrf, other);
    assert_int_equal(strlen(csrf), 43);
    auth_secret_csrf("abc", other);
    assert_string_equal(csrf, other);
    assert_true(auth_secret_equal("abc", "abc"));
    assert_false(auth_secret_equal("abc", "abd"));
    assert_false(auth_secret_equal("abc", "abcd"));
    assert_false(auth_secret_equal("abc", ""));
}

TEST(test_no_two_are_the_same)
{
    enum { MANY = 2000 };
    static char keys[MANY][SECRET_KEY];
    unsigned seen[256] = {0};
    for (int i = 0; i < MANY; i++) {
        auth_secret_key(SECRET_API_KEY, keys[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
        for (int c = 5; c < SECRET_KEY - 1; c++)
            seen[(unsigned char)keys[i][c]]++;
    }
    unsigned used = 0;
    for (int c = 0; c < 256; c++) {
        used += seen[c] > 0;
        assert_true(seen[c] == 0 || (seen[c] > 700 && seen[c] < 1300)); /* about 1000 each */
    }
    assert_int_equal(used, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_bad_forms),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_no_two_are_the_same),
    };
    if (auth_secret_init())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
