/* producer.c - sends a message and waits for the brokers' answer; see kafka.h.
 *
 * One message is sent at a time: messages that cannot be sent wait in the log files, and no queue
 * grows. */
#include "base/alloc.h"
#include "base/log.h"
#include "net/kafka/library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 100, CLOSE_MS = 200, MOST = 1000000 /* librdkafka's default */ };

struct kafka_producer {
    const struct rdkafka *k;
    struct kafka_producer_config config;
    rd_kafka_t *rk; /* owned; NULL: the next message makes one */
    int64_t most;
    uintptr_t number; /* of the message that is being sent */
    bool answered, fatal;
    rd_kafka_resp_err_t answer;
    rd_kafka_resp_err_t error; /* the client's last error since a message was taken */
    char why[256];             /* of error */
    pthread_mutex_t lock;
    struct kafka_statistics statistics; /* guarded by lock */
};

/* ---- callbacks, inside poll ----------------------------------------------------------------- */

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
    struct kafka_producer *p = opaque;
    (void)rk;
    if ((uintptr_t)m->_private != p->number)
        return; /* the report is for a message that was given up */
    p->answered = true;
    p->answer = m->err;
}

static void on_error(rd_kafka_t *rk, int error, const char *reason, void *opaque)
{
    struct kafka_producer *p = opaque;
    (void)rk;
    p->fatal |= error == RD_KAFKA_RESP_ERR__FATAL;
    /* "All brokers down" has less information than the last broker's error. */
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && p->error)
        return;
    p->error = (rd_kafka_resp_err_t)error;
    snprintf(p->why, sizeof p->why, "%s", reason);
}

