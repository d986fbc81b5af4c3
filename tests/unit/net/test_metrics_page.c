/* test_metrics_page.c - tests the pages of a daemon: all kinds of requests, odd connections. */
#include "tests/test.h"
#include "tests/unit/support/wire_client.h"

#include "base/alloc.h"
#include "net/server/metrics_page.h"
#include "net/server/metrics_request.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- heads -------------------------------------------------------------------------------- */

#define HOST "Host: h\r\n\r\n"

static const struct {
    const char *head;
    int status;
    enum metrics_target target;
} heads[] = {
    {"GET /metrics HTTP/1.1\r\n" HOST, 200, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1\nhost:h\n\n", 200, METRICS_SAMPLES},
    {"GET /metrics?a=b HTTP/1.1\r\nAccept: */*\r\n" HOST, 200, METRICS_SAMPLES},
    {"HEAD /healthz HTTP/1.1\r\n" HOST, 200, METRICS_HEALTH},
    {"GET /healthz HTTP/1.0\r\n\r\n", 200, METRICS_HEALTH},
    {"GET / HTTP/1.1\r\n" HOST, 404, METRICS_NONE},
    {"GET /metrics/ HTTP/1.1\r\n" HOST, 404, METRICS_NONE},
    {"GET /metric HTTP/1.1\r\n" HOST, 404, METRICS_NONE},
    {"GET /../metrics HTTP/1.1\r\n" HOST, 404, METRICS_NONE},
    {"POST /metrics HTTP/1.1\r\n" HOST, 405, METRICS_SAMPLES},
    {"get /metrics HTTP/1.1\r\n" HOST, 405, METRICS_SAMPLES},
    {"GET /metrics HTTP/2.0\r\n" HOST, 505, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1 \r\n" HOST, 505, METRICS_SAMPLES},
    {"GET /metrics\r\n\r\n", 400, METRICS_SAMPLES},
    {"GET  /metrics HTTP/1.1\r\n" HOST, 400, METRICS_NONE},
    {" GET /metrics HTTP/1.1\r\n" HOST, 400, METRICS_NONE},
    {"GET /metrics HTTP/1.1\r\n\r\n", 400, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1\r\nHost: h\r\n" HOST, 400, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.0\r\nHost: h\r\n" HOST, 400, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1\r\nno field\r\n" HOST, 400, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1\r\nA: b\r\n folded: c\r\n" HOST, 400, METRICS_SAMPLES},
    {"GET /metrics HTTP/1.1\r\n: c\r\n" HOST, 400, METRICS_SAMPLES},
    {"\r\n", 400, METRICS_NONE},
    {"\x16\x03\x01\x02\n\n", 400, METRICS_NONE},
};

TEST(test_heads)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *head = heads[i].head;
        size_t len = strlen(head);
        for (size_t n = 0; n < len; n++) /* no part of a head is taken for the whole */
            assert_int_equal(metrics_request_read(head, n).status, 0);
        struct metrics_request r = metrics_request_read(head, len);
        if (r.status != heads[i].status || r.target != heads[i].target)
            fail_msg("%s: status %d, target %d", head, r.status, (int)r.target);
        assert_int_equal(r.head, strncmp(head, "HEAD ", 5) == 0);
        assert_true(*metrics_status_text(r.status));
        assert_int_equal(!*metrics_status_advice(r.status), r.status == 200);
    }
    static const char zero[] = "GET /metrics HTTP/1.1\r\nHost: a\0b\r\n\r\n";
    assert_int_equal(metrics_request_read(zero, sizeof zero - 1).status, 400);
}

TEST(test_head_too_long)
{
    char *text = malloc(METRICS_HEAD_MOST);
    memset(text, 'a', METRICS_HEAD_MOST);
    assert_int_equal(metrics_request_read(text, METRICS_HEAD_MOST - 1).status, 0);
    assert_int_equal(metrics_request_read(text, METRICS_HEAD_MOST).status, 431);
    free(text);
}

/* Heads with bytes changed, in memory of exactly their length: for the sanitizers. */
TEST(test_heads_changed)
{
    unsigned seed = 32;
    for (int round = 0; round < 20000; round++) {
        const char *head = heads[(size_t)round % (sizeof heads / sizeof *heads)].head;
        size_t len = strlen(head);
        char *copy = malloc(len);
        memcpy(copy, head, len);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            copy[(seed >> 16) % len] = "\r\n :\0/?H1\xff"[(seed >> 8) % 10];
        }
        struct metrics_request r = metrics_request_read(copy, len);
        assert_true(r.status == 0 || *metrics_status_text(r.status));
        free(copy);
    }
}

/* ---- connections -------------------------------------------------------------------------- */

enum { BIG = 7000000, MANY = 100 };

static size_t page_size;
static atomic_bool well;

static void fill(void *arg, struct buf *page)
{
    assert_ptr_equal(arg, &page_size);
    for (size_t i = 0; i < page_size; i += 10)
        buf_put(page, "0123456789", 10);
}

static bool health(void *arg, struct buf *page)
{
    assert_ptr_equal(arg, &page_size);
    bool now = atomic_load_explicit(&well, memory_order_relaxed);
    buf_str(page, now ? "{}" : "{\"why\":1}");
    return now;
}

static struct metrics_page *page;
static uint16_t port;

static void open_page(size_t size, int64_t head_ns)
{
    struct metrics_page_config c = {.listen = "0",
                                    .arg = &page_size,
                                    .fill = fill,
                                    .health = health,
                                    .health_type = "application/json",
                                    .head_ns = head_ns};
    struct err e = {0};
    char url[160];
    page_size = size;
    atomic_store_explicit(&well, true, memory_order_relaxed);
    assert_int_equal(metrics_page_open(&page, &c, &e), 0);
    metrics_page_url(page, url, sizeof url);
    assert_int_equal(sscanf(url, "http://127.0.0.1:%hu", &port), 1);
}

