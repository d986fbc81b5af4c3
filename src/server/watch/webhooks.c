/* webhooks.c - runs threads that post what is due; see webhooks.h. */
#include "server/watch/webhooks.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process/thread.h"
#include "base/region.h"
#include "net/client/address.h"
#include "net/client/backoff.h"
#include "net/client/http_client.h"
#include "server/common/logs.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { THREADS = 3, URL_MAX = 2100, MEMORY = 8 << 20, ANSWER_MAX = 64 << 10 };

static const int64_t POLL_NS = 3000000000, TAKEN_NS = 60000000000, CONNECT_NS = 5000000000,
                     STALL_NS = 10000000000, WHOLE_NS = 15000000000, LEAST_NS = 10000000000,
                     LIMIT_NS = 14400000000000;

struct poster {
    struct webhooks *webhooks;
    struct thread thread;
    struct wakeup wake;
    bool wake_open;
};

struct webhooks {
    struct webhooks_config config;
    volatile sig_atomic_t ending; /* one word, written once; read by requests under way */
    struct poster posters[THREADS];
};

static bool is_ending(const struct webhooks *h)
{
    return __atomic_load_n(&h->ending, __ATOMIC_RELAXED) != 0;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

void webhooks_sign(char out[WEBHOOKS_SIGNATURE], const char *secret, const char *timestamp,
                   const char *body)
{
    static const char lead[] = "sha256=";
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state s;
    crypto_auth_hmacsha256_init(&s, (const unsigned char *)secret, strlen(secret));
    crypto_auth_hmacsha256_update(&s, (const unsigned char *)timestamp, strlen(timestamp));
    crypto_auth_hmacsha256_update(&s, (const unsigned char *)".", 1);
    crypto_auth_hmacsha256_update(&s, (const unsigned char *)body, strlen(body));
    crypto_auth_hmacsha256_final(&s, mac);
    sodium_memzero(&s, sizeof s);
    memcpy(out, lead, sizeof lead - 1);
    sodium_bin2hex(out + sizeof lead - 1, WEBHOOKS_SIGNATURE - sizeof lead + 1, mac, sizeof mac);
}

/* Returns the length of a URL up to its path. */
static size_t base_of(const char *url)
{
    const char *host = strstr(url, "://");
    size_t lead = host ? (size_t)(host - url) + 3 : 0;
    return lead + strcspn(url + lead, "/?#");
}

static bool reaches(enum webhooks_reach reach, enum address_kind kind)
{
    return reach == WEBHOOKS_ANY || (kind == ADDRESS_PUBLIC && reach != WEBHOOKS_OFF) ||
           (kind == ADDRESS_PRIVATE && reach == WEBHOOKS_PRIVATE);
}

static bool is_target(const struct webhooks_targets *t, const uint8_t address[16], uint16_t port)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->items[i].port == port && address_net_has(&t->items[i].net, address))
            return true;
    return false;
}

/* Says where a post goes. */
struct route {
    const struct webhooks *webhooks;
    bool open; /* to an address that the public reach, or the operator by --webhooks-allow, opens */
    bool closed; /* to an address that is open for the wider reach only */
};

static bool allow(void *arg, const struct sockaddr *to, unsigned len)
{
    struct route *route = arg;
    const struct webhooks *h = route->webhooks;
    char text[INET6_ADDRSTRLEN] = "";
    uint8_t address[16];
    uint16_t port = 0;
    if (to->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *in = (const void *)to;
        inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
        port = ntohs(in->sin_port);
    } else if (to->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6 *in6 = (const void *)to;
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        port = ntohs(in6->sin6_port);
    }
    enum address_kind kind = address_kind(to, len);
    bool named = h->config.reach != WEBHOOKS_OFF && address_bytes(text, strlen(text), address) &&
                 is_target(&h->config.targets, address, port);
    bool open = named || (kind == ADDRESS_PUBLIC && reaches(h->config.reach, kind));
    bool allowed = open || reaches(h->config.reach, kind);
    route->open |= open;
    route->closed |= allowed && !open;
    return allowed;
}