static int on_statistics(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    struct kafka_producer *p = opaque;
    (void)rk;
    pthread_mutex_lock(&p->lock);
    rdkafka_statistics(json, len, &p->statistics);
    pthread_mutex_unlock(&p->lock);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

static void read_most(struct kafka_producer *p, const rd_kafka_conf_t *conf)
{
    char text[32] = "";
    size_t size = sizeof text;
    bool known = p->k->conf_get(conf, "message.max.bytes", text, &size) == RD_KAFKA_CONF_OK;
    long long n = known ? strtoll(text, NULL, 10) : 0;
    p->most = n > 0 ? n : MOST;
}

static int open_client(struct kafka_producer *p, struct err *e)
{
    char timeout[24];
    const struct rdkafka_property own[] = {{"acks", "all"},
                                           {"enable.idempotence", "true"},
                                           {"linger.ms", "0"},
                                           {"message.timeout.ms", timeout},
                                           {"partitioner", "murmur2_random"},
                                           {"statistics.interval.ms", "5000"},
                                           {0}};
    rd_kafka_conf_t *conf;
    snprintf(timeout, sizeof timeout, "%lld", (long long)(p->config.timeout_ns / 1000000));
    int rc = rdkafka_configure(p->k, &p->config.common, own, &conf, e);
    if (rc)
        return rc;
    read_most(p, conf);
    p->k->conf_set_opaque(conf, p);
    p->k->conf_set_dr_msg_cb(conf, on_delivery);
    p->k->conf_set_error_cb(conf, on_error);
    p->k->conf_set_stats_cb(conf, on_statistics);
    return rdkafka_client(p->k, RD_KAFKA_PRODUCER, conf, &p->rk, e);
}

static void close_client(struct kafka_producer *p)
{
    if (!p->rk)
        return;
    p->k->purge(p->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    p->k->poll(p->rk, CLOSE_MS);
    p->k->destroy_flags(p->rk, 0);
    p->rk = NULL;
    p->fatal = false;
}

int kafka_producer_open(struct kafka_producer **out, const struct kafka_producer_config *c,
                        struct err *e)
{
    const struct rdkafka *k;
    *out = NULL;
    int rc = rdkafka_open(&k, e);
    if (rc)
        return rc;
    struct kafka_producer *p = mem_zalloc(sizeof *p);
    if (!p)
        return err_nomem(e);
    p->k = k;
    p->config = *c;
    pthread_mutex_init(&p->lock, NULL);
    rc = open_client(p, e);
    if (rc) {
        kafka_producer_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void kafka_producer_close(struct kafka_producer *p)
{
    if (!p)
        return;
    close_client(p);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

int64_t kafka_producer_most(const struct kafka_producer *p)
{
    return p->most;
}

void kafka_producer_tick(struct kafka_producer *p)
{
    if (p->rk)
        p->k->poll(p->rk, 0);
}

void kafka_producer_statistics(struct kafka_producer *p, struct kafka_statistics *out)
{
    pthread_mutex_lock(&p->lock);
    *out = p->statistics;
    pthread_mutex_unlock(&p->lock);
}

/* ---- sending -------------------------------------------------------------------------------- */

static enum kafka_verdict verdict_of(rd_kafka_resp_err_t error)
{
    static const struct {
        rd_kafka_resp_err_t error;
        enum kafka_verdict verdict;
    } rows[] = {
        {RD_KAFKA_RESP_ERR_NO_ERROR, KAFKA_TAKEN},
        {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, KAFKA_TOO_LARGE},
        {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, KAFKA_TOO_LARGE},
        {RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE, KAFKA_TOO_LARGE},
        {RD_KAFKA_RESP_ERR_INVALID_RECORD, KAFKA_REFUSED},
        {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, KAFKA_REFUSED},
        {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, KAFKA_NO_TOPIC},
        {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, KAFKA_NO_TOPIC},
        {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, KAFKA_NO_TOPIC},
        {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, KAFKA_NO_TOPIC},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return rows[i].verdict;
    return rdkafka_forbids(error) ? KAFKA_FORBIDDEN : KAFKA_WAIT;
}

static enum kafka_verdict conclude(struct kafka_producer *p, const struct kafka_outgoing *m,
                                   rd_kafka_resp_err_t error, struct err *e)
{
    enum kafka_verdict v = verdict_of(error);
    if (v == KAFKA_TAKEN) {
        p->error = RD_KAFKA_RESP_ERR_NO_ERROR;
        return v;
    }
    bool own = v == KAFKA_WAIT && p->error;
    if (own && rdkafka_forbids(p->error))
        v = KAFKA_FORBIDDEN;
    err_set(e, v == KAFKA_FORBIDDEN ? GPUFL_E_PERM : GPUFL_E_UNAVAILABLE, "topic %.80s: %s%s%.200s",
            m->topic, p->k->err2str(error), own ? ": " : "", own ? p->why : "");
    if (p->fatal)
        close_client(p);
    return v;
}

static rd_kafka_headers_t *make_headers(const struct rdkafka *k, const struct kafka_outgoing *m)
{
    rd_kafka_headers_t *h = k->headers_new(m->header_count);
    for (unsigned i = 0; h && i < m->header_count; i++)
        if (k->header_add(h, m->headers[i].name, -1, m->headers[i].value, -1)) {
            k->headers_destroy(h);
            return NULL;
        }
    return h;
}

enum kafka_verdict kafka_send(struct kafka_producer *p, const struct kafka_outgoing *m,
                              struct err *e)
{
    const struct rdkafka *k = p->k;
    if (!p->rk && open_client(p, e))
        return KAFKA_WAIT;
    rd_kafka_headers_t *headers = make_headers(k, m);
    if (!headers) {
        err_nomem(e);
        return KAFKA_WAIT;
    }
    p->number++;
    p->answered = false;
    rd_kafka_resp_err_t error =
        k->producev(p->rk, RD_KAFKA_V_TOPIC(m->topic), RD_KAFKA_V_KEY(m->key, strlen(m->key)),
                    RD_KAFKA_V_VALUE((void *)m->data, m->len), RD_KAFKA_V_HEADERS(headers),
                    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE((void *)p->number),
                    RD_KAFKA_V_END);
    if (error) {
        k->headers_destroy(headers);
        return conclude(p, m, error, e);
    }
    while (!p->answered) {
        k->poll(p->rk, POLL_MS);
        if (!p->answered && p->config.stop && *p->config.stop)
            return KAFKA_STOPPED;
    }
    return conclude(p, m, p->answer, e);
}
