/* test_http.c - the HTTP server with a small application behind it, spoken to byte by byte. */
#include "net/http.h"
#include "net/http_pipe.h"
#include "net/http_stream.h"

#include "wire_client.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { PIPE_BYTES = 3 << 20, BODY_MAX = 100000, CONSUMED_MAX = 8 << 20 };

static struct http_server *server;
static struct workers *workers, *single;
static struct http_hub *hub;
static atomic_int done_calls, seen_calls;

/* What stands in the way of handlers and consumers until it is opened. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside;
    bool open;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

static void gate_pass(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_wait(int inside)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.inside < inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_set(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    gate.inside = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* ---- the application -------------------------------------------------------------------------- */

static void echo(struct http_request *r)
{
    struct buf *b = http_body(r, 1 << 20);
    buf_put(b, r->body.data, r->body.len);
    http_send(r, 200, "text/plain");
}

static void answer_ok(struct http_request *r)
{
    http_send_static(r, 200, "text/plain", "ok", 2);
    r->answer.cacheable = false;
}

static void wait_then_ok(struct http_request *r)
{
    gate_pass();
    answer_ok(r);
}

static void big(struct http_request *r)
{
    struct buf *b = http_body(r, 1 << 20);
    for (int i = 0; i < 20000; i++)
        buf_printf(b, "%d,", i % 100);
    http_send(r, 200, "application/json");
}

/* Packed by the handler already. */
static void packed(struct http_request *r)
{
    big(r);
    http_set(r, "ETag", "W/\"packed\"");
    http_set(r, "Content-Encoding", "gzip");
}

static void nothing_made(struct http_request *r)
{
    (void)r;
}

static void file(struct http_request *r)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    http_send_file(r, "application/octet-stream", fd, 5000);
}

static void stream(struct http_request *r)
{
    struct http_stream *s;
    int rc = http_stream_open(&s, hub, "topic");
    if (rc)
        http_problem(r, 503, "No more listeners.");
    else
        http_send_stream(r, s);
}

static int produce(void *arg, struct http_pipe *p)
{
    char block[1000];
    size_t left = PIPE_BYTES;
    int rc = 0;
    for (unsigned i = 0; left && rc == 0; i++) {
        size_t n = left < sizeof block ? left : sizeof block;
        memset(block, (int)('a' + i % 26), sizeof block);
        rc = http_pipe_write(p, block, n);
        left -= n;
        if (arg && left < PIPE_BYTES / 2)
            return GPUFL_E_IO; /* breaks off */
    }
    return rc;
}

static atomic_int pipe_done;

static void produced(void *arg)
{
    (void)arg;
    atomic_fetch_add(&pipe_done, 1);
}

static void pipe_out(struct http_request *r)
{
    static int broken;
    struct http_pipe *p;
    bool breaks = uri_query(&r->uri, "break") != NULL;
    assert_int_equal(http_pipe_open(&p, workers, INT64_C(5000000000), produce, produced,
                                    breaks ? &broken : NULL),
                     0);
    http_send_pipe(r, "text/plain", p);
}

struct sum {
    uint64_t bytes;
    uLong crc;
};

static int consume(struct http_request *r, const char *data, size_t n)
{
    struct sum *s = r->app;
    if (uri_query(&r->uri, "gate"))
        gate_pass();
    s->crc = crc32(s->crc, (const Bytef *)data, (uInt)n);
    s->bytes += n;
    if (uri_query(&r->uri, "refuse")) {
        http_problem(r, 422, "Not these bytes.");
        return GPUFL_E_INVAL;
    }
    return 0;
}

static void consumed(struct http_request *r)
{
    struct sum *s = r->app;
    buf_printf(http_body(r, 100), "%llu %lu", (unsigned long long)s->bytes, s->crc);
    http_send(r, 200, "text/plain");
}

static void done(struct http_request *r)
{
    (void)r;
    atomic_fetch_add(&done_calls, 1);
}

static const struct {
    const char *path;
    void (*handle)(struct http_request *r);
    int (*consume)(struct http_request *r, const char *data, size_t n);
    bool quick;
    size_t body_max;
} PATHS[] = {
    {"/echo", echo, NULL, false, BODY_MAX},
    {"/quick", answer_ok, NULL, true, 0},
    {"/slow", answer_ok, NULL, false, 0},
    {"/gate", wait_then_ok, NULL, false, 0},
    {"/big", big, NULL, false, 0},
    {"/packed", packed, NULL, false, 0},
    {"/none", nothing_made, NULL, false, 0},
    {"/file", file, NULL, false, 0},
    {"/stream", stream, NULL, false, 0},
    {"/pipe", pipe_out, NULL, false, 0},
    {"/sum", consumed, consume, false, CONSUMED_MAX},
};

