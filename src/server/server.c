/* server.c - opens and closes the parts of a running server in order.
 *
 * Ending: the listening socket goes first, so that a balancer sends elsewhere and clients
 * connect again; live streams end; requests in work finish, at most as long as --drain says or
 * until a second signal; then they are cut off, and the stores are closed after them. What has
 * been acknowledged is on the disk whatever happens, so that a request that is cut off loses
 * only its answer. */
#include "server/server.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "net/server/http_tls.h"
#include "net/server/listen.h"
#include "server/backup/backup.h"
#include "server/common/logs.h"
#include "server/from_kafka.h"
#include "server/local.h"
#include "server/request/handlers.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PEM_MAX = 1 << 20, READERS_QUEUE = 512, STREAM_QUEUE = 256 << 10 };

enum {
    FILES_ENOUGH = 1 << 20,
    FILES_RESERVED = 64, /* stores, journal, threads' own */
    FILES_OF_SESSION = 4,
    SESSIONS_LEAST = 4,
    ATTACHED_LEAST = 4, /* sessions that stay open for questions */
    ATTACHED_MOST = 32,
};

/* Handlers need time to notice that they are cut off; an SQL statement's child may take ten
 * seconds. */
static const int64_t CUT_NS = 20000000000;

static const int64_t LOCK_NS = 10000000000;

static const int64_t TLS_LOOK_NS = 2000000000; /* between looks whether the files changed */

/* A listener that has gone is noticed two beats later; local mode ends with its last one. */
static const int64_t BEAT_NS = 15000000000, LOCAL_BEAT_NS = 1000000000, JANITOR_NS = 60000000000;

/* Raises the number of descriptors to what is allowed: connections and files of sessions need
 * them. */
static void raise_files(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
}

/* Returns the number of descriptors that this process may have. */
static int64_t files_most(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur > FILES_ENOUGH ? FILES_ENOUGH
                                                                     : (int64_t)l.rlim_cur;
}

/* Connections get half of the descriptors at most, and sessions the other half. So sessions can be
 * opened however many clients connect, and health checks are answered however many sessions are
 * open. */
static int64_t connections_most(const struct options *o)
{
    int64_t half = files_most() / 2;
    return o->connections < half ? o->connections : half;
}

/* Returns the number of sessions that the loader may have open: a file, its log, the one that
 * replaces it, and frames. */
static unsigned sessions_most(const struct options *o)
{
    int64_t room = files_most() - connections_most(o) - FILES_RESERVED - 2 * files_most() / 16;
    int64_t most = room / FILES_OF_SESSION;
    return most > SESSIONS_LEAST ? (unsigned)most : SESSIONS_LEAST;
}

static int read_pem(const char *path, char **out, struct err *e)
{
    size_t len = 0;
    return file_read_all(path, PEM_MAX, out, &len, e);
}

/* Returns a number that changes when the certificate or the key is written or replaced. */
static uint64_t tls_stamp(const struct options *o)
{
    const char *const paths[] = {o->tls_cert, o->tls_key};
    uint64_t stamp = 0;
    struct stat st;
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && stat(paths[i], &st) == 0)
            stamp = stamp * 31 + (uint64_t)st.st_ino * 7 +
                    (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    return stamp;
}

/* Reads the certificate and its key again for the connections to come. What cannot be used changes
 * nothing. */
static void reload_tls(struct server *s)
{
    const struct options *o = &s->options;
    char *cert = NULL, *key = NULL;
    struct err e = {0};
    s->tls_stamp = tls_stamp(o);
    int rc = read_pem(o->tls_cert, &cert, &e);
    if (rc == 0)
        rc = read_pem(o->tls_key, &key, &e);
    if (rc == 0)
        rc = http_tls_load(cert, key, &e);
    if (rc)
        logs_say(LOG_ERROR, "tls", "the certificate stays as it was: %s", e.text);
    else
        logs_say(LOG_NOTE, "tls", "new connections get the certificate that is in %s now",
                 o->tls_cert);
    if (key)
        explicit_bzero(key, strlen(key));
    mem_free(cert);
    mem_free(key);
}

