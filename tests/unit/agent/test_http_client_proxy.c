/* The proxy that a request uses, what the proxy can read, and messages that name
 * a proxy. */
#include "net/client/http_client.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

static void expect_proxy(const char *url, const char *wanted)
{
    char out[256];
    struct err e = {0};
    assert_int_equal(http_client_find_proxy(url, out, sizeof out, &e), 0);
    if (strcmp(out, wanted) != 0)
        fail_msg("%s goes through '%s', not '%s'", url, out, wanted);
}

/* Every spelling by which a connection reaches this machine, and names that only look so. */
static const char *const spellings[] = {"http://localhost",
                                        "http://localhost:80",
                                        "http://LocalHost./x",
                                        "http://gpu.localhost:1",
                                        "http://127.0.0.1",
                                        "http://127.0.0.1:8080/base",
                                        "http://127.255.3.4",
                                        "http://127.1",
                                        "http://2130706433",
                                        "http://0.0.0.0:80",
                                        "http://[::1]/x",
                                        "http://[::1]:8080",
                                        "http://[0:0:0:0:0:0:0:1]",
                                        "http://[::]:1",
                                        "http://[::ffff:127.0.0.1]:80",
                                        "https://127.0.0.1:8443",
                                        "http://[::1%25lo]:1",
                                        "http://[::1%25eth0]/x",
                                        "http://[::1%lo]",
                                        "http://[::1%251]",
                                        "http://[::%25lo]:1",
                                        "http://[::FFFF:7F00:1]",
                                        "http://0",
                                        "http://[::ffff:127.0.0.1%25lo]",
                                        "http://0x7F000001",
                                        "http://0X7f.1",
                                        "http://017700000001",
                                        "http://0177.0.0.1",
                                        "http://127.0.0.1.",
                                        "http://127.1.:80",
                                        "http://LOCALHOST:80",
                                        "http://GPU.LocalHost",
                                        "http://127%2e0.0.1",
                                        "http://%31%32%37.1:8080",
                                        "http://loc%61lhost",
                                        "http://%6Cocalhost%2E:1",
                                        "http://[::ffff:0.0.0.0]",
                                        "http://127.0x0.00.1"};
static const char *const others[] = {"http://host",
                                     "http://localhost.example.org",
                                     "http://notlocalhost",
                                     "http://10.0.0.1",
                                     "http://127.0.0.1.example.org",
                                     "http://127.evil.example.org",
                                     "http://128.0.0.1",
                                     "http://[::2]",
                                     "http://[::ffff:10.0.0.1]",
                                     "http://[fe80::1]:80",
                                     "http://example.org/localhost",
                                     "http://[fe80::1%25lo]:80",
                                     "http://[::2%25lo]",
                                     "http://[::ffff:10.0.0.1%25lo]",
                                     "http://127%2e0.0.1.example.org",
                                     "http://4294967297",
                                     "http://0x80.1",
                                     "http://localhost%2eexample.org"};

TEST(test_this_machine)
{
    setenv("http_proxy", "http://proxy:3128", 1);
    setenv("https_proxy", "http://proxy:3128", 1);
    setenv("ALL_PROXY", "http://proxy:3128", 1);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (!http_client_is_here(spellings[i]) || http_client_in_clear(spellings[i]))
            fail_msg("%s is this machine", spellings[i]);
        expect_proxy(spellings[i], "");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (http_client_is_here(others[i]) || !http_client_in_clear(others[i]))
            fail_msg("%s is another machine", others[i]);
        expect_proxy(others[i], "http://proxy:3128");
    }
    assert_false(http_client_in_clear("https://host"));
}