/* The small tables have the status of a veiled post as a negative number: 0 as -1, 200 as -201. The
 * function converts both ways. */
static int64_t veiled_status(int64_t status)
{
    return -1 - status;
}

/* Returns true if members must not learn how a post to that route went: they could find out what
 * answers in the networks of the server. A name without an address is one of these networks' names,
 * too. */
static bool is_veiled(const struct route *r)
{
    return r->webhooks->config.reach >= WEBHOOKS_PRIVATE && (r->closed || !r->open);
}

void webhooks_veil(const struct webhooks *h, bool may_see, struct meta_delivery *d)
{
    bool unsettled = strcmp(d->state, "waiting") == 0 && !d->status && !*d->error;
    bool veiled = d->status < 0 || (unsettled && h->config.reach >= WEBHOOKS_PRIVATE);
    d->status = d->status < 0 ? veiled_status(d->status) : d->status;
    if (may_see || !veiled)
        return;
    d->state = "sent";
    d->attempts = 1;
    d->next = d->sent = d->created;
    d->status = 0;
    d->error = "";
}

int webhooks_targets_read(struct webhooks_targets *t, const char *list, struct err *e)
{
    *t = (struct webhooks_targets){0};
    for (const char *s = list ? list : ""; *s;) {
        s += strspn(s, ", ");
        size_t n = strcspn(s, ", "), host = n;
        long port = 0;
        if (!n)
            break;
        while (host > 0 && s[host - 1] != ':')
            host--;
        for (size_t i = host; host && i < n && port <= UINT16_MAX; i++)
            port = s[i] >= '0' && s[i] <= '9' ? port * 10 + s[i] - '0' : UINT16_MAX + 1L;
        bool bracketed = host > 2 && *s == '[' && s[host - 2] == ']';
        if (t->count == WEBHOOKS_TARGETS || host < 2 || port < 1 || port > UINT16_MAX ||
            !address_net_parse(s + bracketed, host - 1 - 2 * (size_t)bracketed,
                               &t->items[t->count].net))
            return err_set(e, GPUFL_E_INVAL,
                           "--webhooks-allow '%.*s': write at most %d networks with a port, like "
                           "10.0.0.5:9093, 10.1.0.0/16:443 or [fd00::/8]:443",
                           (int)n, s, WEBHOOKS_TARGETS);
        t->items[t->count++].port = (uint16_t)port;
        s += n;
    }
    return 0;
}

const struct webhooks_config *webhooks_config_of(const struct webhooks *h)
{
    return &h->config;
}

/* Returns the port that a URL names, or that of its scheme. */
static uint16_t port_of(const char *url, const char *after_host)
{
    long port = *after_host == ':' ? strtol(after_host + 1, NULL, 10) : 0;
    if (port <= 0 || port > UINT16_MAX)
        port = strncmp(url, "https:", 6) == 0 ? 443 : 80;
    return (uint16_t)port;
}

int webhooks_check(const struct webhooks_config *c, const char *url, struct err *e)
{
    char host[URL_MAX] = "";
    uint8_t address[16];
    enum address_kind kind;
    size_t n = base_of(url);
    const char *at = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    n -= (size_t)(at - url);
    if (!*url)
        return 0;
    if (c->reach == WEBHOOKS_OFF)
        return err_set(e, GPUFL_E_INVAL, "this server makes no posts: 'url' must be left out");
    if (n >= sizeof host)
        return err_set(e, GPUFL_E_INVAL, "'url' is too long");
    memcpy(host, at, n);
    size_t bracket = host[0] == '[' ? strcspn(host, "]") : 0;
    size_t len = bracket ? bracket + (host[bracket] == ']') : strcspn(host, ":");
    uint16_t port = port_of(url, host + len);
    host[len] = '\0';
    bool local = strcasecmp(host, "localhost") == 0;
    const char *number = local ? "127.0.0.1" : host + (bracket > 0);
    size_t digits = bracket ? bracket - 1 : strlen(number);
    if (address_bytes(number, digits, address) && is_target(&c->targets, address, port))
        return 0;
    if (local || address_parse(host, &kind))
        if (!reaches(c->reach, local ? ADDRESS_SPECIAL : kind))
            return err_set(e, GPUFL_E_INVAL,
                           "'url': posts may not go to %s; --webhooks and "
                           "--webhooks-allow of the server say where they may",
                           host);
    return 0;
}

