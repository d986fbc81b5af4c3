/* library.c - see library.h. */
#include "net/kafka/library.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process/dl.h"

#include <ctype.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST = 64 << 10, NAME_MOST = 128, REASON = 512, PREFIX_MOST = 128 };
enum { NS_A_MS = 1000000, PROBE_STEP_MS = 500, PROBE_SLOW_MS = 2000 };
enum { PROBE_DOWN_MS = 3000, PROBE_MOST_MS = 10000 };

/* ---- the library ---------------------------------------------------------------------------- */

static struct rdkafka rdkafka; /* constant once it was opened */
static bool opened;            /* guarded by lock */

static int open_library(struct err *e)
{
    static const char *const names[] = {"librdkafka.so.1", NULL};
    static const struct dl_symbol symbols[] = {
#define RDKAFKA_SYMBOL(name) {"rd_kafka_" #name, offsetof(struct rdkafka, name), true},
        RDKAFKA_FUNCTIONS(RDKAFKA_SYMBOL)
#undef RDKAFKA_SYMBOL
    };
    struct err why = {0};
    void *library = opened ? NULL : dl_open_first(names, NULL, 0, &why);
    if (library && !dl_fill(library, symbols, sizeof symbols / sizeof *symbols, &rdkafka, &why))
        opened = true;
    return opened ? 0
                  : err_set(e, GPUFL_E_NOT_BUILT,
                            "Kafka needs librdkafka; install librdkafka1, 1.6 or newer (%s)",
                            why.text);
}

int rdkafka_open(const struct rdkafka **out, struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int rc = open_library(e);
    pthread_mutex_unlock(&lock);
    *out = rc ? NULL : &rdkafka;
    return rc;
}

/* ---- what it says --------------------------------------------------------------------------- */

/* Severities are syslog's. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    if (level <= 4) /* warning */
        log_warn("Kafka: %s: %s", facility, text);
    else
        log_debug("Kafka: %s: %s", facility, text);
}

static bool take_statistic(struct json *j, const char *key, struct json_value v, void *to)
{
    struct kafka_statistics *s = to;
    const struct {
        const char *key;
        uint64_t *number;
    } rows[] = {
        {"tx", &s->requests}, {"tx_bytes", &s->sent_bytes}, {"rx_bytes", &s->received_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(key, rows[i].key) == 0 && v.type == JSON_INT && v.integer >= 0) {
            *rows[i].number = (uint64_t)v.integer;
            return true;
        }
    return json_skip(j, v);
}

void rdkafka_statistics(const char *json, size_t len, struct kafka_statistics *out)
{
    json_document(json, len, take_statistic, out);
}

bool rdkafka_forbids(rd_kafka_resp_err_t error)
{
    static const rd_kafka_resp_err_t rows[] = {RD_KAFKA_RESP_ERR__AUTHENTICATION,
                                               RD_KAFKA_RESP_ERR__SSL,
                                               RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
                                               RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
                                               RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                                               RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i] == error)
            return true;
    return false;
}

/* ---- the configuration ---------------------------------------------------------------------- */

/* Lists properties that the file may not set: the brokers, and those that prevent lost and repeated
 * messages. The last one would load code. */
static const char *const owned[] = {"bootstrap.servers",
                                    "metadata.broker.list",
                                    "group.id",
                                    "acks",
                                    "request.required.acks",
                                    "enable.idempotence",
                                    "enable.gapless.guarantee",
                                    "transactional.id",
                                    "message.timeout.ms",
                                    "delivery.timeout.ms",
                                    "linger.ms",
                                    "queue.buffering.max.ms",
                                    "partitioner",
                                    "partition.assignment.strategy",
                                    "enable.auto.commit",
                                    "auto.commit.enable",
                                    "enable.auto.offset.store",
                                    "auto.offset.reset",
                                    "enable.partition.eof",
                                    "statistics.interval.ms",
                                    "log.queue",
                                    "plugin.library.paths"};