static void begin(void *arg, struct http_request *r)
{
    (void)arg;
    r->done = done;
    r->workers = uri_query(&r->uri, "single") ? single : workers;
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++)
        if (strcmp(PATHS[i].path, r->uri.path) == 0) {
            r->handle = PATHS[i].handle;
            r->consume = PATHS[i].consume;
            r->quick = PATHS[i].quick;
            r->body_max = PATHS[i].body_max;
            r->app = region_array(&r->memory, 1, sizeof(struct sum));
            return;
        }
    http_problem(r, 404, "Not here.");
}

static void seen(void *arg, const struct http_request *r, int status, uint64_t sent, bool whole)
{
    (void)arg;
    (void)r;
    (void)status;
    (void)sent;
    (void)whole;
    atomic_fetch_add(&seen_calls, 1);
}

static int open_with(int64_t deadline_ns)
{
    struct http_config c;
    const struct http_app app = {NULL, begin, seen};
    const struct http_hub_config h = {.listeners = 2, .queue = 4096, .beat_ns = 200000000};
    struct err e = {0};
    http_config_init(&c);
    c.port = 0;
    c.header_ns = deadline_ns;
    c.body_ns = deadline_ns;
    c.body_least = 100;
    gate_set(false);
    assert_int_equal(workers_open(&workers, "test", 4, 64, NULL), 0);
    assert_int_equal(workers_open(&single, "one", 1, 1, NULL), 0);
    assert_int_equal(http_hub_open(&hub, &h, NULL), 0);
    if (http_open(&server, &c, &app, &e))
        fail_msg("%s", e.text);
    return 0;
}

static int open_server(void **state)
{
    (void)state;
    return open_with(INT64_C(30000000000)); /* also where the machine has much else to do */
}

static int open_impatient(void **state)
{
    (void)state;
    return open_with(INT64_C(1000000000));
}

static int close_server(void **state)
{
    (void)state;
    gate_set(true);
    http_quiesce(server);
    http_hub_end(hub);
    assert_true(http_wait(server, INT64_C(20000000000)));
    http_close(server);
    http_hub_close(hub);
    workers_close(single);
    workers_close(workers);
    return 0;
}

/* ---- requests ------------------------------------------------------------------------------------ */

static void ask(const char *request, struct answer *a)
{
    int fd = client_open(http_port(server));
    client_say(fd, request);
    client_answer(fd, a, strncmp(request, "HEAD", 4) == 0);
    close(fd);
}

/* The status of a GET. */
static int get(const char *path)
{
    char text[512];
    struct answer a;
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    ask(text, &a);
    int status = a.status;
    answer_free(&a);
    return status;
}

