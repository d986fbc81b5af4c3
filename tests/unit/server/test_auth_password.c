/* test_auth_password.c - tests hashes of passwords: right, wrong, foreign, and many at the same
 * time. */
#include "base/alloc.h"
#include "server/auth/password.h"
#include "server/auth/secret.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHEAP = 8192 }; /* bytes: the least that argon2id takes */

static int64_t processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

TEST(test_right_and_wrong)
{
    struct auth_password p;
    char hash[PASSWORD_HASH], again[PASSWORD_HASH];
    assert_int_equal(auth_password_init(&p, 1, CHEAP, 0), 0);
    assert_int_equal(auth_password_hash(&p, "correct horse battery", hash, NULL), 0);
    assert_int_equal(strncmp(hash, "$argon2id$", 10), 0);
    assert_true(auth_password_verify(&p, hash, "correct horse battery"));
    assert_false(auth_password_verify(&p, hash, "correct horse batterz"));
    assert_false(auth_password_verify(&p, hash, ""));
    assert_int_equal(auth_password_hash(&p, "correct horse battery", again, NULL), 0);
    assert_string_not_equal(hash, again); /* salted */
    auth_password_fini(&p);
}

/* A text in place of a hash lets nobody in. */
TEST(test_no_hash)
{
    static const char *const none[] = {NULL,
                                       "",
                                       "x",
                                       "$argon2id$",
                                       "$argon2id$v=19$m=8,t=1,p=1$$",
                                       "plain text",
                                       "$2b$10$abcdefghijklmnopqrstuv"};
    struct auth_password p;
    char *huge = malloc(100000);
    assert_int_equal(auth_password_init(&p, 1, CHEAP, 0), 0);
    memset(huge, 'a', 99999);
    huge[99999] = '\0';
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_false(auth_password_verify(&p, none[i], ""));
        assert_false(auth_password_verify(&p, none[i], "plain text"));
        assert_false(auth_password_verify(&p, none[i], huge));
    }
    assert_false(auth_password_verify(&p, p.nobody, "a"));
    assert_false(auth_password_is_old(&p, p.nobody)); /* a hash, of the same cost */
    free(huge);
    auth_password_fini(&p);
}

TEST(test_rules)
{
    struct err e;
    char longest[PASSWORD_MOST + 2];
    memset(longest, 'a', sizeof longest);
    longest[0] = 'b';
    longest[PASSWORD_MOST + 1] = '\0';
    assert_int_equal(auth_password_check(longest, "a@b.c", &e), GPUFL_E_INVAL);
    longest[PASSWORD_MOST] = '\0';
    assert_int_equal(auth_password_check(longest, "a@b.c", &e), 0);
    assert_int_equal(auth_password_check("nine char", "a@b.c", &e), GPUFL_E_INVAL);
    assert_int_equal(auth_password_check("", "a@b.c", &e), GPUFL_E_INVAL);
    assert_int_equal(auth_password_check("aaaaaaaaaaaaaaaa", "a@b.c", &e), GPUFL_E_INVAL);
    assert_int_equal(auth_password_check("ADA@example.org", "ada@example.org", &e), GPUFL_E_INVAL);
    assert_int_equal(auth_password_check("several words", "ada@example.org", &e), 0);
}

TEST(test_the_cost)
{
    struct auth_password cheap, dear;
    char hash[PASSWORD_HASH];
    assert_int_equal(auth_password_init(&cheap, 1, CHEAP, 0), 0);
    assert_int_equal(auth_password_init(&dear, 0, 0, 0), 0);
    assert_true(dear.memory >= 64 << 20);
    assert_int_equal(auth_password_hash(&cheap, "several words", hash, NULL), 0);
    assert_false(auth_password_is_old(&cheap, hash));
    assert_true(auth_password_is_old(&dear, hash));
    assert_true(auth_password_verify(&dear, hash, "several words")); /* an old one is still right */
    auth_password_fini(&cheap);
    auth_password_fini(&dear);
}

/* If there is no user, an attempt takes as long. On a busy machine only half of the time is
 * certain, and a text that is no hash takes a thousandth of it. Lack of memory for a hash is
 * reported at once. */
TEST(test_nobody_takes_as_long)
{
    struct auth_password p;
    char hash[PASSWORD_HASH];
    assert_int_equal(auth_password_init(&p, 1, 8 << 20, 0), 0);
    assert_false(auth_password_is_old(&p, p.nobody));
    assert_int_equal(auth_password_hash(&p, "several words", hash, NULL), 0);
    int64_t least[2] = {INT64_MAX, INT64_MAX};
    for (int i = 0; i < 6; i++) {
        int64_t begun = processor_ns();
        assert_int_equal(auth_password_verify(&p, i % 2 ? hash : NULL, "some other words"), 0);
        int64_t took = processor_ns() - begun;
        least[i % 2] = took < least[i % 2] ? took : least[i % 2];
    }
    assert_in_range(least[0], least[1] / 2, 2 * least[1]);
    auth_password_fini(&p);
    mem_fail_at(0);
    assert_int_equal(auth_password_init(&p, 0, 0, 0), GPUFL_E_NOMEM);
    mem_fail_at(-1);
}

struct hasher {
    struct auth_password *p;
    const char *hash;
    bool right;
};

static void *hasher_run(void *arg)
{
    struct hasher *h = arg;
    h->right = auth_password_verify(h->p, h->hash, "several words");
    return NULL;
}

TEST(test_many_wait_for_their_turn)
{
    enum { THREADS = 8 };
    struct auth_password p;
    struct hasher hashers[THREADS];
    pthread_t threads[THREADS];
    char hash[PASSWORD_HASH];
    assert_int_equal(auth_password_init(&p, 1, CHEAP, 2), 0);
    assert_int_equal(auth_password_hash(&p, "several words", hash, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        hashers[i] = (struct hasher){.p = &p, .hash = hash};
        assert_int_equal(pthread_create(&threads[i], NULL, hasher_run, &hashers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_true(hashers[i].right);
    assert_int_equal(p.running, 0);
    auth_password_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_and_wrong),
        cmocka_unit_test(test_no_hash),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_the_cost),
        cmocka_unit_test(test_nobody_takes_as_long),
        cmocka_unit_test(test_many_wait_for_their_turn),
    };
    if (auth_secret_init())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
