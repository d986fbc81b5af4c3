/* test_http_stream.c - answers that come in pieces: events for listeners, and the output of a
 * worker. */
#include "tests/test.h"
#include "tests/unit/support/http_fixture.h"

#include "base/clock.h"
#include "net/server/http_stream.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_to_stream(void)
{
    struct answer a;
    int fd = client_open(http_port(server));
    client_say(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_head(fd, &a);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_field(&a, "Content-Type"), "text/event-stream");
    assert_true(client_until(fd, "retry:"));
    return fd;
}

TEST(test_stream)
{
    int one = listen_to_stream(), two = listen_to_stream();
    assert_int_equal(get("/stream"), 503); /* the hub accepts two listeners */
    http_hub_publish(hub, "topic", "tick", "{\"n\":1}", 7);
    http_hub_publish(hub, "other", "tick", "{\"n\":2}", 7);
    http_hub_publish(hub, "topic", "tick", "{\"n\":3}", 7);
    assert_true(client_until(one, "event: tick\ndata: {\"n\":1}\n\n"));
    assert_true(client_until(one, "event: tick\ndata: {\"n\":3}\n\n"));
    assert_true(client_until(two, "{\"n\":3}\n\n"));
    assert_true(client_until(two, ":\n\n")); /* a comment while nothing happens */
    close(two);
    int64_t until = clock_mono() + PATIENCE_NS;
    while (http_hub_load(hub).listeners > 1 && clock_mono() < until)
        http_hub_publish(hub, "topic", "tick", "{}", 2);
    assert_int_equal(http_hub_load(hub).listeners, 1); /* the hub notices that a listener left */
    http_hub_end(hub);
    assert_true(client_until(one, "\r\n0\r\n\r\n"));
    close(one);
}

/* A listener that does not read loses events, and gets a "lost". */
TEST(test_slow_listener)
{
    char data[1024];
    int fd = client_open(http_port(server)), small = 4096;
    struct answer a;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    client_say(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_head(fd, &a);
    assert_true(client_until(fd, "retry:"));
    memset(data, 'x', sizeof data);
    int64_t until = clock_mono() + PATIENCE_NS;
    while (http_hub_load(hub).dropped < 100 && clock_mono() < until)
        http_hub_publish(hub, "topic", "tick", data, sizeof data);
    assert_true(http_hub_load(hub).dropped >= 100);
    assert_true(client_until(fd, "event: lost\ndata: {\"events\":"));
    close(fd);
}

TEST(test_pipe)
{
    struct answer a;
    int before = atomic_load(&pipe_done);
    ask("GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.status, 200);
    assert_true(a.whole);
    assert_int_equal(a.len, PIPE_BYTES);
    for (size_t i = 0; i < a.len; i++)
        if (a.body[i] != (char)('a' + i / 1000 % 26))
            fail_msg("byte %zu is wrong", i);
    answer_free(&a);
    ask("GET /pipe?break HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.status, 200);
    assert_false(a.whole); /* and the client sees it */
    answer_free(&a);
    ask("HEAD /pipe HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    int fd = client_open(http_port(server)); /* leaves after a few bytes */
    client_say(fd, "GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n");
    client_head(fd, &a);
    close(fd);
    int64_t until = clock_mono() + PATIENCE_NS;
    while (atomic_load(&pipe_done) < before + 4 && clock_mono() < until)
        sched_yield();
    assert_int_equal(atomic_load(&pipe_done), before + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_stream),
        WITH_SERVER(test_slow_listener),
        WITH_SERVER(test_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
