/* receiver.c - see receiver.h. */
#include "server/kafka/receiver.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process/thread.h"
#include "net/kafka/kafka.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 256, BATCH_BYTES = 8 << 20, POLL_MS = 200, WORKSPACES_MOST = 1 << 20 };

static const int64_t SECOND = 1000000000;
static const int64_t RETRY_LEAST = 500000000, RETRY_MOST = 60000000000; /* ns */

/* This is the status for other threads. */
struct picture {
    struct kafka_consumer_state kafka;
    struct take_counts takes;
    struct spool_counts spool;
    uint64_t messages, bytes, unsound;
    int64_t last; /* CLOCK_REALTIME ns of the last message that was taken; 0: none yet */
    bool held;
    char why[TAKE_WHY]; /* of held, or of not being connected */
};

struct receiver {
    struct receiver_config config;
    char folder[PATH_MAX];
    struct thread thread;
    atomic_bool ending; /* relaxed: a hint */
    struct wakeup end;
    struct taker taker;
    struct kafka_consumer *consumer; /* owned; NULL: not open yet */
    unsigned taken;                  /* messages since the last sync */
    int64_t taken_bytes;
    int64_t retry_at, retry_wait; /* of what waits in the spool */
    struct picture now;           /* the thread's */

    pthread_mutex_t lock;
    struct picture shown; /* guarded by lock */
};

static bool is_ending(struct receiver *r)
{
    return atomic_load_explicit(&r->ending, memory_order_relaxed);
}

static void show(struct receiver *r)
{
    if (r->consumer)
        kafka_consumer_state(r->consumer, &r->now.kafka);
    r->now.takes = r->taker.counts;
    spool_counts(r->taker.spool, &r->now.spool);
    pthread_mutex_lock(&r->lock);
    r->shown = r->now;
    pthread_mutex_unlock(&r->lock);
}

/* ---- durable ------------------------------------------------------------------------------- */

/* Makes the messages taken durable, and lets their offsets be committed. False: that failed. */
static bool keep(struct receiver *r)
{
    struct err e = {0};
    if (!r->taken)
        return true;
    int rc = ingest_sync(r->config.intake->ingest, &e);
    if (!rc)
        rc = spool_sync(r->taker.spool, &e);
    if (rc) {
        log_error("Kafka: what was taken is not durable, and will come again: %s", e.text);
        return false;
    }
    kafka_consumer_store(r->consumer);
    r->taken = 0;
    r->taken_bytes = 0;
    return true;
}

static void on_revoked(void *arg)
{
    struct receiver *r = arg;
    (void)keep(r);
    r->taken = 0; /* messages without a stored offset come again, perhaps to another member */
    r->taken_bytes = 0;
}

static int durable(void *arg)
{
    struct receiver *r = arg;
    struct err e = {0};
    int rc = ingest_sync(r->config.intake->ingest, &e);
    return rc ? rc : spool_sync(r->taker.spool, &e);
}

/* ---- a message ----------------------------------------------------------------------------- */

static enum take_result to_spool(struct receiver *r, const struct spool_item *item, bool waits,
                                 char why[TAKE_WHY])
{
    struct err e = {0};
    int rc = waits ? spool_put_waiting(r->taker.spool, item, &e)
                   : spool_put_refused(r->taker.spool, item, &e);
    if (!rc)
        return TAKE_DONE;
    snprintf(why, TAKE_WHY, "%s", e.text);
    return TAKE_LATER;
}

static enum take_result take_once(struct receiver *r, struct spool_item *item, char why[TAKE_WHY])
{
    const struct receiver_config *c = &r->config;
    struct err e = {0};
    if (spool_is_full(r->taker.spool)) {
        snprintf(why, TAKE_WHY,
                 "what was refused or waits in %.150s has reached --kafka-keep: look into it",
                 r->folder);
        return TAKE_LATER;
    }
    if (!item->in)
        return to_spool(r, item, false, why);
    if (c->admit && c->admit(c->arg, r->taker.workspace, item->in, &e)) {
        snprintf(why, TAKE_WHY, "%s", e.text);
        return TAKE_LATER;
    }
    enum take_result result = take_message(&r->taker, item, why);
    if (result == TAKE_WAITS) {
        item->reason = why;
        r->retry_wait = RETRY_LEAST;
        r->retry_at = clock_mono() + RETRY_LEAST;
        return to_spool(r, item, true, why);
    }
    if (result == TAKE_DONE && c->taken)
        c->taken(c->arg, r->taker.workspace, item->in, (int64_t)item->len);
    return result;
}