static int set_own(const struct rdkafka *k, rd_kafka_conf_t *conf, const char *name,
                   const char *value, struct err *e)
{
    char reason[REASON] = "";
    if (k->conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
        return 0;
    return err_set(e, GPUFL_E_INVAL, "Kafka: %s", reason);
}

/* This is a line of the user's file. */
struct config_line {
    const char *path;
    unsigned number;
};

/* The sentence has the name, never the value. */
static int set_theirs(const struct rdkafka *k, rd_kafka_conf_t *conf, struct config_line at,
                      const char *name, const char *value, struct err *e)
{
    char reason[REASON] = "";
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (strcmp(name, owned[i]) == 0)
            return err_set(e, GPUFL_E_INVAL, "%.150s: line %u: %s cannot be set here", at.path,
                           at.number, name);
    switch (k->conf_set(conf, name, value, reason, sizeof reason)) {
    case RD_KAFKA_CONF_OK:
        return 0;
    case RD_KAFKA_CONF_UNKNOWN:
        return err_set(e, GPUFL_E_INVAL, "%.150s: line %u: librdkafka knows no property '%s'",
                       at.path, at.number, name);
    default:
        return err_set(e, GPUFL_E_INVAL,
                       "%.150s: line %u: librdkafka does not take that value of %s", at.path,
                       at.number, name);
    }
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

static int set_line(const struct rdkafka *k, rd_kafka_conf_t *conf, struct config_line at,
                    char *text, struct err *e)
{
    text = trim(text);
    if (!*text || *text == '#')
        return 0;
    char *equals = strchr(text, '=');
    if (!equals)
        return err_set(e, GPUFL_E_INVAL, "%.150s: line %u is not NAME=VALUE", at.path, at.number);
    *equals = '\0';
    const char *name = trim(text), *value = trim(equals + 1);
    if (!*name || strlen(name) >= NAME_MOST)
        return err_set(e, GPUFL_E_INVAL, "%.150s: line %u is not NAME=VALUE", at.path, at.number);
    return set_theirs(k, conf, at, name, value, e);
}

static int set_file(const struct rdkafka *k, rd_kafka_conf_t *conf, const char *path, struct err *e)
{
    char *data = NULL, *rest, *text;
    size_t len = 0;
    unsigned line = 0;
    struct stat st;
    int rc = file_read_all(path, FILE_MOST, &data, &len, e);
    if (rc)
        return rc;
    if (stat(path, &st) == 0 && (st.st_mode & (S_IRGRP | S_IROTH)))
        log_warn("others on this machine can read %s; chmod 600 it", path);
    for (rest = data; !rc && (text = strsep(&rest, "\n"));)
        rc = set_line(k, conf, (struct config_line){path, ++line}, text, e);
    if (data)
        explicit_bzero(data, len);
    mem_free(data);
    return rc;
}

int rdkafka_configure(const struct rdkafka *k, const struct kafka_config *c,
                      const struct rdkafka_property *own, rd_kafka_conf_t **out, struct err *e)
{
    rd_kafka_conf_t *conf = k->conf_new();
    int rc = conf ? set_own(k, conf, "client.id", c->client, e) : err_nomem(e);
    if (!rc) /* new topics are noticed soon; librdkafka's default is 5 min */
        rc = set_own(k, conf, "topic.metadata.refresh.interval.ms", "10000", e);
    if (!rc && c->file)
        rc = set_file(k, conf, c->file, e);
    if (!rc)
        rc = set_own(k, conf, "bootstrap.servers", c->brokers, e);
    for (; !rc && own->name; own++)
        rc = set_own(k, conf, own->name, own->value, e);
    if (rc) {
        if (conf)
            k->conf_destroy(conf);
        return rc;
    }
    k->conf_set_log_cb(conf, on_log);
    *out = conf;
    return 0;
}

int rdkafka_client(const struct rdkafka *k, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                   rd_kafka_t **out, struct err *e)
{
    char reason[REASON] = "";
    *out = k->new (type, conf, reason, sizeof reason);
    if (*out)
        return 0;
    k->conf_destroy(conf);
    return err_set(e, GPUFL_E_INVAL, "Kafka: %s", reason);
}

/* ---- asking --------------------------------------------------------------------------------- */

int kafka_check_prefix(const char *prefix, struct err *e)
{
    size_t n = strspn(prefix, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-");
    if (n && !prefix[n] && n <= PREFIX_MOST)
        return 0;
    return err_set(e, GPUFL_E_INVAL,
                   "--kafka-prefix: 1 to %d letters, digits, dots, '_' and '-', not '%.80s'",
                   PREFIX_MOST, prefix);
}

int kafka_check_config(const struct kafka_config *c, struct err *e)
{
    static const struct rdkafka_property none = {0};
    const struct rdkafka *k;
    rd_kafka_conf_t *conf;
    int rc = rdkafka_open(&k, e);
    if (!rc)
        rc = rdkafka_configure(k, c, &none, &conf, e);
    if (!rc)
        k->conf_destroy(conf);
    return rc;
}

/* Holds what a client has reported. */
struct probing {
    rd_kafka_resp_err_t error; /* the last one */
    bool down;                 /* at some time no broker could be reached */
    char text[256];
};

/* Takes an error's sentence without librdkafka's note on its own states at the end. */
static void on_error(rd_kafka_t *rk, int error, const char *reason, void *opaque)
{
    struct probing *p = opaque;
    bool all = error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    (void)rk;
    p->down |= all;
    if (all && *p->text)
        return;
    p->error = (rd_kafka_resp_err_t)error;
    snprintf(p->text, sizeof p->text, "%s", reason);
    char *state = strstr(p->text, " (after ");
    if (state)
        *state = '\0';
}

/* Serves debugging only: the probe's own sentence has the last error. */
static void on_probe_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk, (void)level;
    log_debug("Kafka: %s: %s", facility, text);
}

/* Asks for all topics repeatedly: librdkafka reports errors between two requests, and a broker has
 * 2 s for its answer. The first error "all brokers down" does not end it, since a name with two
 * addresses may have a broker at the second one, which is tried next. */
static rd_kafka_resp_err_t ask_topics(const struct rdkafka *k, rd_kafka_t *rk, struct probing *p,
                                      int64_t timeout_ms, const struct rd_kafka_metadata **out)
{
    int64_t began = clock_mono() / NS_A_MS;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    int64_t most = timeout_ms < PROBE_MOST_MS ? timeout_ms : PROBE_MOST_MS, step = PROBE_STEP_MS;
    for (;;) {
        int64_t end = p->down && PROBE_DOWN_MS < most ? PROBE_DOWN_MS : most;
        int64_t left = began + end - clock_mono() / NS_A_MS;
        if (left <= 0 || rdkafka_forbids(p->error))
            return error;
        error = k->metadata(rk, 1, NULL, out, (int)(step < left ? step : left));
        k->poll(rk, 0);
        if (!error)
            return 0;
        step = p->down ? PROBE_STEP_MS : PROBE_SLOW_MS;
    }
}

int kafka_probe(const struct kafka_config *c, const char *prefix, int64_t timeout_ns,
                unsigned *brokers, unsigned *topics, struct err *e)
{
    static const struct rdkafka_property none = {0};
    const struct rd_kafka_metadata *metadata;
    const struct rdkafka *k;
    struct probing p = {0};
    rd_kafka_conf_t *conf;
    rd_kafka_t *rk;
    int rc = rdkafka_open(&k, e);
    if (!rc)
        rc = rdkafka_configure(k, c, &none, &conf, e);
    if (rc)
        return rc;
    k->conf_set_opaque(conf, &p);
    k->conf_set_error_cb(conf, on_error);
    k->conf_set_log_cb(conf, on_probe_log);
    rc = rdkafka_client(k, RD_KAFKA_PRODUCER, conf, &rk, e);
    if (rc)
        return rc;
    rd_kafka_resp_err_t error = ask_topics(k, rk, &p, timeout_ns / NS_A_MS, &metadata);
    if (error) {
        bool forbidden = rdkafka_forbids(error) || rdkafka_forbids(p.error);
        rc = err_set(e, forbidden ? GPUFL_E_PERM : GPUFL_E_UNAVAILABLE, "Kafka at %.150s: %s%s",
                     c->brokers,
                     forbidden ? "" : "no broker answers: ", *p.text ? p.text : k->err2str(error));
    } else {
        *brokers = (unsigned)metadata->broker_cnt;
        *topics = 0;
        for (int i = 0; i < metadata->topic_cnt; i++)
            *topics += strncmp(metadata->topics[i].topic, prefix, strlen(prefix)) == 0;
        k->metadata_destroy(metadata);
    }
    k->destroy_flags(rk, 0);
    return rc;
}
