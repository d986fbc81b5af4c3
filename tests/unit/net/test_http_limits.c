/* test_http_limits.c - what the HTTP server refuses: too much, and too slow. */
#include "tests/test.h"
#include "tests/unit/support/http_fixture.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int status_of(const char *request)
{
    struct answer a;
    ask(request, &a);
    int status = a.status;
    if (status >= 400 && strstr(answer_field(&a, "Content-Type"), "problem") == NULL)
        status = -status;
    answer_free(&a);
    return status;
}

TEST(test_ceilings)
{
    char *text = malloc(200000);
    int n = sprintf(text, "GET /quick HTTP/1.1\r\nHost: h\r\nX: ");
    memset(text + n, 'a', 20000);
    strcpy(text + n + 20000, "\r\n\r\n");
    assert_int_equal(status_of(text), 431);
    n = sprintf(text, "GET /");
    memset(text + n, 'a', 9000);
    strcpy(text + n + 9000, " HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(status_of(text), 414);
    n = sprintf(text, "GET /quick HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 100; i++)
        n += sprintf(text + n, "X%d: 1\r\n", i);
    strcpy(text + n, "\r\n");
    assert_int_equal(status_of(text), 431);
    assert_int_equal(status_of("GET /quick HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n"), 400);
    assert_int_equal(status_of("GET /quick/%2e%2e HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
    assert_int_equal(status_of("GET /quick HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"),
                     413);
    /* More than libmicrohttpd itself takes: its own answer, or the end; never a crash. */
    n = sprintf(text, "GET /quick HTTP/1.1\r\nHost: h\r\nX: ");
    memset(text + n, 'a', 150000);
    strcpy(text + n + 150000, "\r\n\r\n");
    struct answer a;
    ask(text, &a);
    assert_true(a.status == 0 || a.status == 431 || a.status == 413);
    answer_free(&a);
    free(text);
    assert_int_equal(get("/quick"), 200);
}

TEST(test_bodies_too_large)
{
    char *body = malloc(BODY_MAX + 100), head[256];
    memset(body, 'x', BODY_MAX + 100);
    struct answer a;
    /* The body is too long to be read before the answer, which comes at once. */
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             17 << 20);
    ask(head, &a);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    /* A body in chunks has no known length: the answer comes after the body. */
    int fd = client_open(http_port(server));
    client_say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        snprintf(head, sizeof head, "%x\r\n", BODY_MAX);
        client_say(fd, head);
        client_send(fd, body, BODY_MAX);
        client_say(fd, "\r\n");
    }
    client_say(fd, "0\r\n\r\n");
    assert_int_equal(client_status(fd), 413);
    close(fd);
    /* The announced body is short: the server reads it, so that the sender gets to read the
     * answer. */
    fd = client_open(http_port(server));
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             BODY_MAX + 50);
    client_say(fd, head);
    client_send(fd, body, BODY_MAX + 50);
    assert_int_equal(client_status(fd), 413);
    close(fd);
    /* The body is exactly as long as is allowed. */
    fd = client_open(http_port(server));
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             BODY_MAX);
    client_say(fd, head);
    client_send(fd, body, BODY_MAX);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, BODY_MAX);
    answer_free(&a);
    close(fd);
    free(body);
}

/* Expect makes a refusal come before the body is sent. */
TEST(test_expectation)
{
    struct answer a;
    ask("POST /elsewhere HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\nExpect: 100-continue\r\n\r\n",
        &a);
    assert_int_equal(a.status, 404);
    answer_free(&a);
    int fd = client_open(http_port(server));
    client_say(
        fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_true(client_until(fd, "100 Continue\r\n\r\n"));
    client_say(fd, "abc");
    client_answer(fd, &a, false);
    assert_string_equal(a.body, "abc");
    answer_free(&a);
    close(fd);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

TEST(test_slow_header)
{
    int fd = client_open(http_port(server));
    int64_t began = clock_mono();
    client_say(fd, "GET /quick HTTP/1.1\r\nHost: h\r\nX: ");
    while (clock_mono() - began < INT64_C(120000000000)) { /* a byte in time, again and again */
        if (!client_say(fd, "a") || client_closed(fd, 100))
            break;
    }
    int64_t took = clock_mono() - began;
    assert_true(took >= INT64_C(900000000) && took < INT64_C(60000000000));
    assert_true(http_load(server).slow >= 1);
    close(fd);
}

TEST(test_slow_body)
{
    int fd = client_open(http_port(server));
    int64_t began = clock_mono();
    client_say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n");
    while (clock_mono() - began < INT64_C(120000000000))
        if (!client_say(fd, "a") || client_closed(fd, 100))
            break;
    assert_true(clock_mono() - began < INT64_C(60000000000));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_ceilings),     WITH_SERVER(test_bodies_too_large),
        WITH_SERVER(test_expectation),  WITH_IMPATIENT(test_slow_header),
        WITH_IMPATIENT(test_slow_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