/* A server may listen at an address for all interfaces, which a client takes for this machine. */
TEST(test_loopback)
{
    static const char *const here[] = {"http://127.0.0.1", "http://127.1",
                                       "http://[::1]:1",   "http://localhost",
                                       "http://[::1%lo]",  "http://[::ffff:127.0.0.1]"};
    static const char *const all[] = {"http://0.0.0.0",  "http://0",
                                      "http://0x0:1",    "http://[::]",
                                      "http://[0::0]:1", "http://[::ffff:0.0.0.0]"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (!http_client_is_loopback(here[i]))
            fail_msg("%s is loopback", here[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (http_client_is_loopback(all[i]) || !http_client_is_here(all[i]))
            fail_msg("%s is no loopback, and is this machine", all[i]);
}

TEST(test_which_variable)
{
    expect_proxy("http://host", "");
    setenv("HTTP_PROXY", "http://never:1", 1); /* a field of a request may set it */
    expect_proxy("http://host", "");
    setenv("ALL_PROXY", "socks5h://all:1080", 1);
    expect_proxy("http://host", "socks5h://all:1080");
    expect_proxy("https://host", "socks5h://all:1080");
    setenv("http_proxy", "plain:3128", 1);
    setenv("HTTPS_PROXY", "https://tls:3129", 1);
    expect_proxy("http://host", "http://plain:3128");
    expect_proxy("https://host", "https://tls:3129");
    setenv("https_proxy", "", 1); /* empty: as if it were not set */
    expect_proxy("https://host", "https://tls:3129");
    setenv("https_proxy", "first:1", 1);
    expect_proxy("https://host", "http://first:1");
}

TEST(test_hosts_that_are_excepted)
{
    static const struct {
        const char *list, *url;
        bool direct;
    } rows[] = {
        {"*", "http://host", true},
        {"host", "http://host:80", true},
        {"HOST.", "http://host", true},
        {"host:8080", "http://host", true},
        {"a, example.org ,b", "http://gpu.example.org/x", true},
        {".example.org", "http://example.org", true},
        {"example.org", "http://notexample.org", false},
        {"gpu.example.org", "http://example.org", false},
        {"10.0.0.0/8", "http://10.1.2.3", true},
        {"10.0.0.0/8", "http://11.1.2.3", false},
        {"10.0.0.0/15", "http://10.1.255.255", true},
        {"10.0.0.0/15", "http://10.2.0.0", false},
        {"10.0.0.0/33", "http://10.0.0.0", false},
        {"10.0.0.0/x", "http://10.0.0.0", false},
        {"10.0.0.1", "http://10.0.0.1:9", true},
        {"10.0.0.1", "http://10.0.0.10", false},
        {"0.0.1", "http://10.0.0.1", false},
        {"fd00::/8", "http://[fd12::1]:80", true},
        {"fd00::/8", "http://[fe80::1]", false},
        {"[fd00::1]", "http://[fd00::1]", true},
        {"fd00::1", "http://[fd00::1]", true},
        {"fe80::/10", "http://[fe80::1%25eth0]:80", true},
        {"fe80::1%eth0", "http://[fe80::1%25eth0]", true},
        {"example.org", "http://gpu.ex%61mple%2Eorg", true},
        {"10.0.0.1", "http://10%2e0.0.1", true},
        {"", "http://host", false},
        {" , ,", "http://host", false},
    };
    setenv("http_proxy", "http://proxy:3128", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("no_proxy", rows[i].list, 1);
        expect_proxy(rows[i].url, rows[i].direct ? "" : "http://proxy:3128");
    }
    unsetenv("no_proxy");
    setenv("NO_PROXY", "host", 1);
    expect_proxy("http://host", "");
}

/* libcurl converts such letters to others, which may name this machine. */
TEST(test_names_that_are_not_ascii)
{
    static const char *const urls[] = {"http://ｌｏｃａｌｈｏｓｔ:1", "http://127。0。0。1",
                                       "http://①27.1", "http://%EF%BD%8Cocalhost",
                                       "https://gpu.exämple.org"};
    char out[64];
    struct err e = {0};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        expect_proxy(urls[i], "");
    setenv("http_proxy", "http://proxy:3128", 1);
    setenv("https_proxy", "http://proxy:3128", 1);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        strcpy(out, "before");
        if (http_client_find_proxy(urls[i], out, sizeof out, &e) != GPUFL_E_INVAL || *out)
            fail_msg("%s goes through '%s'", urls[i], out);
        assert_non_null(strstr(e.text, "has to be written in ASCII"));
    }
    setenv("no_proxy", "*", 1);
    expect_proxy(urls[0], "");
}

TEST(test_proxies_that_are_none)
{
    char out[32];
    struct err e = {0};
    setenv("http_proxy", "http://me:secret@proxy\r\nX: y", 1);
    assert_int_equal(http_client_find_proxy("http://host", out, sizeof out, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "control characters"));
    assert_null(strstr(e.text, "secret"));
    setenv("http_proxy", "http://me:secret@a-proxy-with-a-long-name.example.org", 1);
    assert_int_equal(http_client_find_proxy("http://host", out, sizeof out, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "too long"));
    assert_null(strstr(e.text, "secret"));
}

/* No message contains a proxy's password. */
TEST(test_what_is_said_of_a_proxy)
{
    static const char *const rows[][2] = {
        {"http://proxy:3128", "http://proxy:3128"},
        {"http://me:secret@proxy:3128/", "http://proxy:3128"},
        {"http://me:se@cret@proxy", "http://proxy"},
        {"socks5h://[fd00::1]:1080", "socks5h://[fd00::1]:1080"},
    };
    char out[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        http_client_show_proxy(rows[i][0], out, sizeof out);
        assert_string_equal(out, rows[i][1]);
    }
    http_client_show_proxy("http://me:secret@proxy", out, 8);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_this_machine, clear_environment),
        cmocka_unit_test_setup(test_loopback, clear_environment),
        cmocka_unit_test_setup(test_which_variable, clear_environment),
        cmocka_unit_test_setup(test_hosts_that_are_excepted, clear_environment),
        cmocka_unit_test_setup(test_names_that_are_not_ascii, clear_environment),
        cmocka_unit_test_setup(test_proxies_that_are_none, clear_environment),
        cmocka_unit_test_setup(test_what_is_said_of_a_proxy, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
