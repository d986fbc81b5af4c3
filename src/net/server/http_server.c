/* http_server.c - listening, the limits of the server, and its end.
 *
 * The listening socket is ours, so that the port that 0 became is known, and a port in use gets
 * a sentence. At the end http_quiesce takes it away: new connections are refused by the kernel
 * while those there finish. libmicrohttpd closes the descriptor. */
#include "net/server/http_inside.h"
#include "net/server/http_tls.h"
#include "net/server/listen.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const int64_t END_NS = 10000000000; /* for the last request that began */

enum {
    CONNECTION_MEMORY = 64 << 10, /* bytes of a connection's header and read buffer */
};

void http_config_init(struct http_config *c)
{
    *c = (struct http_config){
        .address = "127.0.0.1",
        .port = 8080,
        .threads = 2,
        .connections = 1024,
        .connections_per_address = 256,
        .header_max = 16 << 10,
        .target_max = 8 << 10,
        .header_ns = INT64_C(10000000000),
        .idle_ns = INT64_C(60000000000),
        .body_ns = INT64_C(30000000000),
        .body_least = 1024,
        .compress = true,
    };
}

uint16_t http_port(const struct http_server *s)
{
    return s->port;
}

/* libmicrohttpd's messages about clients are for debugging; its own failures answer with a code. */
static void said(void *cls, const char *fmt, va_list args)
{
    (void)cls;
    if (!log_debug_on())
        return;
    char text[512];
    if (vsnprintf(text, sizeof text, fmt, args) > 0) {
        text[strcspn(text, "\r\n")] = '\0';
        log_say(LOG_DEBUG, (uintptr_t)fmt, text);
    }
}

/* Texts stay unchanged: uri.c decodes them, and refuses malformed ones. */
static size_t as_it_is(void *cls, struct MHD_Connection *c, char *text)
{
    (void)cls;
    (void)c;
    return strlen(text);
}

static int daemon_open(struct http_server *s, const struct http_config *c, struct err *e)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)c->tls_cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)c->tls_key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0,
                                    (void *)(uintptr_t) "SECURE128:-VERS-ALL:+VERS-TLS1.3:"
                                                        "+VERS-TLS1.2"},
                                   {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, NULL},
                                   {MHD_OPTION_END, 0, NULL}};
    if (c->tls_cert) {
        tls[3].ptr_value = http_tls_callback();
        if (!tls[3].ptr_value)
            tls[3].option = MHD_OPTION_END;
        if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
            return err_set(e, GPUFL_E_UNAVAILABLE,
                           "this system's libmicrohttpd knows no TLS: leave --tls-cert out and put "
                           "a proxy in front");
        flags |= MHD_USE_TLS;
    } else {
        tls[0].option = MHD_OPTION_END;
    }
    unsigned threads = c->threads < 2 ? 0 : c->threads;
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, threads, NULL},
                                    {MHD_OPTION_END, 0, NULL}};
    if (!threads)
        pool[0].option = MHD_OPTION_END;
    s->daemon = MHD_start_daemon(
        flags, c->port, NULL, NULL, http_request_access, s, MHD_OPTION_EXTERNAL_LOGGER, said, NULL,
        MHD_OPTION_LISTEN_SOCKET, s->listening, MHD_OPTION_CONNECTION_LIMIT, c->connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, c->connections_per_address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(c->idle_ns / 1000000000),
        MHD_OPTION_UNESCAPE_CALLBACK, as_it_is, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        http_request_line, s, MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, http_watch_notify, s, MHD_OPTION_ARRAY, tls, MHD_OPTION_ARRAY,
        pool, MHD_OPTION_END);
    if (!s->daemon)
        return err_set(e, GPUFL_E_UNAVAILABLE, "the HTTP server does not start%s",
                       c->tls_cert ? ": are certificate and key in PEM format, and do they belong "
                                     "together?"
                                   : "; with --log-level debug it says why");
    s->daemons = s->listening;
    s->listening = -1;
    return 0;
}

/* Opens the descriptor that replaces the listening socket at the end. */
static int silent_open(struct http_server *s, struct err *e)
{
    s->silent = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->silent < 0)
        return err_set_vendor(e, err_from_errno(errno), errno,
                              "no descriptor for the server's end");
    return 0;
}

int http_open(struct http_server **out, const struct http_config *c, const struct http_app *app,
              struct err *e)
{
    *out = NULL;
    struct http_server *s = mem_zalloc(sizeof *s);
    if (!s)
        return err_nomem(e);
    s->config = *c;
    s->app = *app;
    s->listening = s->silent = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->fewer, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (getrandom(&s->boot, sizeof s->boot, 0) != (ssize_t)sizeof s->boot)
        s->boot = (uint32_t)clock_real();
    int rc = http_watch_open(s, e);
    s->port = c->port;
    if (rc == 0)
        rc = listen_open(c->address, &s->port, &s->listening, e);
    if (rc == 0)
        rc = silent_open(s, e);
    if (rc == 0)
        rc = daemon_open(s, c, e);
    if (rc) {
        http_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

struct http_load http_load(struct http_server *s)
{
    struct http_load load = {0};
    pthread_mutex_lock(&s->watch.lock);
    load.connections = s->watch.count;
    load.slow = s->watch.slow;
    pthread_mutex_unlock(&s->watch.lock);
    pthread_mutex_lock(&s->lock);
    load.requests = s->requests;
    pthread_mutex_unlock(&s->lock);
    return load;
}

/* MHD_quiesce_daemon removes the socket from the sets of threads that may be removing it at that
 * moment, and ends the process where it comes second. Here the kernel closes and removes the
 * socket: its descriptor becomes another file, on which nothing ever happens. No other process has
 * the socket, since children get no descriptors. */
void http_quiesce(struct http_server *s)
{
    if (atomic_exchange_explicit(&s->quiet, true, memory_order_relaxed))
        return;
    dup3(s->silent, s->daemons, O_CLOEXEC);
}

bool http_wait(struct http_server *s, int64_t timeout_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ns / 1000000000);
    until.tv_nsec += (long)(timeout_ns % 1000000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int timed_out = 0;
    pthread_mutex_lock(&s->lock);
    while (s->requests && !timed_out)
        timed_out = pthread_cond_timedwait(&s->fewer, &s->lock, &until);
    bool none = s->requests == 0;
    pthread_mutex_unlock(&s->lock);
    return none;
}

void http_cut(struct http_server *s)
{
    http_quiesce(s);
    http_watch_cut(s);
}

/* A request may have begun since the last look, on a kept connection; libmicrohttpd ends the
 * process where a connection is set aside when it is stopped. */
static void end_requests(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_mutex_unlock(&s->lock);
    if (http_wait(s, 0))
        return;
    http_watch_cut(s);
    (void)http_wait(s, END_NS);
}

void http_close(struct http_server *s)
{
    if (!s)
        return;
    if (s->daemon) {
        end_requests(s);
        MHD_stop_daemon(s->daemon);
    }
    if (s->listening >= 0)
        close(s->listening);
    if (s->silent >= 0)
        close(s->silent);
    http_watch_close(s);
    pthread_cond_destroy(&s->fewer);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
