/* http_fixture.c - see http_fixture.h. */
#include "tests/unit/support/http_fixture.h"

#include "net/server/http_pipe.h"
#include "net/server/http_stream.h"
#include "tests/test.h"

#include "base/file/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct http_server *server;
struct workers *workers, *single;
struct http_hub *hub;
atomic_int done_calls, seen_calls, pipe_done;

/* Holds handlers and consumers until the gate is opened. */
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

void gate_wait(int inside)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.inside < inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

void gate_set(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    gate.inside = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}
/* ---- the application ------------------------------------------------------------------------- */

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

/* The handler says that the body is packed already. */
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
            return GPUFL_E_IO; /* in the middle */
    }
    return rc;
}

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

int open_server(void **state)
{
    (void)state;
    return open_with(INT64_C(30000000000)); /* enough on a busy machine, too */
}

int open_impatient(void **state)
{
    (void)state;
    return open_with(INT64_C(1000000000));
}

int close_server(void **state)
{
    (void)state;
    gate_set(true);
    http_quiesce(server);
    http_hub_end(hub);
    assert_true(http_wait(server, PATIENCE_NS));
    http_close(server);
    http_hub_close(hub);
    workers_close(single);
    workers_close(workers);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

void ask(const char *request, struct answer *a)
{
    int fd = client_open(http_port(server));
    client_say(fd, request);
    client_answer(fd, a, strncmp(request, "HEAD", 4) == 0);
    close(fd);
}

/* Returns the status of a GET. */
int get(const char *path)
{
    char text[512];
    struct answer a;
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    ask(text, &a);
    int status = a.status;
    answer_free(&a);
    return status;
}

int client_status(int fd)
{
    struct answer a;
    client_answer(fd, &a, false);
    int status = a.status;
    answer_free(&a);
    return status;
}

int http_second(struct http_server **second, struct http_config *c, struct err *e)
{
    const struct http_app app = {NULL, begin, seen};
    return http_open(second, c, &app, e);
}
