/* consumer.c - is a member of a group that reads topics; see kafka.h.
 *
 * The owner stores offsets after the messages are durable; librdkafka commits stored offsets every
 * second, when partitions go to another member, and at the end. */
#include "base/alloc.h"
#include "base/log.h"
#include "net/kafka/library.h"

#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX = 512, COMMITTED_MS = 2000, NOT_KNOWN = -1 };

struct kafka_consumer {
    const struct rdkafka *k;
    struct kafka_consumer_config config;
    rd_kafka_t *rk; /* owned */
    /* Owned; NULL: none; an offset is after the messages taken; an opaque: there were some. */
    rd_kafka_topic_partition_list_t *assigned;
    /* Changed: messages were taken since the last store. */
    bool held, changed;
    unsigned members; /* assignments so far */
    struct kafka_consumer_state state;
};

/* ---- callbacks, inside consumer_poll -------------------------------------------------------- */

static void drop_assigned(struct kafka_consumer *c)
{
    if (c->assigned)
        c->k->topic_partition_list_destroy(c->assigned);
    c->assigned = NULL;
}

/* Reads the group's committed offsets, for the lag; the client itself reads them on its own. */
static void find_committed(struct kafka_consumer *c)
{
    if (!c->assigned || !c->k->committed(c->rk, c->assigned, COMMITTED_MS))
        return;
    for (int i = 0; i < c->assigned->cnt; i++)
        c->assigned->elems[i].offset = NOT_KNOWN;
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
                         rd_kafka_topic_partition_list_t *parts, void *opaque)
{
    struct kafka_consumer *c = opaque;
    c->state.rebalances++;
    if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        drop_assigned(c);
        c->assigned = c->k->topic_partition_list_copy(parts);
        find_committed(c);
        c->k->assign(rk, parts);
        if (c->held)
            c->k->pause_partitions(rk, parts);
        return;
    }
    if (c->config.revoked)
        c->config.revoked(c->config.arg);
    c->members++;
    c->k->assign(rk, NULL);
    drop_assigned(c);
}

static void note_error(struct kafka_consumer *c, const char *text)
{
    c->state.errors++;
    snprintf(c->state.error, sizeof c->state.error, "%s", text);
    log_warn("Kafka: %s", text);
}

static void on_error(rd_kafka_t *rk, int error, const char *reason, void *opaque)
{
    (void)rk;
    (void)error;
    note_error(opaque, reason);
}

