/* test_origin.c - which Host and Origin are accepted. */
#include "server/common/origin.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static bool ok(const struct origin *o, enum http_method method, const char *host, const char *from,
               const char *site)
{
    struct http_field fields[3];
    struct http_request r = {.method = method, .fields = fields};
    const char *why;
    if (host)
        fields[r.field_count++] = (struct http_field){"Host", host};
    if (from)
        fields[r.field_count++] = (struct http_field){"Origin", from};
    if (site)
        fields[r.field_count++] = (struct http_field){"Sec-Fetch-Site", site};
    bool result = origin_ok(o, &r, &why);
    assert_true(result == !why);
    return result;
}

TEST(test_local)
{
    struct origin o;
    assert_int_equal(origin_init(&o, true, false, 8080, NULL, NULL), 0);
    assert_true(ok(&o, HTTP_GET, "127.0.0.1:8080", NULL, NULL));
    assert_true(ok(&o, HTTP_GET, "localhost:8080", NULL, "none"));
    assert_true(ok(&o, HTTP_GET, "[::1]:8080", NULL, NULL));
    assert_true(ok(&o, HTTP_POST, "127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin"));
    static const char *const hosts[] = {"",
                                        "127.0.0.1",
                                        "127.0.0.1:80",
                                        "evil:8080",
                                        "127.0.0.1:8080.",
                                        "127.0.0.2:8080",
                                        "127.0.0.1.evil:8080",
                                        "localhost:80801"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        assert_false(ok(&o, HTTP_GET, hosts[i], NULL, NULL));
    assert_false(ok(&o, HTTP_GET, NULL, NULL, NULL));
    static const char *const origins[] = {
        "http://evil",
        "null",
        "",
        "https://127.0.0.1:8080",
        "http://localhost:8080", /* another origin than the host */
        "http://127.0.0.1:8081",
        "http://127.0.0.1:8080.evil",
        "http://evil/http://127.0.0.1:8080"};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        assert_false(ok(&o, HTTP_GET, "127.0.0.1:8080", origins[i], NULL));
        assert_false(ok(&o, HTTP_POST, "127.0.0.1:8080", origins[i], NULL));
    }
    assert_false(ok(&o, HTTP_GET, "127.0.0.1:8080", NULL, "cross-site"));
}

TEST(test_public)
{
    struct origin o;
    assert_int_equal(origin_init(&o, false, false, 8080, NULL, NULL), 0);
    assert_true(ok(&o, HTTP_GET, "gpu:8080", NULL, "cross-site")); /* a link from elsewhere */
    assert_true(ok(&o, HTTP_POST, "gpu:8080", NULL, NULL));        /* no browser */
    assert_true(ok(&o, HTTP_POST, "gpu:8080", "http://gpu:8080", "same-origin"));
    assert_false(ok(&o, HTTP_POST, "gpu:8080", "http://evil", NULL));
    assert_false(ok(&o, HTTP_DELETE, "gpu:8080", "null", NULL));
    assert_false(ok(&o, HTTP_POST, "gpu:8080", "https://gpu:8080", NULL));
    assert_false(ok(&o, HTTP_POST, "gpu:8080", NULL, "cross-site"));
    assert_int_equal(origin_init(&o, false, false, 8080, "https://gpu.example.org/", NULL), 0);
    assert_true(ok(&o, HTTP_POST, "inside:8080", "https://gpu.example.org", NULL));
    assert_false(ok(&o, HTTP_POST, "inside:8080", "http://inside:8080", NULL));
    assert_int_equal(origin_init(&o, false, true, 8443, NULL, NULL), 0);
    assert_true(ok(&o, HTTP_POST, "gpu:8443", "https://gpu:8443", NULL));
}

TEST(test_public_url)
{
    struct origin o;
    struct err e = {0};
    static const char *const bad[] = {"gpu.example.org", "https://", "ftp://x", "https://x/path",
                                      "https://x?y"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(origin_init(&o, false, false, 1, bad[i], &e), GPUFL_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_public_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