static struct answer ask(const char *request)
{
    struct answer a;
    int fd = client_open(port);
    assert_true(client_say(fd, request));
    client_answer(fd, &a, strncmp(request, "HEAD", 4) == 0);
    assert_true(client_closed(fd, 20000));
    close(fd);
    return a;
}

TEST(test_answers)
{
    open_page(50, 0);
    struct answer a = ask("GET /metrics HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, 50);
    assert_true(a.whole);
    assert_string_equal(answer_field(&a, "Content-Type"),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(answer_field(&a, "Connection"), "close");
    assert_true(strstr(answer_field(&a, "Date"), " GMT") != NULL);
    answer_free(&a);
    a = ask("HEAD /metrics HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_field(&a, "Content-Length"), "50");
    answer_free(&a);
    a = ask("PUT /healthz HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 405);
    assert_string_equal(answer_field(&a, "Allow"), "GET, HEAD");
    assert_string_equal(a.body, "Ask with GET.\n");
    answer_free(&a);
    a = ask("GET /healthz HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_field(&a, "Content-Type"), "application/json");
    answer_free(&a);
    atomic_store_explicit(&well, false, memory_order_relaxed);
    a = ask("GET /healthz HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "{\"why\":1}");
    answer_free(&a);
    metrics_page_close(page);
}

TEST(test_a_byte_at_a_time)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    struct answer a;
    open_page(20, 0);
    int fd = client_open(port);
    for (const char *c = request; *c; c++)
        assert_true(client_send(fd, c, 1));
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, 20);
    answer_free(&a);
    close(fd);
    metrics_page_close(page);
}

/* The client gets the whole answer, even if it sent a body that nobody reads, or reads late. */
TEST(test_a_body_that_nobody_wants)
{
    struct answer a;
    char *body = calloc(1, 300000);
    open_page(BIG, 0);
    int fd = client_open(port);
    assert_true(client_say(fd, "POST /metrics HTTP/1.1\r\nContent-Length: 300000\r\n" HOST));
    assert_true(client_send(fd, body, 300000));
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 405);
    assert_true(a.whole);
    answer_free(&a);
    close(fd);
    fd = client_open(port);
    assert_true(client_say(fd, "GET /metrics HTTP/1.1\r\n" HOST));
    struct answer other = ask("GET /healthz HTTP/1.1\r\n" HOST); /* while the first does not read */
    assert_int_equal(other.status, 200);
    answer_free(&other);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    assert_true(a.whole);
    assert_int_equal(a.len, BIG);
    answer_free(&a);
    close(fd);
    free(body);
    metrics_page_close(page);
}

TEST(test_a_page_too_large)
{
    open_page(9 << 20, 0);
    struct answer a = ask("GET /metrics HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "There is no memory for the page.\n");
    answer_free(&a);
    metrics_page_close(page);
}

/* Connections without a request delay nobody, and end. */
TEST(test_many_that_say_nothing)
{
    int fds[MANY];
    open_page(30, 0);
    for (int i = 0; i < MANY; i++)
        fds[i] = client_open(port);
    struct answer a = ask("GET /metrics HTTP/1.1\r\n" HOST);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    assert_true(client_closed(fds[0], 20000)); /* the first ones had to make room */
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    int last = client_open(port); /* one connection is open at the end */
    metrics_page_close(page);
    assert_true(client_closed(last, 20000));
    close(last);
    open_page(30, 50000000);
    int fd = client_open(port);
    assert_true(client_say(fd, "GET /metrics HT"));
    assert_true(client_closed(fd, 20000));
    close(fd);
    metrics_page_close(page);
}

TEST(test_refusals)
{
    struct metrics_page *other;
    struct err e = {0};
    char taken[32];
    open_page(10, 0);
    snprintf(taken, sizeof taken, "127.0.0.1:%u", port);
    struct metrics_page_config c = {.listen = taken, .fill = fill, .health = health};
    assert_int_equal(metrics_page_open(&other, &c, &e), GPUFL_E_BUSY);
    assert_null(other);
    assert_non_null(strstr(e.text, "choose another port"));
    c.listen = "here";
    assert_int_equal(metrics_page_open(&other, &c, &e), GPUFL_E_INVAL);
    c.listen = "192.0.2.1:0"; /* an address for examples, which no machine has */
    assert_int_not_equal(metrics_page_open(&other, &c, &e), 0);
    assert_non_null(strstr(e.text, "no interface of this machine has that address; name one"));
    c.listen = "nowhere.invalid:1";
    assert_int_not_equal(metrics_page_open(&other, &c, &e), 0);
    metrics_page_close(page);
}

TEST(test_without_memory)
{
    struct err e = {0};
    struct metrics_page_config c = {
        .listen = "0", .arg = &page_size, .fill = fill, .health = health};
    int rc = GPUFL_E_NOMEM;
    for (int n = 0; rc && n < 20; n++) {
        mem_fail_at(n);
        rc = metrics_page_open(&page, &c, &e);
        mem_fail_at(-1);
        assert_true(rc == 0 || rc == GPUFL_E_NOMEM);
    }
    assert_int_equal(rc, 0);
    metrics_page_close(page);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_head_too_long),
        cmocka_unit_test(test_heads_changed),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_a_byte_at_a_time),
        cmocka_unit_test(test_a_body_that_nobody_wants),
        cmocka_unit_test(test_a_page_too_large),
        cmocka_unit_test(test_many_that_say_nothing),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
