/* test_http_work.c - requests concurrent with long ones, and bodies that are consumed as they
 * come. */
#include "tests/test.h"
#include "tests/unit/support/http_fixture.h"

#include "base/clock.h"
#include "net/server/workers.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

TEST(test_others_go_on_while_workers_are_busy)
{
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = client_open(http_port(server));
        client_say(fds[i], "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    gate_wait(4);
    assert_int_equal(get("/quick"), 200);
    assert_true(http_load(server).requests >= 4);
    gate_set(true);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(client_status(fds[i]), 200);
        close(fds[i]);
    }
}

TEST(test_too_many_requests_are_reported)
{
    int fds[2];
    struct answer a;
    for (int i = 0; i < 2; i++) { /* one is worked on, one waits */
        fds[i] = client_open(http_port(server));
        client_say(fds[i], "GET /gate?single HTTP/1.1\r\nHost: h\r\n\r\n");
        if (i == 0)
            gate_wait(1);
    }
    while (workers_load(single).waiting == 0)
        assert_int_equal(get("/quick"), 200);
    ask("GET /gate?single HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_field(&a, "Retry-After"), "1");
    answer_free(&a);
    gate_set(true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(client_status(fds[i]), 200);
        close(fds[i]);
    }
}

/* An end that does not wait: connections are closed, whatever they do; handlers end when they
 * can. */
TEST(test_cut)
{
    static const char *const parts[] = {
        "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nhello",
        "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
    };
    enum { COUNT = sizeof parts / sizeof *parts };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = client_open(http_port(server));
        client_say(fds[i], parts[i]);
    }
    gate_wait(1);
    while (http_load(server).requests < COUNT)
        assert_int_equal(get("/quick"), 200);
    http_cut(server);
    for (int i = 1; i < COUNT; i++)
        assert_true(client_closed(fds[i], 10000));
    assert_false(http_wait(server, 50000000)); /* one handler is still at the gate */
    gate_set(true);
    assert_true(http_wait(server, PATIENCE_NS));
    assert_true(client_closed(fds[0], 10000));
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

/* The client leaves while its request is worked on. */
TEST(test_client_goes)
{
    int before = atomic_load(&done_calls);
    int fd = client_open(http_port(server));
    client_say(fd, "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    gate_wait(1);
    close(fd);
    gate_set(true);
    fd = client_open(http_port(server));
    client_say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nonly this");
    close(fd);
    fd = client_open(http_port(server));
    client_say(fd, "GET /qui");
    close(fd);
    int64_t until = clock_mono() + PATIENCE_NS;
    while (atomic_load(&done_calls) < before + 2 && clock_mono() < until)
        assert_int_equal(get("/quick"), 200);
    assert_true(atomic_load(&done_calls) >= before + 2);
}

/* ---- consumed bodies ------------------------------------------------------------------------- */

static void send_sum(int fd, const char *query, size_t bytes, bool chunked)
{
    char head[256], block[10007];
    snprintf(head, sizeof head, "POST /sum%s HTTP/1.1\r\nHost: h\r\n", query);
    client_say(fd, head);
    if (chunked)
        client_say(fd, "Transfer-Encoding: chunked\r\n\r\n");
    else {
        snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", bytes);
        client_say(fd, head);
    }
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 31);
    while (bytes) {
        size_t n = bytes < sizeof block ? bytes : sizeof block;
        snprintf(head, sizeof head, "%zx\r\n", n);
        if (chunked)
            client_say(fd, head);
        if (!client_send(fd, block, n))
            return;
        if (chunked)
            client_say(fd, "\r\n");
        bytes -= n;
    }
    if (chunked)
        client_say(fd, "0\r\n\r\n");
}

static uLong crc_of(size_t bytes)
{
    char block[10007];
    uLong crc = 0;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 31);
    for (; bytes; bytes -= bytes < sizeof block ? bytes : sizeof block)
        crc = crc32(crc, (const Bytef *)block, (uInt)(bytes < sizeof block ? bytes : sizeof block));
    return crc;
}

TEST(test_consumed_bodies)
{
    static const size_t sizes[] = {0, 1, 10007, 300000, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int chunked = 0; chunked < 2; chunked++) {
            char want[64];
            struct answer a;
            int fd = client_open(http_port(server));
            send_sum(fd, "", sizes[i], chunked);
            client_answer(fd, &a, false);
            assert_int_equal(a.status, 200);
            snprintf(want, sizeof want, "%zu %lu", sizes[i], crc_of(sizes[i]));
            assert_string_equal(a.body, want);
            answer_free(&a);
            close(fd);
        }
}

struct sender {
    int fd;
    atomic_bool sent;
};

static void *send_much(void *arg)
{
    struct sender *s = arg;
    send_sum(s->fd, "?gate", CONSUMED_MAX, false);
    atomic_store(&s->sent, true);
    return NULL;
}

/* The consumer stops: the server does not read from the sender, and nothing is lost. */
TEST(test_back_pressure)
{
    struct sender s = {client_open(http_port(server)), false};
    int small = 65536;
    pthread_t thread;
    struct answer a;
    char want[64];
    setsockopt(s.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    pthread_create(&thread, NULL, send_much, &s);
    gate_wait(1);
    int64_t until = clock_mono() + INT64_C(1500000000); /* longer than a body's deadline */
    while (clock_mono() < until)
        assert_int_equal(get("/quick"), 200);
    assert_false(atomic_load(&s.sent));
    gate_set(true);
    pthread_join(thread, NULL);
    client_answer(s.fd, &a, false);
    snprintf(want, sizeof want, "%d %lu", CONSUMED_MAX, crc_of(CONSUMED_MAX));
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, want);
    answer_free(&a);
    close(s.fd);
}

TEST(test_refused_by_the_consumer)
{
    int fd = client_open(http_port(server));
    send_sum(fd, "?refuse", 3000000, false);
    assert_int_equal(client_status(fd), 422);
    client_say(fd, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n"); /* the connection goes on */
    assert_int_equal(client_status(fd), 200);
    close(fd);
}

TEST(test_consumed_too_large)
{
    int fd = client_open(http_port(server));
    send_sum(fd, "", CONSUMED_MAX + 100000, true);
    assert_int_equal(client_status(fd), 413);
    close(fd);
}

/* The sender leaves in the middle of its body, while a worker consumes it. */
TEST(test_sender_goes)
{
    int before = atomic_load(&done_calls), seen_before = atomic_load(&seen_calls);
    int fd = client_open(http_port(server));
    client_say(fd,
               "POST /sum?gate HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nsome bytes");
    gate_wait(1);
    close(fd);
    while (atomic_load(&seen_calls) == seen_before)
        sched_yield();
    assert_int_equal(atomic_load(&done_calls), before); /* the worker still has it */
    gate_set(true);
    while (atomic_load(&done_calls) == before)
        sched_yield();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_others_go_on_while_workers_are_busy),
        WITH_SERVER(test_too_many_requests_are_reported),
        WITH_SERVER(test_client_goes),
        WITH_SERVER(test_cut),
        WITH_SERVER(test_consumed_bodies),
        WITH_IMPATIENT(test_back_pressure),
        WITH_SERVER(test_refused_by_the_consumer),
        WITH_SERVER(test_consumed_too_large),
        WITH_SERVER(test_sender_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