static int open_tls(struct server *s, struct err *e)
{
    const struct options *o = &s->options;
    if (!o->tls_cert != !o->tls_key)
        return err_set(e, GPUFL_E_INVAL, "--tls-cert and --tls-key go together");
    if (!o->tls_cert)
        return 0;
    s->tls_stamp = tls_stamp(o);
    int rc = read_pem(o->tls_cert, &s->tls_cert, e);
    if (rc || (rc = read_pem(o->tls_key, &s->tls_key, e)))
        return rc;
    struct err why = {0};
    rc = http_tls_load(s->tls_cert, s->tls_key, &why);
    if (rc == GPUFL_E_NOT_BUILT || rc == 0)
        return 0; /* without GnuTLS libmicrohttpd reads them once */
    return err_set(e, GPUFL_E_STATE, "--tls-cert and --tls-key (PEM files): %s", why.text);
}

static int in_range(int64_t value, int64_t least, int64_t most, const char *name, struct err *e)
{
    if (value >= least && value <= most)
        return 0;
    return err_set(e, GPUFL_E_INVAL, "--%s may be from %lld to %lld", name, (long long)least,
                   (long long)most);
}

static int check(const struct options *o, struct err *e)
{
    int rc = in_range(o->threads, 1, 64, "threads", e);
    if (rc || (rc = in_range(o->workers, 1, 256, "workers", e)) ||
        (rc = in_range(o->uploads, 1, 256, "uploads", e)) ||
        (rc = in_range(o->connections, 1, 1 << 20, "max-connections", e)) ||
        (rc = in_range(o->connections_per_address, 1, 1 << 20, "max-connections-per-address", e)) ||
        (rc = in_range(o->streams, 1, 1 << 16, "max-streams", e)) ||
        (rc = in_range(o->exports, 1, 64, "exports", e)) ||
        (rc = in_range(o->loaders, 1, 64, "loaders", e)) ||
        (rc = in_range(o->backlog, 1, 1 << 20, "max-backlog", e)) ||
        (rc = in_range(o->selects, 0, SQL_GATE_MAX, "sql", e)))
        return rc;
    return in_range(o->drain, 0, INT64_C(3600000000000), "drain", e);
}

/* Gives handlers the server's parts, before the HTTP server is opened, which keeps the pointer;
 * `ready` publishes the content. */
static void fill_parts(struct server *s)
{
    s->parts = (struct parts){.data = s->options.data,
                              .metrics_key = s->options.metrics_key,
                              .body_max = s->options.body_max,
                              .local = s->options.local,
                              .view = s->options.local && local_is_view(),
                              .alone = !s->options.meta || s->options.columns,
                              .began = s->began,
                              .ready = &s->ready,
                              .ending = &s->ending,
                              .meta = s->meta,
                              .ops = s->ops,
                              .store = s->store,
                              .starts = &s->starts,
                              .intake = &s->intake,
                              .receiver = s->receiver,
                              .analysis = s->analysis,
                              .janitor = &s->janitor,
                              .alerts = s->alerts,
                              .webhooks = s->webhooks,
                              .auth = &s->auth,
                              .origin = &s->origin,
                              .proxies = &s->proxies,
                              .counters = &s->counters,
                              .sql_gate = &s->sql_gate,
                              .quotas = &s->quotas,
                              .readers = s->readers,
                              .uploads = s->uploads,
                              .exports = s->exports,
                              .selects = s->selects,
                              .hub = s->hub};
}

static int open_http(struct server *s, struct err *e)
{
    const struct options *o = &s->options;
    struct http_config c;
    http_config_init(&c);
    c.address = s->address;
    c.port = s->port;
    c.tls_cert = s->tls_cert;
    c.tls_key = s->tls_key;
    c.threads = (unsigned)o->threads;
    c.connections = (unsigned)connections_most(o);
    if (c.connections < o->connections)
        logs_say(LOG_WARN, "start",
                 "connections are limited to %u: the process may have %lld descriptors",
                 c.connections, (long long)files_most());
    c.connections_per_address = (unsigned)o->connections_per_address;
    fill_parts(s);
    const struct http_app app = app_of(&s->parts);
    int rc = http_open(&s->http, &c, &app, e);
    if (rc)
        return rc;
    s->parts.http = s->http;
    s->port = http_port(s->http);
    return origin_init(&s->origin, o->local, s->tls_cert != NULL, s->port, o->public_url, e);
}

static int open_auth(struct server *s, struct err *e)
{
    const char *url = s->options.public_url;
    const struct auth_config c = {.secure = s->tls_cert || (url && strncmp(url, "https:", 6) == 0),
                                  .port = s->options.local ? s->port : 0};
    int rc = auth_init(&s->auth, s->meta, &c, e);
    s->auth_open = rc == 0;
    return rc;
}