static void test_answers(void **state)
{
    (void)state;
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

static void test_problem_is_json(void **state)
{
    (void)state;
    struct answer a;
    ask("GET /elsewhere HTTP/1.1\r\nHost: h\r\n\r\n", &a);
    assert_string_equal(answer_field(&a, "Content-Type"), "application/problem+json");
    assert_non_null(strstr(a.body, "\"status\":404"));
    assert_non_null(strstr(a.body, answer_field(&a, "X-Request-Id")));
    answer_free(&a);
}

/* Many requests on one connection, sent before the first answer was read. */
static void test_pipelining(void **state)
{
    (void)state;
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

static void test_tags(void **state)
{
    (void)state;
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
    assert_string_equal(answer_field(&a, "ETag"), tag); /* the same thing */
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
    assert_int_equal(a.len, plain); /* and not once more */
    answer_free(&a);
    ask("GET /big HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0\r\n\r\n", &a);
    assert_string_equal(answer_field(&a, "Content-Encoding"), "");
    answer_free(&a);
}

/* ---- ceilings -------------------------------------------------------------------------------------- */

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

static void test_ceilings(void **state)
{
    (void)state;
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

static void test_bodies_too_large(void **state)
{
    (void)state;
    char *body = malloc(BODY_MAX + 100), head[256];
    memset(body, 'x', BODY_MAX + 100);
    struct answer a;
    /* So much that nobody reads it for the answer's sake: it comes at once. */
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             17 << 20);
    ask(head, &a);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    /* In chunks, so that nobody knew: the answer comes behind the body. */
    int fd = client_open(http_port(server));
    client_say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        snprintf(head, sizeof head, "%x\r\n", BODY_MAX);
        client_say(fd, head);
        client_send(fd, body, BODY_MAX);
        client_say(fd, "\r\n");
    }
    client_say(fd, "0\r\n\r\n");
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    close(fd);
    /* Announced, and little: it is read, so that the sender gets to read the answer. */
    fd = client_open(http_port(server));
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             BODY_MAX + 50);
    client_say(fd, head);
    client_send(fd, body, BODY_MAX + 50);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    close(fd);
    /* Exactly as much as may be. */
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

/* With Expect, a refusal comes before the body is sent. */
static void test_expectation(void **state)
{
    (void)state;
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

/* ---- deadlines -------------------------------------------------------------------------------------- */

static void test_slow_header(void **state)
{
    (void)state;
    int fd = client_open(http_port(server));
    int64_t began = clock_mono();
    client_say(fd, "GET /quick HTTP/1.1\r\nHost: h\r\nX: ");
    while (clock_mono() - began < INT64_C(20000000000)) { /* a byte in time, again and again */
        if (!client_say(fd, "a") || client_closed(fd, 100))
            break;
    }
    int64_t took = clock_mono() - began;
    assert_true(took >= INT64_C(900000000) && took < INT64_C(15000000000));
    assert_true(http_load(server).slow >= 1);
    close(fd);
}

static void test_slow_body(void **state)
{
    (void)state;
    int fd = client_open(http_port(server));
    int64_t began = clock_mono();
    client_say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n");
    while (clock_mono() - began < INT64_C(20000000000))
        if (!client_say(fd, "a") || client_closed(fd, 100))
            break;
    assert_true(clock_mono() - began < INT64_C(15000000000));
    close(fd);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

static void test_others_go_on_while_workers_are_busy(void **state)
{
    (void)state;
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
        struct answer a;
        client_answer(fds[i], &a, false);
        assert_int_equal(a.status, 200);
        answer_free(&a);
        close(fds[i]);
    }
}

static void test_too_many_requests_are_told(void **state)
{
    (void)state;
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
        client_answer(fds[i], &a, false);
        assert_int_equal(a.status, 200);
        answer_free(&a);
        close(fds[i]);
    }
}

/* The client goes while its request is worked on. */
static void test_client_goes(void **state)
{
    (void)state;
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
    int64_t until = clock_mono() + INT64_C(10000000000);
    while (atomic_load(&done_calls) < before + 2 && clock_mono() < until)
        assert_int_equal(get("/quick"), 200);
    assert_true(atomic_load(&done_calls) >= before + 2);
}

/* ---- consumed bodies ------------------------------------------------------------------------------- */

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

static void test_consumed_bodies(void **state)
{
    (void)state;
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

/* A consumer that stands still: the sender is not read from, and nothing is lost. */
static void test_back_pressure(void **state)
{
    (void)state;
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

static void test_refused_by_the_consumer(void **state)
{
    (void)state;
    struct answer a;
    int fd = client_open(http_port(server));
    send_sum(fd, "?refuse", 3000000, false);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 422);
    answer_free(&a);
    client_say(fd, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n"); /* the connection goes on */
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    close(fd);
}

static void test_consumed_too_large(void **state)
{
    (void)state;
    struct answer a;
    int fd = client_open(http_port(server));
    send_sum(fd, "", CONSUMED_MAX + 100000, true);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    close(fd);
}

/* The sender goes in the middle, while a worker consumes. */
static void test_sender_goes(void **state)
{
    (void)state;
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

/* ---- streams and pipes -------------------------------------------------------------------------------- */

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

static void test_stream(void **state)
{
    (void)state;
    int one = listen_to_stream(), two = listen_to_stream();
    assert_int_equal(get("/stream"), 503); /* two are all it takes */
    http_hub_publish(hub, "topic", "tick", "{\"n\":1}", 7);
    http_hub_publish(hub, "other", "tick", "{\"n\":2}", 7);
    http_hub_publish(hub, "topic", "tick", "{\"n\":3}", 7);
    assert_true(client_until(one, "event: tick\ndata: {\"n\":1}\n\n"));
    assert_true(client_until(one, "event: tick\ndata: {\"n\":3}\n\n"));
    assert_true(client_until(two, "{\"n\":3}\n\n"));
    assert_true(client_until(two, ":\n\n")); /* a sign of life */
    close(two);
    int64_t until = clock_mono() + INT64_C(10000000000);
    while (http_hub_load(hub).listeners > 1 && clock_mono() < until)
        http_hub_publish(hub, "topic", "tick", "{}", 2);
    assert_int_equal(http_hub_load(hub).listeners, 1); /* one that went is noticed */
    http_hub_end(hub);
    assert_true(client_until(one, "\r\n0\r\n\r\n"));
    close(one);
}

/* A listener that does not read loses events, and is told. */
static void test_slow_listener(void **state)
{
    (void)state;
    char data[1024];
    int fd = client_open(http_port(server)), small = 4096;
    struct answer a;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    client_say(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_head(fd, &a);
    assert_true(client_until(fd, "retry:"));
    memset(data, 'x', sizeof data);
    int64_t until = clock_mono() + INT64_C(20000000000);
    while (http_hub_load(hub).dropped < 100 && clock_mono() < until)
        http_hub_publish(hub, "topic", "tick", data, sizeof data);
    assert_true(http_hub_load(hub).dropped >= 100);
    assert_true(client_until(fd, "event: lost\ndata: {\"events\":"));
    close(fd);
}

static void test_pipe(void **state)
{
    (void)state;
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
    int fd = client_open(http_port(server)); /* goes after a few bytes */
    client_say(fd, "GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n");
    client_head(fd, &a);
    close(fd);
    int64_t until = clock_mono() + INT64_C(20000000000);
    while (atomic_load(&pipe_done) < before + 4 && clock_mono() < until)
        sched_yield();
    assert_int_equal(atomic_load(&pipe_done), before + 4);
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void test_drain(void **state)
{
    (void)state;
    struct answer a;
    int fd = client_open(http_port(server)), idle = client_open(http_port(server));
    client_say(idle, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    client_answer(idle, &a, false);
    answer_free(&a);
    client_say(fd, "GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    gate_wait(1);
    http_quiesce(server);
    assert_false(http_wait(server, 50000000)); /* it is still worked on */
    client_say(idle, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    client_answer(idle, &a, false);
    assert_int_equal(a.status, 200); /* who is connected is answered, and sent away */
    assert_string_equal(answer_field(&a, "Connection"), "close");
    answer_free(&a);
    assert_true(client_closed(idle, 5000));
    gate_set(true);
    client_answer(fd, &a, false);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    assert_true(http_wait(server, INT64_C(5000000000)));
    close(fd);
    close(idle);
}

static void test_taken_port(void **state)
{
    (void)state;
    struct http_server *second;
    struct http_config c;
    const struct http_app app = {NULL, begin, seen};
    struct err e = {0};
    http_config_init(&c);
    c.port = http_port(server);
    assert_int_equal(http_open(&second, &c, &app, &e), GPUFL_E_BUSY);
    assert_non_null(strstr(e.text, "another program"));
    c.address = "no such host .";
    assert_int_equal(http_open(&second, &c, &app, &e), GPUFL_E_INVAL);
}

int main(void)
{
#define WITH_SERVER(test)    cmocka_unit_test_setup_teardown(test, open_server, close_server)
#define WITH_IMPATIENT(test) cmocka_unit_test_setup_teardown(test, open_impatient, close_server)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_answers),
        WITH_SERVER(test_problem_is_json),
        WITH_SERVER(test_pipelining),
        WITH_SERVER(test_tags),
        WITH_SERVER(test_ceilings),
        WITH_SERVER(test_bodies_too_large),
        WITH_SERVER(test_expectation),
        WITH_IMPATIENT(test_slow_header),
        WITH_IMPATIENT(test_slow_body),
        WITH_SERVER(test_others_go_on_while_workers_are_busy),
        WITH_SERVER(test_too_many_requests_are_told),
        WITH_SERVER(test_client_goes),
        WITH_SERVER(test_consumed_bodies),
        WITH_IMPATIENT(test_back_pressure),
        WITH_SERVER(test_refused_by_the_consumer),
        WITH_SERVER(test_consumed_too_large),
        WITH_SERVER(test_sender_goes),
        WITH_SERVER(test_stream),
        WITH_SERVER(test_slow_listener),
        WITH_SERVER(test_pipe),
        WITH_SERVER(test_drain),
        WITH_SERVER(test_taken_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
