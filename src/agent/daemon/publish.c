/* publish.c - keeps the agent's status for the control socket, /healthz and /metrics.
 *
 * The loop copies its numbers under the lock (publish_take); the other functions read the copy. */
#include "agent/daemon/daemon.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "net/client/http_client.h"
#include "net/server/listen.h"
#include "net/server/metrics_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double NANOS = 1e9;

static const char *const hold_names[] = {"none", "wait", "key", "disk"};

void publish_take(struct daemon *d)
{
    struct daemon_status s = {.sessions = d->folders.sessions,
                              .open = d->view_count,
                              .letters = letters_count(d->letters),
                              .letter_bytes = letters_bytes(d->letters),
                              .unwatched = d->folders.watch.refused,
                              .unreadable = d->folders.unreadable,
                              .draining = control_task(&d->control, CONTROL_DRAIN) != 0};
    if (d->options->kafka)
        kafka_way_statistics(d->courier.remote, &s.kafka);
    for (size_t i = 0; i < d->folders.count; i++)
        s.done += d->folders.items[i].kind == FOLDER_SESSION && d->folders.items[i].done;
    for (size_t i = 0; i < d->view_count; i++) {
        const struct view *v = d->views[i];
        s.waiting_bytes += view_waiting(v);
        for (size_t k = 0; k < v->work_count; k++)
            for (size_t n = 0; n < v->works[k].course_count; n++)
                s.blocked += v->works[k].courses[n].blocked;
    }
    pthread_mutex_lock(&d->lock);
    d->status = s;
    pthread_mutex_unlock(&d->lock);
}

/* Holds all values at one moment. */
struct picture {
    struct daemon_status status;
    struct courier_counts counts;
    enum courier_hold hold;
    char why[416];
    bool paused;
    int64_t left; /* ns until the next try, of hold */
    int64_t success;
    struct orders_counts orders;
};

static void take_picture(struct daemon *d, struct picture *p)
{
    pthread_mutex_lock(&d->lock);
    p->status = d->status;
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_lock(&d->courier.lock);
    p->counts = d->courier.counts;
    p->hold = d->courier.hold;
    memcpy(p->why, d->courier.why, sizeof p->why);
    p->success = d->courier.success;
    p->left = d->courier.until - clock_mono();
    pthread_mutex_unlock(&d->courier.lock);
    p->paused = control_paused(&d->control); /* the loop may be in a request that takes long */
    p->orders = orders_counts(&d->orders);
}

static const char *state_of(const struct picture *p)
{
    return p->paused              ? "paused"
           : p->hold == HOLD_KEY  ? "alarm"
           : p->hold == HOLD_DISK ? "alarm"
           : p->hold == HOLD_WAIT ? "waiting"
           : p->status.draining   ? "draining"
                                  : "running";
}

void publish_status(void *arg, struct buf *out)
{
    struct daemon *d = arg;
    struct picture p;
    take_picture(d, &p);
    buf_str(out, "{\"version\":\"" GPUFL_VERSION "\",\"server\":");
    buf_json_str(out, d->options->kafka ? d->options->kafka : d->options->server);
    buf_printf(out, ",\"state\":\"%s\",\"hold\":\"%s\",\"why\":", state_of(&p), hold_names[p.hold]);
    buf_json_str(out, p.why);
    if (p.hold != HOLD_NONE && !p.paused)
        buf_printf(out, ",\"retry_in\":%.1f", p.left > 0 ? (double)p.left / NANOS : 0);
    buf_printf(out,
               ",\"sessions\":%" PRIu64 ",\"done\":%" PRIu64 ",\"open\":%" PRIu64
               ",\"blocked\":%" PRIu64 ",\"waiting_bytes\":%" PRId64,
               p.status.sessions, p.status.done, p.status.open, p.status.blocked,
               p.status.waiting_bytes);
    buf_printf(out, ",\"dead_letters\":%" PRIu64 ",\"dead_letter_bytes\":%" PRId64,
               p.status.letters, p.status.letter_bytes);
    buf_printf(out, ",\"unwatched\":%" PRIu64 ",\"unreadable\":%" PRIu64, p.status.unwatched,
               p.status.unreadable);
    if (p.success)
        buf_printf(out, ",\"last_success\":%.3f", (double)p.success / NANOS);
    buf_printf(out, ",\"captures\":%" PRIu64 ",\"captures_refused\":%" PRIu64, p.orders.captures,
               p.orders.refused);
    if (p.orders.configs_at)
        buf_printf(out, ",\"configs_at\":%.3f", (double)p.orders.configs_at / NANOS);
    if (p.orders.on) {
        buf_str(out, ",\"orders_why\":");
        buf_json_str(out, p.orders.why);
    }
    buf_str(out, ",\"counts\":{");
    const char *comma = "";
#define COUNT_PUT(name, help)                                                                      \
    buf_printf(out, "%s\"" #name "\":%" PRIu64, comma, p.counts.name);                             \
    comma = ",";
    COURIER_COUNTS(COUNT_PUT)
#undef COUNT_PUT
    buf_char(out, '}');
    keeper_put_status(d->keeper, out);
    buf_char(out, '}');
}

/* ---- metrics -------------------------------------------------------------------------------- */

static void put_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP gpufl_agent_%s %s\n# TYPE gpufl_agent_%s %s\n", name, help, name, type);
}

static void put_gauge(struct buf *b, const char *name, const char *help, double value)
{
    put_head(b, name, "gauge", help);
    buf_printf(b, "gpufl_agent_%s %.17g\n", name, value);
}

