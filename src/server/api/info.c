/* info.c - serves health, version, description and metrics of the server. */
#include "server/api/ready.h"
#include "server/request/handlers.h"
#include "server/request/openapi.h"
#include "server/request/parts.h"

#include "base/clock.h"
#include "server/common/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void api_healthz(struct call *c)
{
    static const char ok[] = "{\"status\":\"ok\"}\n";
    http_send_static(c->http, 200, "application/json", ok, sizeof ok - 1);
    c->http->answer.cacheable = false;
}

/* Holds what the intake has to do and has room for, read once for an answer. */
struct intake_now {
    struct loader_stats loader;
    struct journal_stats journal;
    int64_t free, needs; /* bytes of the journal's disk; free -1: unknown */
};

static struct intake_now intake_now(const struct parts *s)
{
    struct intake_now n = {0};
    loader_stats(s->intake->loader, &n.loader);
    journal_stats(s->intake->journal, &n.journal);
    n.free = journal_free_bytes(s->intake->journal, &n.needs);
    return n;
}

static bool is_stuck(const struct intake_now *n, char *why, size_t size)
{
    const struct ready_state r = {
        .journal_failed = n->journal.failed,
        .free = n->free,
        .needs = n->needs,
        .stuck_age = n->loader.stuck_age,
        .backlog_sessions = n->loader.backlog_sessions,
    };
    return ready_is_stuck(&r, why, size);
}

/* Writes the members that both answers of /readyz have; /metrics has the same figures. */
static void put_intake_now(struct buf *b, const struct intake_now *n)
{
    buf_printf(b,
               ",\"waiting_frames\":%" PRIu64 ",\"backlog_sessions\":%" PRIu64
               ",\"backlog_bytes\":%" PRId64 ",\"backlog_age_seconds\":%.3f"
               ",\"aside_sessions\":%" PRIu64 ",\"disk_free_bytes\":",
               n->loader.waiting, n->loader.backlog_sessions, n->loader.backlog_bytes,
               (double)n->loader.backlog_age / 1e9, n->loader.aside_sessions);
    if (n->free < 0)
        buf_str(b, "null");
    else
        buf_i64(b, n->free);
}

/* Answers "ready" with the number of waiting reports and the state of Kafka: neither is a reason to
 * stop sending over HTTP. */
static void send_ready(struct call *c, const struct intake_now *now)
{
    struct analysis_stats stats;
    struct buf *b = http_body(c->http, 4096);
    analysis_stats(c->parts->analysis, &stats);
    buf_printf(b, "{\"status\":\"ready\",\"reports_waiting\":%u", stats.waiting);
    put_intake_now(b, now);
    if (c->parts->receiver) {
        buf_str(b, ",\"kafka\":");
        receiver_json(c->parts->receiver, b);
    }
    buf_str(b, "}\n");
    http_send(c->http, 200, "application/json");
    c->http->answer.cacheable = false;
}

/* Answers 503; the problem gets the members of the intake before its closing brace. */
static void send_not_ready(struct call *c, const struct intake_now *now, const char *why)
{
    static const char end[] = "}\n";
    struct buf *b = &c->http->answer.body;
    http_problem(c->http, 503, "%s", why);
    if (buf_error(b) || b->len < sizeof end)
        return;
    b->len -= sizeof end - 1;
    put_intake_now(b, now);
    buf_str(b, end);
}

void api_readyz(struct call *c)
{
    const struct parts *s = c->parts;
    const struct intake_now now = intake_now(s);
    char why[256];
    struct err e = {0};
    if (atomic_load_explicit(s->ending, memory_order_relaxed)) {
        send_not_ready(c, &now, "The server is ending.");
    } else if (meta_ping(s->meta, &e)) {
        send_not_ready(c, &now, "The small tables cannot be reached.");
        logs_say(LOG_ERROR, "ready", "%s", e.text);
    } else if (is_stuck(&now, why, sizeof why)) {
        send_not_ready(c, &now, why);
    } else {
        send_ready(c, &now);
    }
}