static int on_statistics(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    struct kafka_consumer *c = opaque;
    (void)rk;
    rdkafka_statistics(json, len, &c->state.statistics);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

/* Makes the pattern "^PREFIX[0-9A-Za-z_-]+$". */
static void make_pattern(const char *prefix, char out[PATTERN_MAX])
{
    size_t n = 0;
    out[n++] = '^';
    for (; *prefix && n + 32 < PATTERN_MAX; prefix++) {
        if (*prefix == '.')
            out[n++] = '\\';
        out[n++] = *prefix;
    }
    snprintf(out + n, PATTERN_MAX - n, "[0-9A-Za-z_-]+$");
}

static int open_client(struct kafka_consumer *c, struct err *e)
{
    const struct rdkafka_property own[] = {{"group.id", c->config.group},
                                           {"auto.offset.reset", "earliest"},
                                           {"enable.auto.commit", "true"},
                                           {"auto.commit.interval.ms", "1000"},
                                           {"enable.auto.offset.store", "false"},
                                           {"enable.partition.eof", "false"},
                                           /* The topics of a session's channels have equal numbers
                                            * of partitions, so that all of them go to one
                                            * member. */
                                           {"partition.assignment.strategy", "range"},
                                           {"statistics.interval.ms", "5000"},
                                           {0}};
    rd_kafka_conf_t *conf;
    int rc = rdkafka_configure(c->k, &c->config.common, own, &conf, e);
    if (rc)
        return rc;
    c->k->conf_set_opaque(conf, c);
    c->k->conf_set_error_cb(conf, on_error);
    c->k->conf_set_rebalance_cb(conf, on_rebalance);
    c->k->conf_set_stats_cb(conf, on_statistics);
    return rdkafka_client(c->k, RD_KAFKA_CONSUMER, conf, &c->rk, e);
}

static int subscribe(struct kafka_consumer *c, struct err *e)
{
    char pattern[PATTERN_MAX];
    make_pattern(c->config.prefix, pattern);
    rd_kafka_topic_partition_list_t *topics = c->k->topic_partition_list_new(1);
    if (!topics)
        return err_nomem(e);
    c->k->topic_partition_list_add(topics, pattern, RD_KAFKA_PARTITION_UA);
    c->k->poll_set_consumer(c->rk);
    rd_kafka_resp_err_t error = c->k->subscribe(c->rk, topics);
    c->k->topic_partition_list_destroy(topics);
    return error ? err_set(e, GPUFL_E_UNAVAILABLE, "Kafka: %s", c->k->err2str(error)) : 0;
}

int kafka_consumer_open(struct kafka_consumer **out, const struct kafka_consumer_config *config,
                        struct err *e)
{
    const struct rdkafka *k;
    *out = NULL;
    int rc = rdkafka_open(&k, e);
    if (rc)
        return rc;
    struct kafka_consumer *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    c->k = k;
    c->config = *config;
    c->state.lag = -1;
    rc = open_client(c, e);
    if (!rc)
        rc = subscribe(c, e);
    if (rc) {
        kafka_consumer_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void kafka_consumer_close(struct kafka_consumer *c)
{
    if (!c)
        return;
    if (c->rk) {
        c->k->consumer_close(c->rk);
        c->k->destroy_flags(c->rk, 0);
    }
    drop_assigned(c);
    mem_free(c);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void read_headers(const struct rdkafka *k, const rd_kafka_message_t *raw,
                         struct kafka_message *m)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    if (k->message_headers(raw, &headers))
        return;
    for (size_t i = 0; !k->header_get_all(headers, i, &name, &value, &size); i++) {
        bool text = value && !memchr(value, '\0', size);
        if (!text || m->header_count == KAFKA_HEADERS) {
            m->odd = true;
            continue;
        }
        m->headers[m->header_count++] = (struct kafka_header){name, value};
    }
}

/* A message that came in spite of a hold is fetched again later. */
static void give_back(struct kafka_consumer *c, const rd_kafka_message_t *raw)
{
    rd_kafka_topic_partition_list_t *one = c->k->topic_partition_list_new(1);
    if (!one)
        return;
    c->k->topic_partition_list_add(one, c->k->topic_name(raw->rkt), raw->partition)->offset =
        raw->offset;
    (void)c->k->seek_partitions(c->rk, one, 1000);
    c->k->topic_partition_list_destroy(one);
}

bool kafka_consumer_next(struct kafka_consumer *c, int timeout_ms, struct kafka_message *m)
{
    rd_kafka_message_t *raw = c->k->consumer_poll(c->rk, timeout_ms);
    if (!raw)
        return false;
    if (raw->err) {
        if (raw->err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
            note_error(c, raw->len ? (const char *)raw->payload : c->k->err2str(raw->err));
        c->k->message_destroy(raw);
        return false;
    }
    if (c->held) {
        give_back(c, raw);
        c->k->message_destroy(raw);
        return false;
    }
    rd_kafka_timestamp_type_t kind;
    c->state.error[0] = '\0';
    *m = (struct kafka_message){.topic = c->k->topic_name(raw->rkt),
                                .partition = raw->partition,
                                .offset = raw->offset,
                                .at = c->k->message_timestamp(raw, &kind),
                                .data = raw->payload ? raw->payload : "",
                                .len = raw->payload ? raw->len : 0,
                                .raw = raw,
                                .members = c->members};
    read_headers(c->k, raw, m);
    return true;
}

void kafka_message_done(struct kafka_message *m)
{
    const struct rdkafka *k;
    if (m->raw && !rdkafka_open(&k, NULL))
        k->message_destroy(m->raw);
    m->raw = NULL;
}

static rd_kafka_topic_partition_t *partition_of(const struct kafka_consumer *c,
                                                const struct kafka_message *m)
{
    return c->assigned ? c->k->topic_partition_list_find(c->assigned, m->topic, m->partition)
                       : NULL;
}

bool kafka_consumer_lost(const struct kafka_consumer *c, const struct kafka_message *m)
{
    return m->members != c->members || !partition_of(c, m);
}

void kafka_consumer_taken(struct kafka_consumer *c, const struct kafka_message *m)
{
    rd_kafka_topic_partition_t *p = kafka_consumer_lost(c, m) ? NULL : partition_of(c, m);
    if (!p)
        return;
    p->offset = m->offset + 1;
    p->opaque = c;
    c->changed = true;
}

void kafka_consumer_store(struct kafka_consumer *c)
{
    if (!c->changed || !c->assigned)
        return;
    rd_kafka_topic_partition_list_t *taken = c->k->topic_partition_list_new(c->assigned->cnt);
    for (int i = 0; taken && i < c->assigned->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &c->assigned->elems[i];
        if (p->opaque)
            c->k->topic_partition_list_add(taken, p->topic, p->partition)->offset = p->offset;
    }
    rd_kafka_resp_err_t error = taken ? c->k->offsets_store(c->rk, taken) : RD_KAFKA_RESP_ERR__FAIL;
    if (error)
        log_warn("Kafka: offsets were not stored: %s; these messages come again",
                 c->k->err2str(error));
    c->changed = error != 0;
    if (taken)
        c->k->topic_partition_list_destroy(taken);
}

void kafka_consumer_hold(struct kafka_consumer *c, bool held)
{
    if (c->held == held)
        return;
    c->held = held;
    if (c->assigned && held)
        c->k->pause_partitions(c->rk, c->assigned);
    else if (c->assigned)
        c->k->resume_partitions(c->rk, c->assigned);
}

/* Returns the number of messages of the partition that were not taken; -1: not known. */
static int64_t lag_of(struct kafka_consumer *c, const rd_kafka_topic_partition_t *p)
{
    int64_t low = -1, high = -1;
    if (c->k->get_watermark_offsets(c->rk, p->topic, p->partition, &low, &high) || high < 0 ||
        p->offset == NOT_KNOWN)
        return -1;
    int64_t from = p->offset > low ? p->offset : low; /* nothing committed: from the first one */
    return high > from ? high - (from > 0 ? from : 0) : 0;
}

void kafka_consumer_state(struct kafka_consumer *c, struct kafka_consumer_state *out)
{
    bool some = false;
    c->state.lag = 0;
    c->state.partitions = c->assigned ? (unsigned)c->assigned->cnt : 0;
    for (unsigned i = 0; i < c->state.partitions; i++) {
        int64_t lag = lag_of(c, &c->assigned->elems[i]);
        some |= lag >= 0;
        c->state.lag += lag > 0 ? lag : 0;
    }
    c->state.lag = some ? c->state.lag : -1;
    *out = c->state;
}
