/* test_http.c - answers of the HTTP server, complete or "not changed", and its end. */
#include "tests/test.h"
#include "tests/unit/support/http_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

TEST(test_answers)
{
    struct answer a;
    assert_int_equal(get("/quick"), 200);
    assert_int_equal(get("/slow"), 200);
    assert_int_equal(get("/none"), 500);
    assert_int_equal(get("/elsewhere"), 404);
    ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", &a);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "hello");
    assert_string_equal(answer_field(&a, "X-Content-Type-Options"), "nosniff");
    answer_free(&a);
    ask("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
        "0\r\n\r\n",
        &a);
    assert_string_equal(a.body, "abcde");
    answer_free(&a);
    ask("HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.status, 200);
    assert_true(atoi(answer_field(&a, "Content-Length")) > 50000);
    answer_free(&a);
    ask("GET /file HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.len, 5000);
    assert_memory_equal(a.body, "\177ELF", 4);
    answer_free(&a);
}

TEST(test_problem_is_json)
{
    struct answer a;
    ask("GET /elsewhere HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_string_equal(answer_field(&a, "Content-Type"), "application/problem+json");
    assert_non_null(strstr(a.body, "\"status\":404"));
    assert_non_null(strstr(a.body, answer_field(&a, "X-Request-Id")));
    answer_free(&a);
}

/* Many requests on one connection, sent before the first answer was read. */
TEST(test_pipelining)
{
    int fd = client_open(http_port(server));
    char text[64];
    for (int i = 0; i < 50; i++) {
        int n = snprintf(text, sizeof text, "%d", i * 7);
        char request[256];
        snprintf(request, sizeof request,
                 "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", n, text);
        assert_true(client_say(fd, request));
    }
    for (int i = 0; i < 50; i++) {
        struct answer a;
        client_answer(fd, &a, false);
        assert_int_equal(a.status, 200);
        assert_int_equal(atoi(a.body), i * 7);
        answer_free(&a);
    }
    close(fd);
}

TEST(test_tags)
{
    struct answer a;
    char request[256], tag[64];
    ask("GET /big HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    snprintf(tag, sizeof tag, "%s", answer_field(&a, "ETag"));
    assert_true(tag[0]);
    size_t plain = a.len;
    answer_free(&a);
    snprintf(request, sizeof request, "GET /big HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n",
             tag);
    ask(request, &a);
    assert_int_equal(a.status, 304);
    assert_int_equal(a.len, 0);
    answer_free(&a);
    ask("GET /big HTTP/1.1\r\nHost: h\r\nIf-None-Match: W/\"0123456789abcdef\"\r\n\r\n", &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    ask("GET /big HTTP/1.1\r\nHost: h\r\nAccept-Encoding: br, gzip;q=0.5\r\n\r\n", &a);
    assert_string_equal(answer_field(&a, "Content-Encoding"), "gzip");
    assert_string_equal(answer_field(&a, "ETag"), tag); /* the tag is the same */
    assert_true(a.len < plain / 4);
    z_stream z = {.next_in = (Bytef *)a.body, .avail_in = (uInt)a.len};
    char *out = malloc(plain + 1);
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)plain + 1;
    assert_int_equal(inflateInit2(&z, 15 + 32), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, plain);
    inflateEnd(&z);
    free(out);
    answer_free(&a);
    ask("GET /packed HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", &a);
    assert_int_equal(a.len, plain); /* not compressed once more */
    answer_free(&a);
    ask("GET /big HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0\r\n\r\n", &a);
    assert_string_equal(answer_field(&a, "Content-Encoding"), "");
    answer_free(&a);
}

TEST(test_drain)
{
    struct answer a;
    int fd = client_open(http_port(server)), idle = client_open(http_port(server));
    client_say(idle, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    client_answer(idle, &a, false);
    answer_free(&a);
    client_say(fd, "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    gate_wait(1);
    http_quiesce(server);
    assert_false(http_wait(server, 50000000)); /* a request is still worked on */
    client_say(idle, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    client_answer(idle, &a, false);
    /* a connected client gets its answer, and the connection ends */
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_field(&a, "Connection"), "close");
    answer_free(&a);
    assert_true(client_closed(idle, 5000));
    gate_set(true);
    assert_int_equal(client_status(fd), 200);
    assert_true(http_wait(server, PATIENCE_NS));
    close(fd);
    close(idle);
}

TEST(test_taken_port)
{
    struct http_server *second;
    struct http_config c;
    struct err e = {0};
    http_config_init(&c);
    c.port = http_port(server);
    assert_int_equal(http_second(&second, &c, &e), GPUFL_E_BUSY);
    assert_non_null(strstr(e.text, "another program"));
    c.address = "no such host .";
    assert_int_equal(http_second(&second, &c, &e), GPUFL_E_INVAL);
}

static int connect_to(uint16_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

/* Connections are opened and closed until one is refused. A connection that waits to be accepted
 * at that moment is reset. */
static void *come_and_go(void *port)
{
    int fd;
    while ((fd = connect_to(*(uint16_t *)port)) >= 0 || fd == -ECONNRESET)
        if (fd >= 0)
            close(fd);
    return (void *)(intptr_t)fd;
}

/* All threads of the server are at work when it stops listening. */
TEST(test_ends_while_connections_come)
{
    enum { TIMES = 5, CLIENTS = 3 };
    struct http_server *second;
    struct http_config c;
    struct err e = {0};
    for (int i = 0; i < TIMES; i++) {
        pthread_t clients[CLIENTS];
        http_config_init(&c);
        c.port = 0;
        c.threads = 4;
        assert_int_equal(http_second(&second, &c, &e), 0);
        uint16_t port = http_port(second);
        for (int k = 0; k < CLIENTS; k++)
            assert_int_equal(pthread_create(&clients[k], NULL, come_and_go, &port), 0);
        while (http_load(second).connections == 0)
            sched_yield();
        http_quiesce(second);
        for (int k = 0; k < CLIENTS; k++) {
            void *code;
            pthread_join(clients[k], &code);
            assert_int_equal((intptr_t)code, -ECONNREFUSED);
        }
        assert_true(http_wait(second, PATIENCE_NS));
        http_close(second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_answers),
        WITH_SERVER(test_problem_is_json),
        WITH_SERVER(test_pipelining),
        WITH_SERVER(test_tags),
        WITH_SERVER(test_drain),
        WITH_SERVER(test_taken_port),
        WITH_SERVER(test_ends_while_connections_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