/* The public client asks this first: it warns where `supported` lacks its wire version. */
void api_version(struct call *c)
{
    struct json_out j;
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "product", "gpufl-server");
    json_out_text(&j, "version", GPUFL_VERSION);
    json_out_text(&j, "api", "v1");
    json_out_array(&j, "supported");
    json_out_text(&j, NULL, "1");
    json_out_close_array(&j);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}

void api_openapi(struct call *c)
{
    struct buf *b = http_body(c->http, 4 << 20);
    openapi_put(b);
    http_send(c->http, 200, "application/json");
}

/* Compares texts in a time that does not depend on where they differ. */
static bool same(const char *a, const char *b)
{
    size_t n = strlen(a), differs = n ^ strlen(b);
    for (size_t i = 0; i < n; i++)
        differs |= (size_t)(a[i] ^ b[i < strlen(b) ? i : 0]);
    return differs == 0;
}

static bool metrics_allowed(struct call *c)
{
    const char *key = c->parts->metrics_key;
    const char *given = http_field(c->http, "Authorization");
    if (!key || !*key)
        return true;
    if (given && strncasecmp(given, "Bearer ", 7) == 0 && same(given + 7, key))
        return true;
    http_problem(c->http, 401, "/metrics needs the key of --metrics-key as a bearer token.");
    http_set(c->http, "WWW-Authenticate", "Bearer");
    return false;
}

static void put_pools(struct buf *b, const struct parts *s)
{
    const struct {
        const char *name;
        struct workers *workers;
    } pools[] = {{"readers", s->readers},
                 {"uploads", s->uploads},
                 {"exports", s->exports},
                 {"sql", s->selects}};
    enum { POOLS = sizeof pools / sizeof *pools };
    struct workers_load loads[POOLS] = {0};
    for (size_t i = 0; i < POOLS; i++)
        if (pools[i].workers)
            loads[i] = workers_load(pools[i].workers);
    counters_head(b, "gpufl_workers_threads", "gauge", "Threads of a pool of workers.");
    for (size_t i = 0; i < POOLS; i++)
        if (pools[i].workers)
            buf_printf(b, "gpufl_workers_threads{pool=\"%s\"} %u\n", pools[i].name,
                       loads[i].threads);
    counters_head(b, "gpufl_workers_busy", "gauge", "Of these, threads at work.");
    for (size_t i = 0; i < POOLS; i++)
        if (pools[i].workers)
            buf_printf(b, "gpufl_workers_busy{pool=\"%s\"} %u\n", pools[i].name, loads[i].busy);
    counters_head(b, "gpufl_workers_waiting", "gauge", "Requests that wait for the pool.");
    for (size_t i = 0; i < POOLS; i++)
        if (pools[i].workers)
            buf_printf(b, "gpufl_workers_waiting{pool=\"%s\"} %zu\n", pools[i].name,
                       loads[i].waiting);
}