/* Waits until a message can be taken, and stays a member of the group. False: the message goes to
 * another member, or the end has come. */
static bool hold(struct receiver *r, const struct kafka_message *m, struct spool_item *item,
                 char why[TAKE_WHY])
{
    struct kafka_message none;
    enum take_result result = TAKE_LATER;
    log_warn("Kafka: nothing is taken at the moment: %s", why);
    (void)keep(r);
    kafka_consumer_hold(r->consumer, true);
    r->now.held = true;
    while (result == TAKE_LATER && !is_ending(r) && !kafka_consumer_lost(r->consumer, m)) {
        snprintf(r->now.why, sizeof r->now.why, "%s", why);
        show(r);
        (void)kafka_consumer_next(r->consumer, POLL_MS, &none); /* nothing comes while it is held */
        if (!kafka_consumer_lost(r->consumer, m))
            result = take_once(r, item, why);
    }
    kafka_consumer_hold(r->consumer, false);
    r->now.held = false;
    r->now.why[0] = '\0';
    return result == TAKE_DONE;
}

static void handle(struct receiver *r, struct kafka_message *m)
{
    char why[TAKE_WHY] = "";
    struct inbound in;
    struct err e = {0};
    struct spool_item item = {.in = &in,
                              .from = {m->topic, m->partition, m->offset},
                              .headers = m->headers,
                              .header_count = m->header_count,
                              .data = m->data,
                              .len = m->len};
    if (m->odd)
        err_set(&e, GPUFL_E_INVAL, "its headers are too many, or no texts");
    if (m->odd || inbound_read(m->headers, m->header_count, &in, &e)) {
        log_each(LOG_WARN, "Kafka: a message of topic %s is set aside: %s", m->topic, e.text);
        item.in = NULL;
        item.reason = e.text;
    }
    if (take_once(r, &item, why) == TAKE_LATER && !hold(r, m, &item, why))
        return;
    r->now.unsound += !item.in;
    r->now.messages++;
    r->now.bytes += m->len;
    r->now.last = clock_real();
    kafka_consumer_taken(r->consumer, m);
    r->taken++;
    r->taken_bytes += (int64_t)m->len;
}

/* ---- what waits ---------------------------------------------------------------------------- */

static enum spool_step take_waiting(void *arg, const struct spool_item *item)
{
    struct receiver *r = arg;
    char why[TAKE_WHY];
    switch (take_message(&r->taker, item, why)) {
    case TAKE_DONE:
        return SPOOL_TAKEN;
    case TAKE_WAITS:
        return SPOOL_KEEP;
    default:
        return SPOOL_STOP;
    }
}