/* Local mode is for this machine's user alone. */
static int check_local(const struct server *s, struct err *e)
{
    static const char *const loopback[] = {"127.0.0.1", "::1", "localhost"};
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++)
        if (strcmp(s->address, loopback[i]) == 0)
            return 0;
    return s->options.local ? err_set(e, GPUFL_E_INVAL,
                                      "--local listens on loopback only, not on %s", s->address)
                            : 0;
}

/* ---- the stores ------------------------------------------------------------------------------ */

static int open_meta(struct server *s, struct err *e)
{
    char path[PATH_MAX];
    int rc = path_join(path, sizeof path, s->options.data, "meta.db");
    if (rc)
        return err_set(e, rc, "--data is too long");
    const struct meta_config c = {.path = path, .url = s->options.meta, .migrate = true};
    rc = meta_open(&s->meta, &c, e);
    if (rc == 0)
        quota_refresh(&s->quotas, s->meta); /* what was sent today counts from the first body on */
    return rc;
}

int server_open_columns(const struct options *o, const struct store_turns *turns,
                        const struct store_ops **ops, struct store **out, struct err *e)
{
    int64_t attached = files_most() / 32;
    attached = attached > ATTACHED_MOST ? ATTACHED_MOST : attached;
    const struct store_config c = {.data = o->data,
                                   .attached_most = attached > ATTACHED_LEAST ? (unsigned)attached
                                                                              : ATTACHED_LEAST,
                                   .url = o->columns,
                                   .select_login = o->columns_sql,
                                   .memory_limit = o->memory,
                                   .program = "/proc/self/exe",
                                   .turns = turns,
                                   .alone = !turns && !o->meta};
    *ops = o->columns ? &store_clickhouse : &store_duckdb;
    return (*ops)->open(out, &c, e);
}

/* Publishes, after a commit, to those who follow the workspace, and to the analysis. [loader] */
static void on_news(void *arg, const struct loader_news *n)
{
    struct server *s = arg;
    struct buf b;
    analysis_news(s->analysis, n);
    buf_init(&b, 1024);
    buf_str(&b, "{\"session\":");
    buf_json_str(&b, n->session);
    buf_printf(&b, ",\"rows\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"ended\":%s}", n->rows,
               n->kernels, n->ended ? "true" : "false");
    if (!buf_error(&b))
        http_hub_publish(s->hub, n->workspace, "session", b.data, b.len);
    buf_fini(&b);
}

/* A session has a new report. [analysis] */
static void on_report(void *arg, const char *workspace, const char *session, bool final)
{
    struct server *s = arg;
    struct buf b;
    buf_init(&b, 1024);
    buf_str(&b, "{\"session\":");
    buf_json_str(&b, session);
    buf_printf(&b, ",\"final\":%s}", final ? "true" : "false");
    if (!buf_error(&b))
        http_hub_publish(s->hub, workspace, "report", b.data, b.len);
    buf_fini(&b);
}

/* Hosts and GPUs have new states. [fleet] */
static void on_fleet(void *arg, const char *workspace, const char *json, size_t len)
{
    struct server *s = arg;
    http_hub_publish(s->hub, workspace, "fleet", json, len);
}

static int open_fleet(struct server *s, struct err *e)
{
    const struct fleet_config c = {.meta = s->meta, .arg = s, .event = on_fleet};
    return fleet_open(&s->fleet, &c, e);
}

static int open_analysis(struct server *s, struct err *e)
{
    const struct analysis_config c = {.ops = s->ops,
                                      .store = s->store,
                                      .meta = s->meta,
                                      .prompt = s->options.local,
                                      .arg = s,
                                      .made = on_report};
    return analysis_open(&s->analysis, &c, e);
}

static int open_intake(struct server *s, struct err *e)
{
    const struct intake_config c = {.data = s->options.data,
                                    .ops = s->ops,
                                    .store = s->store,
                                    .meta = s->meta,
                                    .threads = (unsigned)s->options.loaders,
                                    .shared = s->write_lease.meta && s->options.columns,
                                    .body_max = s->options.body_max,
                                    .backlog_sessions = (unsigned)s->options.backlog,
                                    .open_most = sessions_most(&s->options),
                                    .fleet = s->fleet,
                                    .arg = s,
                                    .news = on_news};
    return intake_open(&s->intake, &c, e);
}

