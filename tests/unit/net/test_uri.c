/* test_uri.c - tests targets of requests: parsed, decoded once, refused if they are not clean. */
#include "net/server/uri.h"
#include "tests/test.h"

#include "base/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "a|b|c?x=1&y=2" of a target; "!" and the sentence if it is refused. */
static const char *taken(const char *target)
{
    static char out[1024];
    struct region mem;
    struct uri u;
    struct err e = {0};
    int n = 0;
    region_init(&mem, 1 << 16);
    out[0] = '\0';
    if (uri_parse(&u, target, &mem, &e)) {
        snprintf(out, sizeof out, "!%s", e.text);
    } else {
        for (unsigned i = 0; i < u.segment_count; i++)
            n += snprintf(out + n, sizeof out - (size_t)n, "%s%s", i ? "|" : "", u.segments[i]);
        for (unsigned i = 0; i < u.pair_count; i++)
            n += snprintf(out + n, sizeof out - (size_t)n, "%s%s=%s", i ? "&" : "?",
                          u.pairs[i].name, u.pairs[i].value);
    }
    region_fini(&mem);
    return out;
}

TEST(test_parts)
{
    assert_string_equal(taken("/"), "");
    assert_string_equal(taken("/a"), "a");
    assert_string_equal(taken("/a/b/c"), "a|b|c");
    assert_string_equal(taken("/a?x=1"), "a?x=1");
    assert_string_equal(taken("/?x=1&y=2"), "?x=1&y=2");
    assert_string_equal(taken("/?x"), "?x=");
    assert_string_equal(taken("/?&&x=1&"), "?x=1");
    assert_string_equal(taken("/?x=a=b"), "?x=a=b");
    assert_string_equal(taken("/a%20b/%c3%a9"), "a b|\xc3\xa9");
    assert_string_equal(taken("/a%2Fb"), "a/b"); /* stays inside its segment */
    assert_string_equal(taken("/a+b?c+d=e+f%2B"), "a+b?c d=e f+");
    assert_string_equal(taken("/?a%26b=c%3Dd"), "?a&b=c=d");
    assert_string_equal(taken("/%2525"), "%25"); /* decoded once */
}

TEST(test_refused)
{
    static const char *const bad[] = {
        "",       "a",       "http://h/",  "*",          "//",     "/a//b",    "/a/./b",
        "/..",    "/a/../b", "/%2e%2e/b",  "/%2e",       "/a%",    "/a%4",     "/a%g0",
        "/a%00b", "/a%0ab",  "/a%7f",      "/a%ff",      "/a%c3",  "/a#b",     "/?x=%",
        "/?%zz",  "/?x=%00", "/?x=%fe%ff", "/?x=%c0%af", "/a\xff", "/?x=\x01", "/%c0%ae%c0%ae/",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (taken(bad[i])[0] != '!')
            fail_msg("'%s' was taken: %s", bad[i], taken(bad[i]));
}

TEST(test_ceilings)
{
    char target[8192] = "";
    for (int i = 0; i < URI_SEGMENTS_MAX; i++)
        strcat(target, "/a");
    assert_int_not_equal(taken(target)[0], '!');
    strcat(target, "/a");
    assert_int_equal(taken(target)[0], '!');
    strcpy(target, "/?");
    for (int i = 0; i < URI_PAIRS_MAX; i++)
        strcat(target, "a=1&");
    assert_int_not_equal(taken(target)[0], '!');
    strcat(target, "a=1");
    assert_int_equal(taken(target)[0], '!');

    struct region mem; /* lack of memory has its sentence, too */
    struct uri u;
    struct err e = {0};
    region_init(&mem, 64);
    memset(target, 'a', 4000);
    target[0] = '/';
    target[4000] = '\0';
    assert_int_equal(uri_parse(&u, target, &mem, &e), GPUFL_E_NOMEM);
    assert_non_null(u.path);
    region_fini(&mem);
}

TEST(test_query)
{
    struct region mem;
    struct uri u;
    region_init(&mem, 4096);
    assert_int_equal(uri_parse(&u, "/a?b=1&b=2&c", &mem, NULL), 0);
    assert_string_equal(uri_query(&u, "b"), "1");
    assert_string_equal(uri_query(&u, "c"), "");
    assert_null(uri_query(&u, "d"));
    assert_string_equal(u.path, "/a");
    region_fini(&mem);
}

/* A target is cut anywhere, and has every byte in every place: no crash, and an accepted target has
 * no control character in it. */
TEST(test_mutilated)
{
    static const char *const corpus[] = {"/api/v1/sessions/%41b/x?from=1&pattern=%e2%82%ac+y",
                                         "/%2e/%25?a=%26&b"};
    long accepted = 0;
    for (size_t c = 0; c < sizeof corpus / sizeof corpus[0]; c++)
        for (size_t at = 0; at < strlen(corpus[c]); at++)
            for (int byte = 0; byte < 256; byte++) {
                char *text = strdup(corpus[c]);
                text[at] = (char)byte;
                const char *out = taken(text);
                accepted += *out != '!';
                for (const char *s = out; *s && *out != '!'; s++)
                    assert_true((unsigned char)*s >= 0x20 && *s != 0x7f);
                free(text);
            }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ceilings),  cmocka_unit_test(test_query),
        cmocka_unit_test(test_mutilated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