static void retry_waiting(struct receiver *r)
{
    const struct spool_walk walk = {.arg = r, .take = take_waiting, .durable = durable};
    int64_t now = clock_mono();
    if (!spool_waiting(r->taker.spool) || now < r->retry_at)
        return;
    bool some = spool_retry(r->taker.spool, &walk) > 0;
    r->retry_wait = some || !r->retry_wait ? RETRY_LEAST : 2 * r->retry_wait;
    r->retry_wait = r->retry_wait < RETRY_MOST ? r->retry_wait : RETRY_MOST;
    r->retry_at = now + r->retry_wait;
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* Finds the workspace by id or name. */
static bool find_workspace(struct receiver *r)
{
    struct region mem;
    struct err e = {0};
    struct meta_workspace *rows = NULL;
    size_t count = 0;
    region_init(&mem, WORKSPACES_MOST);
    const struct meta_ask ask = {.m = r->config.meta, .mem = &mem, .e = &e};
    int rc = meta_workspace_list(&ask, &rows, &count);
    for (size_t i = 0; !rc && i < count; i++)
        if (strcmp(rows[i].id, r->config.workspace) == 0 ||
            strcmp(rows[i].name, r->config.workspace) == 0)
            snprintf(r->taker.workspace, sizeof r->taker.workspace, "%s", rows[i].id);
    region_fini(&mem);
    if (*r->taker.workspace)
        return true;
    snprintf(r->now.why, sizeof r->now.why, "there is no workspace '%.100s' yet",
             r->config.workspace);
    if (rc)
        snprintf(r->now.why, sizeof r->now.why, "the workspaces cannot be read");
    return false;
}

static bool is_open(struct receiver *r)
{
    const struct receiver_config *c = &r->config;
    const struct kafka_consumer_config config = {
        .common = {.brokers = c->brokers, .file = c->properties, .client = "gpufl-server"},
        .group = c->group,
        .prefix = c->prefix,
        .arg = r,
        .revoked = on_revoked};
    struct err e = {0};
    if (r->consumer)
        return true;
    if (!*r->taker.workspace && !find_workspace(r)) {
        log_each(LOG_WARN, "Kafka: nothing is taken: %s", r->now.why);
        return false;
    }
    if (kafka_consumer_open(&r->consumer, &config, &e)) {
        log_each(LOG_ERROR, "Kafka: %s", e.text);
        snprintf(r->now.why, sizeof r->now.why, "%s", e.text);
        return false;
    }
    log_note("Kafka: reads topics %s* of %s into workspace %s, as group %s", c->prefix, c->brokers,
             r->taker.workspace, c->group);
    r->now.why[0] = '\0';
    return true;
}

static void step(struct receiver *r)
{
    struct kafka_message m;
    bool got = kafka_consumer_next(r->consumer, r->taken ? 0 : POLL_MS, &m);
    if (got) {
        handle(r, &m);
        kafka_message_done(&m);
    }
    if ((!got || r->taken >= BATCH || r->taken_bytes >= BATCH_BYTES) && !keep(r))
        (void)wakeup_wait(&r->end, SECOND);
    retry_waiting(r);
}

static void *run(void *arg)
{
    struct receiver *r = arg;
    int64_t shown = 0;
    while (!is_ending(r)) {
        bool open = is_open(r);
        if (open)
            step(r);
        int64_t now = clock_mono();
        if (!open || now - shown > SECOND / 4) {
            show(r);
            shown = now;
        }
        if (!open)
            (void)wakeup_wait(&r->end, SECOND);
    }
    if (r->consumer)
        (void)keep(r);
    kafka_consumer_close(r->consumer);
    r->consumer = NULL;
    return NULL;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int check(const struct receiver_config *c, struct err *e)
{
    const struct kafka_config k = {
        .brokers = c->brokers, .file = c->properties, .client = "gpufl-server"};
    if (!c->workspace || !*c->workspace)
        return err_set(e, GPUFL_E_INVAL,
                       "--kafka needs --kafka-workspace: to whom do the topics belong?");
    if (!c->group || !*c->group)
        return err_set(e, GPUFL_E_INVAL, "--kafka-group: a name");
    int rc = kafka_check_config(&k, e);
    return rc ? rc : kafka_check_prefix(c->prefix, e);
}

int receiver_open(struct receiver **out, const struct receiver_config *c, struct err *e)
{
    *out = NULL;
    int rc = check(c, e);
    if (rc)
        return rc;
    struct receiver *r = mem_zalloc(sizeof *r);
    if (!r)
        return err_nomem(e);
    r->config = *c;
    snprintf(r->folder, sizeof r->folder, "%s", c->folder);
    r->taker.intake = c->intake;
    r->now.kafka.lag = r->shown.kafka.lag = -1;
    pthread_mutex_init(&r->lock, NULL);
    if (wakeup_init(&r->end)) {
        pthread_mutex_destroy(&r->lock);
        mem_free(r);
        return err_nomem(e);
    }
    rc = spool_open(&r->taker.spool, c->folder, c->keep, e);
    if (!rc) {
        show(r);
        if (thread_start(&r->thread, "kafka", 0, run, r))
            rc = err_set(e, GPUFL_E_NOMEM, "Kafka: %s", thread_refusal());
    }
    if (rc) {
        receiver_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void receiver_close(struct receiver *r)
{
    if (!r)
        return;
    atomic_store_explicit(&r->ending, true, memory_order_relaxed);
    wakeup_signal(&r->end);
    thread_join(&r->thread);
    spool_close(r->taker.spool);
    taker_fini(&r->taker);
    wakeup_fini(&r->end);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

/* ---- what it says of itself ---------------------------------------------------------------- */

static void take_picture(struct receiver *r, struct picture *p)
{
    pthread_mutex_lock(&r->lock);
    *p = r->shown;
    pthread_mutex_unlock(&r->lock);
}

void receiver_json(struct receiver *r, struct buf *out)
{
    struct picture p;
    take_picture(r, &p);
    const char *why = *p.why ? p.why : p.kafka.error;
    buf_printf(out, "{\"partitions\":%u,\"lag\":", p.kafka.partitions);
    if (p.kafka.lag < 0)
        buf_str(out, "null");
    else
        buf_i64(out, p.kafka.lag);
    buf_printf(out, ",\"held\":%s,\"waiting\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"why\":",
               p.held ? "true" : "false", p.spool.waiting, p.spool.refused);
    buf_json_str(out, why);
    buf_char(out, '}');
}

void receiver_metrics(struct receiver *r, struct buf *out,
                      void (*number)(struct buf *out, const char *name, const char *type,
                                     const char *help, double value))
{
    struct picture p;
    take_picture(r, &p);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"gpufl_kafka_messages_total", "counter", "Messages taken from Kafka.", (double)p.messages},
        {"gpufl_kafka_bytes_total", "counter", "Bytes of the messages taken from Kafka.",
         (double)p.bytes},
        {"gpufl_kafka_lines_total", "counter", "Lines that were accepted from messages.",
         (double)p.takes.lines},
        {"gpufl_kafka_repeated_total", "counter", "Messages that were there already.",
         (double)p.takes.repeated},
        {"gpufl_kafka_refused_lines_total", "counter", "Lines set aside.",
         (double)p.takes.refused_lines},
        {"gpufl_kafka_refused_messages_total", "counter", "Messages set aside as wholes.",
         (double)(p.takes.refused + p.unsound)},
        {"gpufl_kafka_deleted_total", "counter", "Messages of sessions that were deleted.",
         (double)p.takes.gone},
        {"gpufl_kafka_refused_files", "gauge", "Lines and messages that are set aside now.",
         (double)p.spool.refused},
        {"gpufl_kafka_waiting_files", "gauge", "Messages that wait for what comes before them.",
         (double)p.spool.waiting},
        {"gpufl_kafka_kept_bytes", "gauge", "Bytes of both on the disk.", (double)p.spool.bytes},
        {"gpufl_kafka_partitions", "gauge", "Partitions that this server reads.",
         p.kafka.partitions},
        {"gpufl_kafka_lag_messages", "gauge", "Messages in them not taken yet; -1: unknown.",
         (double)p.kafka.lag},
        {"gpufl_kafka_held", "gauge", "1 while messages cannot be taken.", p.held},
        {"gpufl_kafka_rebalances_total", "counter", "Times that partitions were given or taken.",
         (double)p.kafka.rebalances},
        {"gpufl_kafka_errors_total", "counter", "Errors that the brokers' client reported.",
         (double)p.kafka.errors},
        {"gpufl_kafka_requests_total", "counter", "Requests to brokers.",
         (double)p.kafka.statistics.requests},
        {"gpufl_kafka_sent_bytes_total", "counter", "Bytes sent to brokers.",
         (double)p.kafka.statistics.sent_bytes},
        {"gpufl_kafka_received_bytes_total", "counter", "Bytes received from brokers.",
         (double)p.kafka.statistics.received_bytes},
        {"gpufl_kafka_last_message_timestamp_seconds", "gauge",
         "Time at which the last message was taken; 0: none yet.", (double)p.last / 1e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        number(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}