/* A `gpufl view` that was killed leaves its server, which ends by itself a moment later: the next
 * one for the same sessions waits for that. */
static int lock_data(struct server *s, struct err *e)
{
    const struct timespec step = {0, 50000000};
    int64_t until = clock_mono() + (s->options.local ? LOCK_NS : 0);
    int rc;
    while ((rc = data_lock_take(&s->lock, s->options.data, e)) == GPUFL_E_BUSY &&
           clock_mono() < until)
        nanosleep(&step, NULL);
    return rc;
}

/* Publishes that a rule fired, or that what it watches is over. [alerts] */
static void on_alert(void *arg, const char *workspace, const char *json, size_t len)
{
    struct server *s = arg;
    http_hub_publish(s->hub, workspace, "alert", json, len);
}

static void wake_hooks(void *arg)
{
    struct server *s = arg;
    webhooks_wake(s->webhooks);
}

static int open_alerts(struct server *s, struct err *e)
{
    struct webhooks_config hooks = {.meta = s->meta,
                                    .reach = (enum webhooks_reach)s->options.webhooks};
    const struct alerts_config alerts = {.meta = s->meta,
                                         .holder = s->janitor.holder,
                                         .arg = s,
                                         .event = on_alert,
                                         .posts = wake_hooks};
    int rc = webhooks_targets_read(&hooks.targets, s->options.webhooks_allow, e);
    if (rc || (rc = webhooks_open(&s->webhooks, &hooks, e)))
        return rc;
    return alerts_open(&s->alerts, &alerts, e);
}

static int open_janitor(struct server *s, struct err *e)
{
    const struct janitor_config c = {.ops = s->ops,
                                     .store = s->store,
                                     .meta = s->meta,
                                     .sessions = s->intake.sessions,
                                     .period_ns = JANITOR_NS};
    return janitor_start(&s->janitor, &c, e);
}

static int open_stores(struct server *s, struct err *e)
{
    int rc = file_mkdirs(s->options.data, 0700, e);
    if (rc || (rc = lock_data(s, e)))
        return rc;
    backup_clean(s->options.data);
    if ((rc = open_meta(s, e)))
        return rc;
    const struct store_turns *turns = write_lease_init(&s->write_lease, s->meta);
    if ((rc = server_open_columns(&s->options, turns, &s->ops, &s->store, e)) ||
        (rc = open_fleet(s, e)) || (rc = open_analysis(s, e)) || (rc = open_intake(s, e)) ||
        (rc = open_janitor(s, e)))
        return rc;
    return open_alerts(s, e);
}

static void close_stores(struct server *s)
{
    receiver_close(s->receiver);
    s->receiver = NULL;
    alerts_close(s->alerts);
    webhooks_close(s->webhooks);
    s->alerts = NULL;
    s->webhooks = NULL;
    janitor_stop(&s->janitor);
    intake_close(&s->intake);
    fleet_close(s->fleet);
    s->fleet = NULL;
    analysis_close(s->analysis);
    s->analysis = NULL;
    if (s->store)
        s->ops->close(s->store);
    meta_close(s->meta);
    s->store = NULL;
    s->meta = NULL;
    data_lock_drop(&s->lock);
}

static int open_workers(struct server *s, struct err *e)
{
    const struct options *o = &s->options;
    int rc = workers_open(&s->readers, "read", (unsigned)o->workers, READERS_QUEUE, e);
    if (rc ||
        (rc = workers_open(&s->uploads, "take", (unsigned)o->uploads, (size_t)o->connections, e)) ||
        (rc = workers_open(&s->exports, "export", (unsigned)o->exports, READERS_QUEUE, e)))
        return rc;
    return o->selects ? workers_open(&s->selects, "sql", (unsigned)o->selects, READERS_QUEUE, e)
                      : 0;
}

