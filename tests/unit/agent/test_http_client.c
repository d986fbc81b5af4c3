/* Addresses of servers as people write them, requests that must not go out, and a server that goes
 * away and comes back. */
#include "net/client/http_client.h"
#include "tests/test.h"

#include "base/clock.h"
#include "base/process/thread.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void expect_url(const char *given, const char *wanted)
{
    char out[256];
    struct err e = {0};
    assert_int_equal(http_client_clean_url(given, out, sizeof out, &e), 0);
    assert_string_equal(out, wanted);
}

static void refuse_url(const char *given, const char *word)
{
    char out[64];
    struct err e = {0};
    assert_int_equal(http_client_clean_url(given, out, sizeof out, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, word));
}

TEST(test_addresses)
{
    expect_url("gpufl.example.org", "https://gpufl.example.org");
    expect_url("gpufl.example.org:8443/", "https://gpufl.example.org:8443");
    expect_url("HTTP://Host/base//", "http://Host/base");
    expect_url("[::1]:8080", "https://[::1]:8080");
    refuse_url("", "names no server");
    refuse_url("https:///x", "names no server");
    refuse_url("http://:80", "names no server");
    refuse_url("file:///etc/passwd", "http://");
    refuse_url("https://name:secret@host", "must not contain");
    refuse_url("name:secret@host", "must not contain");
    refuse_url("http://host?x", "ends before");
    refuse_url("http://host\r\nX: y", "control");
    refuse_url("https://a-name-that-is-much-too-long-for-the-room-that-there-is.example.org",
               "too long");
}

/* A line break in a text of a log would begin another field. */
TEST(test_no_field_is_smuggled_in)
{
    const struct http_client_config c = {.url = "http://127.0.0.1:9", .agent = "test"};
    const struct http_client_call call = {
        .method = "GET", .path = "/", .fields = {{"X-Host", "a\r\nAuthorization: other"}}};
    struct http_client *client;
    struct http_client_answer a;
    struct err e = {0};
    int rc = http_client_open(&client, &c, &e);
    if (rc == GPUFL_E_NOT_BUILT)
        skip();
    assert_int_equal(rc, 0);
    http_client_answer_init(&a);
    assert_int_equal(http_client_send(client, &call, &a, &e), GPUFL_E_INVAL);
    http_client_answer_fini(&a);
    http_client_close(client);
}

TEST(test_keys_that_are_none)
{
    const struct http_client_config c = {
        .url = "http://127.0.0.1:9", .agent = "test", .key = "gpfl_secret\nmore"};
    struct http_client *client;
    struct err e = {0};
    int rc = http_client_open(&client, &c, &e);
    if (rc == GPUFL_E_NOT_BUILT)
        skip();
    assert_int_equal(rc, GPUFL_E_INVAL);
    assert_null(strstr(e.text, "secret"));
    assert_null(client);
}

/* ---- a server that goes away and comes back -------------------------------------------------- */

static const char body[] = "a body";

/* Takes one connection and answers its first request. On the second request the server closes the
 * connection without an answer, and its listener, so that a client that connects again finds no
 * server. */
struct server {
    int held; /* bound, but not listening: keeps the port reserved */
    int listener;
    struct thread thread;
};

static int bound(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
        bind(fd, (struct sockaddr *)at, len) || getsockname(fd, (struct sockaddr *)at, &len))
        abort();
    return fd;
}

/* Reads up to the end of the body, a text that is nowhere else in the request. False: no request
 * came. */
static bool take_request(int fd)
{
    char text[4096];
    size_t len = 0;
    ssize_t n;
    while (len < sizeof text - 1 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0) {
        len += (size_t)n;
        text[len] = '\0';
        if (strstr(text, body))
            return true;
    }
    return false;
}

static void *serve(void *arg)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct server *s = arg;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    if (take_request(fd) && send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) > 0)
        take_request(fd);
    close(s->listener);
    close(fd);
    return NULL;
}

static void start(struct server *s, struct sockaddr_in at)
{
    s->listener = bound(&at);
    if (listen(s->listener, 1) || thread_start(&s->thread, "server", 0, serve, s))
        abort();
}

static int64_t read_body(void *arg, char *out, size_t size)
{
    size_t *sent = arg, rest = sizeof body - 1 - *sent, n = rest < size ? rest : size;
    memcpy(out, body + *sent, n);
    *sent += n;
    return (int64_t)n;
}