static void put_kafka(struct buf *b, const struct kafka_statistics *s)
{
    const struct {
        const char *name, *help;
        uint64_t value;
    } rows[] = {{"kafka_requests_total", "Requests to brokers.", s->requests},
                {"kafka_sent_bytes_total", "Bytes sent to brokers.", s->sent_bytes},
                {"kafka_received_bytes_total", "Bytes received from brokers.", s->received_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_head(b, rows[i].name, "counter", rows[i].help);
        buf_printf(b, "gpufl_agent_%s %" PRIu64 "\n", rows[i].name, rows[i].value);
    }
}

static void put_metrics(void *arg, struct buf *b)
{
    struct daemon *d = arg;
    struct picture p;
    take_picture(d, &p);
#define COUNT_PUT(name, help)                                                                      \
    put_head(b, #name "_total", "counter", help ".");                                              \
    buf_printf(b, "gpufl_agent_" #name "_total %" PRIu64 "\n", p.counts.name);
    COURIER_COUNTS(COUNT_PUT)
#undef COUNT_PUT
    put_gauge(b, "sessions", "Folders with a session below the sources.",
              (double)p.status.sessions);
    put_gauge(b, "sessions_done", "Sessions of which everything is on the server.",
              (double)p.status.done);
    put_gauge(b, "sessions_open", "Sessions that the agent keeps open.", (double)p.status.open);
    put_gauge(b, "channels_blocked", "Channels that cannot go on.", (double)p.status.blocked);
    put_gauge(b, "waiting_bytes", "Bytes on disk of the parts that are not sent completely.",
              (double)p.status.waiting_bytes);
    put_gauge(b, "dead_letters", "Dead letters that are kept.", (double)p.status.letters);
    put_gauge(b, "dead_letter_bytes", "Bytes of the dead letters that are kept.",
              (double)p.status.letter_bytes);
    put_gauge(b, "folders_unwatched",
              "Folders that inotify does not watch, so that they are read every half second.",
              (double)p.status.unwatched);
    put_gauge(b, "folders_unreadable", "Folders that could not be read.",
              (double)p.status.unreadable);
    put_gauge(b, "paused", "1 while somebody has paused the agent.", p.paused);
    put_gauge(b, "alarm",
              "1 while somebody must act: the server refuses the key or the request, or the state "
              "cannot be written.",
              p.hold == HOLD_KEY || p.hold == HOLD_DISK);
    put_gauge(b, "waiting", "1 while the agent waits before it asks the server again.",
              p.hold == HOLD_WAIT);
    put_gauge(b, "last_success_timestamp_seconds", "Time of the last good answer; 0: none yet.",
              (double)p.success / NANOS);
    put_head(b, "captures_total", "counter", "Requests for captures that sessions obeyed.");
    buf_printf(b, "gpufl_agent_captures_total %" PRIu64 "\n", p.orders.captures);
    put_head(b, "captures_refused_total", "counter",
             "Requests for captures that were refused or failed.");
    buf_printf(b, "gpufl_agent_captures_refused_total %" PRIu64 "\n", p.orders.refused);
    put_gauge(b, "configs_timestamp_seconds",
              "Time at which the server last answered about configurations; 0: not yet, or off.",
              (double)p.orders.configs_at / NANOS);
    put_gauge(b, "orders_alarm",
              "1 while configurations and requests for captures are not available from the server.",
              p.orders.on && *p.orders.why);
    put_gauge(b, "start_time_seconds", "Time at which the agent began.",
              (double)d->started / NANOS);
    keeper_put_metrics(d->keeper, b);
    if (d->options->kafka)
        put_kafka(b, &p.status.kafka);
    put_head(b, "build_info", "gauge", "The version, as a label.");
    buf_str(b, "gpufl_agent_build_info{version=\"" GPUFL_VERSION "\"} 1\n");
}

static bool put_health(void *arg, struct buf *b)
{
    struct daemon *d = arg;
    struct picture p;
    take_picture(d, &p);
    bool well = p.hold != HOLD_KEY && p.hold != HOLD_DISK;
    if (well && keeper_alarm(d->keeper, p.why, sizeof p.why))
        well = false;
    buf_printf(b, "{\"status\":\"%s\",\"state\":\"%s\",\"why\":", well ? "ok" : "alarm",
               state_of(&p));
    buf_json_str(b, p.why);
    buf_str(b, "}\n");
    return well;
}

int publish_check(const char *listen, struct err *e)
{
    char address[64], url[96];
    uint16_t port;
    int rc = listen_parse(listen, address, sizeof address, &port, e);
    if (rc)
        return rc;
    bool v6 = strchr(address, ':') != NULL;
    snprintf(url, sizeof url, "http://%s%s%s:1", v6 ? "[" : "", address, v6 ? "]" : "");
    if (!http_client_is_loopback(url))
        return err_set(e, GPUFL_E_INVAL,
                       "--listen %s: the agent answers on this machine alone (127.0.0.1, ::1)",
                       listen);
    return 0;
}

int publish_open(struct daemon *d, struct err *e)
{
    const struct metrics_page_config c = {.listen = d->options->listen,
                                          .arg = d,
                                          .fill = put_metrics,
                                          .health = put_health,
                                          .health_type = "application/json"};
    char url[160];
    if (!d->options->listen)
        return 0;
    int rc = publish_check(d->options->listen, e);
    if (!rc)
        rc = metrics_page_open(&d->page, &c, e);
    if (rc)
        return rc;
    metrics_page_url(d->page, url, sizeof url);
    printf("gpufl-agent: listening on %s\n", url);
    fflush(stdout);
    return 0;
}

void publish_close(struct daemon *d)
{
    metrics_page_close(d->page);
    d->page = NULL;
}