static void put_intake(struct buf *b, const struct parts *s)
{
    struct ingest_counts in;
    const struct intake_now now = intake_now(s);
    const struct loader_stats loader = now.loader;
    const struct journal_stats journal = now.journal;
    ingest_counts(s->intake->ingest, &in);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"gpufl_ingest_bodies_total", "counter", "Bodies taken in.", (double)in.bodies},
        {"gpufl_ingest_refused_total", "counter", "Bodies refused.", (double)in.refused},
        {"gpufl_ingest_bytes_total", "counter", "Bytes of bodies, as sent.", (double)in.bytes},
        {"gpufl_ingest_plain_bytes_total", "counter", "The same inflated.", (double)in.plain},
        {"gpufl_ingest_lines_total", "counter", "Lines accepted.", (double)in.accepted},
        {"gpufl_ingest_lines_rejected_total", "counter", "Lines rejected.", (double)in.rejected},
        {"gpufl_journal_bytes", "gauge", "Bytes of the journal on disk.", (double)journal.bytes},
        {"gpufl_journal_syncs_total", "counter", "Syncs of the journal.", (double)journal.syncs},
        {"gpufl_journal_failed", "gauge", "1: a sync failed, nothing is accepted.", journal.failed},
        {"gpufl_loader_rows_total", "counter", "Rows committed.", (double)loader.rows},
        {"gpufl_loader_kernels_total", "counter", "Kernels of them.", (double)loader.kernels},
        {"gpufl_loader_commits_total", "counter", "Commits.", (double)loader.commits},
        {"gpufl_loader_waiting_frames", "gauge", "Frames not loaded yet.", (double)loader.waiting},
        {"gpufl_loader_lag_seconds", "gauge", "Seconds for which the oldest of them has waited.",
         (double)loader.lag / 1e9},
        {"gpufl_loader_sessions", "gauge", "Sessions being loaded.", loader.open},
        {"gpufl_loader_open_sessions", "gauge", "Sessions open in the column store for it.",
         loader.columns},
        {"gpufl_loader_retries_total", "counter", "Sessions that were to be tried again.",
         (double)loader.retries},
        {"gpufl_loader_set_aside_total", "counter", "Frames that could not be loaded.",
         (double)loader.set_aside},
        {"gpufl_backlog_sessions", "gauge", "Sessions with data that is acknowledged, not loaded.",
         (double)loader.backlog_sessions},
        {"gpufl_backlog_failing_sessions", "gauge", "Those of them that are tried again.",
         (double)loader.failing_sessions},
        {"gpufl_backlog_bytes", "gauge", "Bytes of it in the journal.",
         (double)loader.backlog_bytes},
        {"gpufl_backlog_age_seconds", "gauge",
         "Seconds for which the oldest part of it has waited.", (double)loader.backlog_age / 1e9},
        {"gpufl_aside_sessions", "gauge", "Sessions of which frames are set aside now.",
         (double)loader.aside_sessions},
        {"gpufl_disk_free_bytes", "gauge", "Free on the disk of the data folder; -1: unknown.",
         (double)now.free},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        counters_number(b, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

static void put_analysis(struct buf *b, const struct parts *s)
{
    struct analysis_stats stats;
    analysis_stats(s->analysis, &stats);
    counters_number(b, "gpufl_analysis_reports_total", "counter", "Sessions analysed.",
                    (double)stats.reports);
    counters_number(b, "gpufl_analysis_final_total", "counter", "Those of them that had ended.",
                    (double)stats.final);
    counters_number(b, "gpufl_analysis_failed_total", "counter", "Analyses that failed.",
                    (double)stats.failed);
    counters_number(b, "gpufl_analysis_cpu_seconds_total", "counter", "Processor time of it.",
                    (double)stats.cpu_ns / 1e9);
    counters_number(b, "gpufl_analysis_waiting_sessions", "gauge", "Sessions to be analysed.",
                    stats.waiting);
    counters_number(b, "gpufl_analysis_resting", "gauge",
                    "1: many sessions ended, and are loaded before they are analysed.",
                    stats.resting);
}

void api_metrics(struct call *c)
{
    const struct parts *s = c->parts;
    if (!metrics_allowed(c))
        return;
    struct buf *b = http_body(c->http, 1 << 20);
    struct http_load load = http_load(s->http);
    struct http_hub_load hub = http_hub_load(s->hub);
    counters_number(b, "gpufl_up_seconds", "gauge", "Since the server started.",
                    (double)(clock_mono() - s->began) / 1e9);
    counters_number(b, "gpufl_http_connections", "gauge", "Connections open.", load.connections);
    counters_number(b, "gpufl_http_requests_active", "gauge", "Requests in work.", load.requests);
    counters_number(b, "gpufl_http_slow_total", "counter",
                    "Connections ended because they were too slow.", (double)load.slow);
    counters_number(b, "gpufl_streams", "gauge", "Browsers that follow live data.", hub.listeners);
    counters_number(b, "gpufl_stream_events_total", "counter", "Events published.",
                    (double)hub.published);
    counters_number(b, "gpufl_stream_events_dropped_total", "counter",
                    "Events that a listener was too slow for.", (double)hub.dropped);
    counters_number(b, "gpufl_log_lines_lost_total", "counter",
                    "Lines of the log that nobody read in time.", (double)logs_lost());
    put_intake(b, s);
    if (s->receiver)
        receiver_metrics(s->receiver, b, counters_number);
    put_analysis(b, s);
    put_pools(b, s);
    counters_put(s->counters, b);
    http_send(c->http, 200, "text/plain; version=0.0.4");
    c->http->answer.cacheable = false;
}
