/* test_http_header.c - tests headers that readers could understand differently, queries of any
 * length, and clients that end their side. */
#include "tests/test.h"
#include "tests/unit/support/http_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int status_of(const char *request)
{
    struct answer a;
    ask(request, &a);
    int status = a.status;
    if (status >= 400 && strstr(answer_field(&a, "Content-Type"), "problem") == NULL)
        status = -status; /* libmicrohttpd's own answer */
    answer_free(&a);
    return status;
}

/* A header that a proxy and we could read differently is refused, and nothing after it is taken for
 * a request. */
TEST(test_doubtful_headers)
{
    static const struct {
        const char *fields;
        int status;
    } cases[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
        {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: gzip\r\n", 501},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Content-Length : 5\r\n", 400},
        {"Content\tLength: 5\r\n", 400},
        {"Authorization: Bearer a\r\nauthorization: Bearer b\r\nContent-Length: 5\r\n", 400},
        {"Content-Type: text/plain\r\nContent-Type: text/html\r\nContent-Length: 5\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct answer a;
        snprintf(text, sizeof text,
                 "POST /echo HTTP/1.1\r\nHost: h\r\n%s\r\n0\r\n\r\nGET /quick HTTP/1.1\r\nHost: "
                 "h\r\n\r\n",
                 cases[i].fields);
        int fd = client_open(http_port(server));
        client_say(fd, text);
        client_answer(fd, &a, false);
        if (a.status != cases[i].status)
            fail_msg("%s is answered with %d", cases[i].fields, a.status);
        assert_string_equal(answer_field(&a, "Content-Type"), "application/problem+json");
        assert_string_equal(answer_field(&a, "Connection"), "close");
        answer_free(&a);
        assert_true(client_closed(fd, 10000)); /* without another answer */
        close(fd);
    }
}

TEST(test_host_is_needed)
{
    assert_int_equal(status_of("GET /quick HTTP/1.1\r\n\r\n"), 400);
    assert_int_equal(status_of("GET /quick HTTP/1.0\r\n\r\n"), 200); /* HTTP/1.0 needs none */
}

/* Queries of any number of parameters are answered, and at once. */
TEST(test_many_parameters)
{
    static const struct {
        int count, status;
    } cases[] = {{60, 200}, {100, 400}, {1500, 400}, {2000, 400}, {5000, 414}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = malloc(100000);
        int n = sprintf(text, "GET /quick?");
        for (int k = 0; k < cases[i].count; k++)
            n += sprintf(text + n, "a=%d&", k % 10);
        sprintf(text + n, " HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_int_equal(status_of(text), cases[i].status);
        free(text);
    }
}

/* A client ends its side. In the middle of a request the connection ends at once, even if the
 * end came right after bytes; after a whole request the client gets the answer. */
TEST(test_half_closed)
{
    static const char *const parts[] = {
        "GET /qui",
        "GET /quick HTTP/1.1\r\nHo",
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nhello",
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhello",
        "POST /sum HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhello",
        "POST /sum HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    };
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            int fd = client_open(http_port(server));
            client_say(fd, parts[i]);
            assert_int_equal(shutdown(fd, SHUT_WR), 0);
            if (!client_closed(fd, 10000))
                fail_msg("%s holds its connection", parts[i]);
            close(fd);
        }
    assert_true(http_wait(server, PATIENCE_NS));
    struct answer a;
    int fd = client_open(http_port(server));
    client_say(fd, "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    gate_wait(1);
    gate_set(true);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    assert_true(client_closed(fd, 10000)); /* nobody can ask on it any more */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_doubtful_headers),
        WITH_SERVER(test_host_is_needed),
        WITH_SERVER(test_many_parameters),
        WITH_SERVER(test_half_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