int server_open(struct server *s, const struct options *o, struct err *e)
{
    *s = (struct server){.options = *o, .began = clock_mono(), .lock = DATA_LOCK_INIT};
    const struct http_hub_config hub = {.listeners = (unsigned)o->streams,
                                        .queue = STREAM_QUEUE,
                                        .beat_ns = o->local ? LOCAL_BEAT_NS : BEAT_NS};
    raise_files();
    starts_init(&s->starts);
    sql_gate_init(&s->sql_gate, (unsigned)o->selects);
    int rc = quotas_init(&s->quotas, o->workspace_quota, o->key_quota, e);
    if (rc || (rc = check(o, e)) ||
        (rc = listen_parse(o->listen, s->address, sizeof s->address, &s->port, e)) ||
        (rc = check_local(s, e)) || (rc = proxies_init(&s->proxies, o->trusted_proxy, e)) ||
        (rc = open_tls(s, e)) || (rc = open_workers(s, e)) ||
        (rc = http_hub_open(&s->hub, &hub, e)) || (rc = open_stores(s, e)) ||
        (rc = from_kafka_open(s, e)) || (rc = open_http(s, e)) || (rc = open_auth(s, e)))
        goto done;
    atomic_store_explicit(&s->ready, true, memory_order_release); /* nothing is answered before */
done:
    if (rc)
        server_close(s);
    return rc;
}

/* Waits for a signal; 0: none within the time. */
static int wait_signal(int64_t ns, bool ends_only)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    if (!ends_only)
        sigaddset(&ends, SIGHUP);
    const struct timespec until = {ns / 1000000000, ns % 1000000000};
    int n = ns < 0 ? sigwaitinfo(&ends, NULL) : sigtimedwait(&ends, NULL, &until);
    return n > 0 ? n : 0;
}

/* Waits until no request is in work: true; false: a signal came, or the time is over. */
static bool wait_for_requests(struct server *s, int64_t ns, bool *signalled)
{
    static const int64_t step = 20000000;
    int64_t until = clock_mono() + ns;
    *signalled = false;
    while (!http_wait(s->http, step)) {
        *signalled = wait_signal(0, true) != 0;
        if (*signalled || clock_mono() > until)
            return false;
    }
    return true;
}

/* Requests in work lose their connection, and questions are interrupted: handlers end soon
 * after. */
static int cut_off(struct server *s, const char *why)
{
    bool signalled;
    logs_say(LOG_WARN, "end", "%s: %u requests are cut off", why, http_load(s->http).requests);
    http_cut(s->http);
    if (s->ops->hurry)
        s->ops->hurry(s->store);
    if (wait_for_requests(s, CUT_NS, &signalled))
        return GPUFL_E_TIMEOUT;
    logs_say(LOG_ERROR, "end",
             "%u requests do not end: the process does, with its files open; what was "
             "acknowledged is in the journal",
             http_load(s->http).requests);
    return GPUFL_E_STATE;
}

static int drain(struct server *s)
{
    bool signalled;
    atomic_store_explicit(&s->ending, true, memory_order_relaxed);
    http_quiesce(s->http);
    http_hub_end(s->hub);
    if (wait_for_requests(s, s->options.drain, &signalled))
        return 0;
    return cut_off(s, signalled ? "a second signal" : "--drain is over");
}

int server_run(struct server *s)
{
    int signal = 0;
    while (!signal) {
        signal = wait_signal(TLS_LOOK_NS, false);
        bool hangup = signal == SIGHUP && !s->options.local;
        if (hangup && !s->options.tls_cert)
            logs_say(LOG_NOTE, "reload", "SIGHUP: there is no certificate to read again");
        if (s->options.tls_cert && (hangup || (!signal && tls_stamp(&s->options) != s->tls_stamp)))
            reload_tls(s);
        signal = hangup ? 0 : signal;
    }
    logs_say(LOG_NOTE, "end", "%s: no new connections; requests in work finish",
             signal == SIGINT ? "interrupted" : "terminated");
    return drain(s);
}

void server_close(struct server *s)
{
    if (s->hub)
        http_hub_end(s->hub);
    http_close(s->http);
    http_tls_unload();
    workers_close(s->selects);
    workers_close(s->exports);
    workers_close(s->uploads);
    workers_close(s->readers);
    if (s->auth_open)
        auth_fini(&s->auth);
    s->auth_open = false;
    close_stores(s);
    http_hub_close(s->hub);
    starts_fini(&s->starts);
    mem_free(s->tls_cert);
    mem_free(s->tls_key);
    s->http = NULL;
    s->hub = NULL;
    sql_gate_fini(&s->sql_gate);
    quotas_fini(&s->quotas);
    s->uploads = s->readers = s->exports = s->selects = NULL;
    s->tls_cert = s->tls_key = NULL;
}
