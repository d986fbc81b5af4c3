/* kafka.h - sends messages to Kafka and receives them, with librdkafka.
 *
 * librdkafka is opened at run time, so a program that uses HTTP alone does not load it. Without the
 * library the functions return GPUFL_E_NOT_BUILT and a sentence that says what to install.
 *
 * Brokers are "HOST[:PORT],…". A file of librdkafka's properties (one NAME=VALUE on each line; #
 * begins a comment) adds what else a cluster needs: TLS, SASL, sizes, timeouts. Its values are
 * secrets: no sentence and no log contains them. The file may not set properties that correctness
 * depends on.
 *
 * A producer and a consumer each belong to one thread; any thread may read a producer's
 * statistics. */
#ifndef GPUFL_NET_KAFKA_KAFKA_H
#define GPUFL_NET_KAFKA_KAFKA_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KAFKA_HEADERS = 16, KAFKA_TOPIC_MAX = 250 };

struct kafka_config {
    const char *brokers;
    const char *file;   /* of properties; NULL: none */
    const char *client; /* the name that the brokers' logs show */
};

struct kafka_header {
    const char *name, *value;
};

/* Holds what librdkafka counts, as of its last report; it reports every 5 s. */
struct kafka_statistics {
    uint64_t requests, sent_bytes, received_bytes; /* to and from brokers, with all overhead */
};

/* Checks a prefix of topics: letters, digits, '.', '_', '-'; at most 128 bytes. [any] */
int kafka_check_prefix(const char *prefix, struct err *e);

/* Checks that a client can be made: the library and the properties. Makes no connection. [any] */
int kafka_check_config(const struct kafka_config *c, struct err *e);

/* Asks the brokers how many brokers there are, and how many topics that begin with the prefix. It
 * waits for timeout_ns, 10 s at most, and 3 s if no broker can be reached. GPUFL_E_UNAVAILABLE:
 * none answers; GPUFL_E_PERM: the brokers refuse this client. [any] */
int kafka_probe(const struct kafka_config *c, const char *prefix, int64_t timeout_ns,
                unsigned *brokers, unsigned *topics, struct err *e);

/* ---- sending -------------------------------------------------------------------------------- */

struct kafka_producer;

struct kafka_producer_config {
    struct kafka_config common;
    int64_t timeout_ns; /* after which a message without acknowledgement is given up */
    const volatile sig_atomic_t *stop;
};

struct kafka_outgoing {
    const char *topic, *key;
    const void *data;
    size_t len;
    struct kafka_header headers[KAFKA_HEADERS];
    unsigned header_count;
};

enum kafka_verdict {
    KAFKA_TAKEN,     /* all brokers in step have it */
    KAFKA_WAIT,      /* no broker took it in time, or not now; it may be there all the same */
    KAFKA_TOO_LARGE, /* for the brokers, or for message.max.bytes */
    KAFKA_REFUSED,   /* the brokers will never take it */
    KAFKA_NO_TOPIC,  /* the topic does not exist, and the brokers make none */
    KAFKA_FORBIDDEN, /* the brokers do not know this client, or it may not write there */
    KAFKA_STOPPED,   /* the producer was stopped */
};

int kafka_producer_open(struct kafka_producer **out, const struct kafka_producer_config *c,
                        struct err *e);
void kafka_producer_close(struct kafka_producer *p); /* NULL: none */

/* Returns the number of bytes that a message may have by the client's configuration; the brokers'
 * limit may be lower. */
int64_t kafka_producer_most(const struct kafka_producer *p);

/* Sends a message and waits for the brokers' answer. e has the sentence unless the result is
 * KAFKA_TAKEN. */
enum kafka_verdict kafka_send(struct kafka_producer *p, const struct kafka_outgoing *m,
                              struct err *e);

/* Handles librdkafka's reports; must be called from time to time. */
void kafka_producer_tick(struct kafka_producer *p);
void kafka_producer_statistics(struct kafka_producer *p, struct kafka_statistics *out); /* [any] */

/* ---- receiving ------------------------------------------------------------------------------ */

struct kafka_consumer;

struct kafka_consumer_config {
    struct kafka_config common;
    const char *group;
    const char *prefix; /* all topics PREFIX + one word */
    void *arg;
    /* Partitions go to another member: when this returns, the messages taken must be durable, and
     * their offsets stored by kafka_consumer_store. Called inside kafka_consumer_next. */
    void (*revoked)(void *arg);
};

struct kafka_message {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t at; /* the message's time, ms since the Unix epoch; -1: none */
    const char *data;
    size_t len;
    struct kafka_header headers[KAFKA_HEADERS]; /* texts with their NUL */
    unsigned header_count;
    bool odd;         /* more headers than there is room for, or one without a text */
    void *raw;        /* librdkafka's */
    unsigned members; /* the assignment under which it came */
};

int kafka_consumer_open(struct kafka_consumer **out, const struct kafka_consumer_config *c,
                        struct err *e);
/* Leaves the group. Offsets that were stored are committed. */
void kafka_consumer_close(struct kafka_consumer *c); /* NULL: none */

/* Takes the next message, within the time; true: there is one, which kafka_message_done ends. */
bool kafka_consumer_next(struct kafka_consumer *c, int timeout_ms, struct kafka_message *m);
void kafka_message_done(struct kafka_message *m);

/* Notes that the message, and all before it in its partition, were processed. */
void kafka_consumer_taken(struct kafka_consumer *c, const struct kafka_message *m);
/* Returns true if the message's partition was revoked since the message came: another member gets
 * it. */
bool kafka_consumer_lost(const struct kafka_consumer *c, const struct kafka_message *m);
/* Stores the offsets of the messages taken, all of which must be durable; librdkafka commits them
 * within a second. */
void kafka_consumer_store(struct kafka_consumer *c);
/* Stops fetching (held), or resumes it. While held, kafka_consumer_next keeps the membership. */
void kafka_consumer_hold(struct kafka_consumer *c, bool held);

struct kafka_consumer_state {
    struct kafka_statistics statistics;
    int64_t lag; /* messages in its partitions that were not taken; -1: not known yet */
    unsigned partitions;
    uint64_t rebalances, errors;
    char error[256]; /* the last one since a message came; "" */
};

void kafka_consumer_state(struct kafka_consumer *c, struct kafka_consumer_state *out); /* owner's */

#endif