static int post(struct http_client *client, struct http_client_answer *a, struct err *e)
{
    size_t sent = 0;
    const struct http_client_call call = {.method = "POST",
                                          .path = "/",
                                          .read = read_body,
                                          .body_size = sizeof body - 1,
                                          .arg = &sent};
    return http_client_send(client, &call, a, e);
}

/* A request fails if the server ends while it has the request; the first request after the restart
 * succeeds. */
TEST(test_a_server_that_comes_back)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct server server = {.held = bound(&at)};
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(at.sin_port));
    const struct http_client_config c = {.url = url, .agent = "test", .direct = true};
    struct http_client *client;
    struct http_client_answer a;
    struct err e = {0};
    int rc = http_client_open(&client, &c, &e);
    if (rc == GPUFL_E_NOT_BUILT) {
        close(server.held);
        skip();
    }
    assert_int_equal(rc, 0);
    http_client_answer_init(&a);
    start(&server, at);
    assert_false(http_client_answered(client));
    assert_int_equal(post(client, &a, &e), 0);
    assert_int_equal(a.status, 200);
    assert_true(http_client_answered(client));
    /* on the connection that was kept */
    assert_int_equal(post(client, &a, &e), GPUFL_E_UNAVAILABLE);
    thread_join(&server.thread);
    assert_int_equal(post(client, &a, &e), GPUFL_E_UNAVAILABLE); /* no server listens */
    start(&server, at);
    rc = post(client, &a, &e);
    if (rc)
        fail_msg("%s", e.text);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.len, 2);
    http_client_close(client);
    http_client_answer_fini(&a);
    thread_join(&server.thread);
    close(server.held);
}

/* A watch that ends the request once nothing has moved for a second. */
struct seen {
    int64_t began, moved, ended; /* CLOCK_MONOTONIC ns */
    unsigned moves;              /* how often more bytes had moved */
};

static bool end_a_silence(void *arg, int64_t moved)
{
    struct seen *s = arg;
    s->moves += moved > s->moved;
    assert_true(moved >= s->moved);
    s->moved = moved;
    s->ended = clock_mono();
    return s->ended - (moved ? moved : s->began) < 1000000000;
}

static int64_t read_without_end(void *arg, char *out, size_t size)
{
    *(size_t *)arg += size;
    memset(out, 'x', size);
    return (int64_t)size;
}

/* The server accepts nothing: the system accepts the connection and some bytes of the body. */
TEST(test_a_server_that_takes_the_connection_alone)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct seen seen = {.began = clock_mono()};
    int held = bound(&at);
    size_t read = 0;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(at.sin_port));
    const struct http_client_config c = {.url = url, .agent = "test", .direct = true};
    const struct http_client_watch watch = {.waiting = end_a_silence, .arg = &seen};
    const struct http_client_call get = {.method = "GET", .path = "/"};
    const struct http_client_call post_all = {.method = "POST",
                                              .path = "/",
                                              .read = read_without_end,
                                              .body_size = INT64_C(1) << 40,
                                              .arg = &read};
    struct http_client *client;
    struct http_client_answer a;
    struct err e = {0};
    assert_int_equal(listen(held, 4), 0);
    int rc = http_client_open(&client, &c, &e);
    if (rc == GPUFL_E_NOT_BUILT) {
        close(held);
        skip();
    }
    http_client_answer_init(&a);
    http_client_set_watch(client, &watch);
    assert_int_equal(http_client_send(client, &get, &a, &e), GPUFL_E_UNAVAILABLE);
    assert_non_null(strstr(e.text, "it takes the connection, and does not answer"));
    assert_int_equal(seen.moves, 0);
    assert_true(seen.ended - seen.began < 30 * INT64_C(1000000000)); /* not the 60 s of a stall */
    seen = (struct seen){.began = clock_mono()};
    assert_int_equal(http_client_send(client, &post_all, &a, &e), GPUFL_E_UNAVAILABLE);
    assert_non_null(strstr(e.text, "does not answer"));
    assert_true(seen.moves > 0 && seen.moved >= seen.began && a.sent > 0);
    assert_true(a.cut && !a.stalled);
    assert_false(http_client_answered(client));
    http_client_close(client);
    http_client_answer_fini(&a);
    close(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_no_field_is_smuggled_in),
        cmocka_unit_test(test_keys_that_are_none),
        cmocka_unit_test(test_a_server_that_comes_back),
        cmocka_unit_test(test_a_server_that_takes_the_connection_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