/* Holds the outcome of one post. */
struct outcome {
    int status;  /* 0: no answer */
    bool veiled; /* members do not see the outcome */
    int64_t retry_after;
    struct err why;
};

static void post(struct webhooks *h, const struct meta_due *d, const char *secret,
                 struct outcome *o)
{
    char base[URL_MAX] = "", time[24], signature[WEBHOOKS_SIGNATURE];
    struct http_client *client = NULL;
    struct route route = {.webhooks = h};
    struct http_client_answer answer;
    struct http_client_text body = {d->body, strlen(d->body)};
    size_t n = base_of(d->url);
    if (n >= sizeof base) {
        err_set(&o->why, GPUFL_E_INVAL, "the URL is too long");
        return;
    }
    memcpy(base, d->url, n);
    snprintf(time, sizeof time, "%" PRId64, clock_real() / 1000000000);
    webhooks_sign(signature, secret, time, d->body);
    const struct http_client_config config = {.url = base,
                                              .agent = "gpufl-server",
                                              .connect_timeout = CONNECT_NS,
                                              .stall_timeout = STALL_NS,
                                              .stop = &h->ending,
                                              .allow = allow,
                                              .allow_arg = &route};
    char path[URL_MAX];
    snprintf(path, sizeof path, "%s%s", d->url[n] == '?' ? "/" : "", d->url + n);
    struct http_client_call call = {
        .method = "POST",
        .deadline = clock_mono() + WHOLE_NS,
        .path = path,
        .fields = {{"Content-Type", "application/json"},
                   {"X-GpuFlight-Delivery", d->id},
                   {"X-GpuFlight-Timestamp", time},
                   {*secret ? "X-GpuFlight-Signature" : NULL, signature}},
        .read = http_client_read_text,
        .body_size = (int64_t)body.left,
        .arg = &body};
    http_client_answer_init(&answer);
    answer.body.max = ANSWER_MAX; /* nobody reads it */
    if (http_client_open(&client, &config, &o->why) == 0)
        http_client_send(client, &call, &answer, &o->why);
    o->status = answer.status;
    o->retry_after = answer.retry_after;
    o->veiled = is_veiled(&route);
    http_client_answer_fini(&answer);
    http_client_close(client);
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static int64_t wait_of(const struct webhooks *h, const struct meta_due *d, const struct outcome *o)
{
    struct backoff b;
    bool again = o->status ? backoff_transient(o->status)
                           : o->why.code == GPUFL_E_UNAVAILABLE || o->why.code == GPUFL_E_TIMEOUT;
    if (!again || !*d->firing) /* a test is made once: somebody looks on */
        return BACKOFF_GIVE_UP;
    backoff_init(&b, WEBHOOKS_TRIES - 1, h->config.least_ns ? h->config.least_ns : LEAST_NS,
                 LIMIT_NS, (uint64_t)clock_mono());
    b.tries = d->attempts > 0 ? (unsigned)d->attempts - 1 : 0;
    return backoff_next(&b, o->retry_after);
}

/* Returns the reason that members see. Whether a port is closed, silent or speaks another protocol
 * would be a map of the networks that the server is in: only the log has these words. */
static const char *why_of(const struct outcome *o)
{
    bool unreached = o->why.code == GPUFL_E_UNAVAILABLE || o->why.code == GPUFL_E_TIMEOUT ||
                     o->why.code == GPUFL_E_IO;
    return unreached ? "no answer came; the server's log says why" : o->why.text;
}

static void settle(struct webhooks *h, const struct meta_due *d, const struct outcome *o)
{
    char text[sizeof o->why.text] = "";
    struct err e = {0};
    int64_t now = clock_real(), wait = 0;
    bool sent = o->status >= 200 && o->status < 300;
    if (!sent)
        wait = wait_of(h, d, o);
    if (!sent && o->status)
        snprintf(text, sizeof text, "it answered %d", o->status);
    else if (!sent)
        snprintf(text, sizeof text, "%s", why_of(o));
    const char *state = sent ? "sent" : wait == BACKOFF_GIVE_UP ? "failed" : "waiting";
    const struct meta_attempt attempt = {.state = state,
                                         .next = now + wait,
                                         .status = o->veiled ? veiled_status(o->status) : o->status,
                                         .error = text,
                                         .now = now};
    if (meta_delivery_done(h->config.meta, d->workspace, d->id, &attempt, &e))
        logs_say(LOG_WARN, "webhook", "how delivery %s went is not written: %s", d->id, e.text);
    logs_say(sent ? LOG_NOTE : LOG_WARN, "webhook",
             "delivery %s of workspace %s to %.*s, attempt %" PRId64 ": %s%s%s", d->id,
             d->workspace, (int)base_of(d->url), d->url, d->attempts, state, *text ? ": " : "",
             sent || o->status ? text : o->why.text);
}

static void deliver(struct webhooks *h, const struct meta_due *d)
{
    struct outcome o = {.retry_after = -1};
    struct meta_alert rule;
    struct region mem;
    region_init(&mem, 1 << 20);
    const struct meta_ask ask = {h->config.meta, d->workspace, &mem, &o.why};
    int rc = meta_alert_get(&ask, d->alert, &rule);
    if (rc == 0)
        rc = webhooks_check(&h->config, d->url, &o.why);
    if (rc == 0)
        post(h, d, rule.secret, &o);
    region_fini(&mem);
    if (!is_ending(h) || o.status)
        settle(h, d, &o);
}

/* Makes one; false: none was due. */
static bool make_one(struct webhooks *h)
{
    struct meta_due *due;
    struct region mem;
    struct err e = {0};
    size_t n = 0;
    int64_t now = clock_real();
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {h->config.meta, NULL, &mem, &e};
    int rc = meta_delivery_due(&ask, now, now + TAKEN_NS, 1, &due, &n);
    if (rc)
        n = 0;
    for (size_t i = 0; i < n && !is_ending(h); i++)
        deliver(h, &due[i]);
    region_fini(&mem);
    return n > 0;
}

static void *run(void *arg)
{
    struct poster *p = arg;
    while (!is_ending(p->webhooks))
        if (!make_one(p->webhooks))
            wakeup_wait(&p->wake, POLL_NS);
    return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int webhooks_open(struct webhooks **out, const struct webhooks_config *c, struct err *e)
{
    struct webhooks *h = mem_zalloc(sizeof *h);
    int rc = h ? 0 : GPUFL_E_NOMEM;
    *out = NULL;
    if (h)
        h->config = *c;
    for (int i = 0; !rc && i < THREADS; i++) {
        struct poster *p = &h->posters[i];
        p->webhooks = h;
        rc = wakeup_init(&p->wake);
        p->wake_open = !rc;
        if (rc == 0)
            rc = thread_start(&p->thread, "webhook", 5, run, p);
    }
    if (rc) {
        webhooks_close(h);
        return err_set(e, rc, "the webhooks' threads cannot be started: %s", err_text(rc));
    }
    *out = h;
    return 0;
}

void webhooks_wake(struct webhooks *h)
{
    for (int i = 0; i < THREADS; i++)
        wakeup_signal(&h->posters[i].wake);
}

void webhooks_close(struct webhooks *h)
{
    if (!h)
        return;
    __atomic_store_n(&h->ending, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        if (h->posters[i].wake_open)
            wakeup_signal(&h->posters[i].wake);
    for (int i = 0; i < THREADS; i++) {
        thread_join(&h->posters[i].thread);
        if (h->posters[i].wake_open)
            wakeup_fini(&h->posters[i].wake);
    }
    mem_free(h);
}
