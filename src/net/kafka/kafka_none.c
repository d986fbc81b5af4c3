/* kafka_none.c - replaces the other files in a build without librdkafka's header: everything else
 * works, and the functions fail with a sentence that says what to install. */
#include "net/kafka/kafka.h"

static int not_built(struct err *e)
{
    return err_set(e, GPUFL_E_NOT_BUILT,
                   "this program was built without Kafka; install librdkafka-dev and build again");
}

int kafka_check_prefix(const char *prefix, struct err *e)
{
    (void)prefix;
    return not_built(e);
}

int kafka_check_config(const struct kafka_config *c, struct err *e)
{
    (void)c;
    return not_built(e);
}

int kafka_probe(const struct kafka_config *c, const char *prefix, int64_t timeout_ns,
                unsigned *brokers, unsigned *topics, struct err *e)
{
    (void)c, (void)prefix, (void)timeout_ns;
    *brokers = *topics = 0;
    return not_built(e);
}

int kafka_producer_open(struct kafka_producer **out, const struct kafka_producer_config *c,
                        struct err *e)
{
    (void)c;
    *out = NULL;
    return not_built(e);
}

int kafka_consumer_open(struct kafka_consumer **out, const struct kafka_consumer_config *c,
                        struct err *e)
{
    (void)c;
    *out = NULL;
    return not_built(e);
}

/* The functions below are never called: there is no producer and no consumer. */

void kafka_producer_close(struct kafka_producer *p)
{
    (void)p;
}

int64_t kafka_producer_most(const struct kafka_producer *p)
{
    (void)p;
    return 0;
}

enum kafka_verdict kafka_send(struct kafka_producer *p, const struct kafka_outgoing *m,
                              struct err *e)
{
    (void)p, (void)m;
    not_built(e);
    return KAFKA_WAIT;
}

void kafka_producer_tick(struct kafka_producer *p)
{
    (void)p;
}

void kafka_producer_statistics(struct kafka_producer *p, struct kafka_statistics *out)
{
    (void)p;
    *out = (struct kafka_statistics){0};
}

void kafka_consumer_close(struct kafka_consumer *c)
{
    (void)c;
}

bool kafka_consumer_next(struct kafka_consumer *c, int timeout_ms, struct kafka_message *m)
{
    (void)c, (void)timeout_ms, (void)m;
    return false;
}

void kafka_message_done(struct kafka_message *m)
{
    (void)m;
}

void kafka_consumer_taken(struct kafka_consumer *c, const struct kafka_message *m)
{
    (void)c, (void)m;
}

bool kafka_consumer_lost(const struct kafka_consumer *c, const struct kafka_message *m)
{
    (void)c, (void)m;
    return true;
}

void kafka_consumer_store(struct kafka_consumer *c)
{
    (void)c;
}

void kafka_consumer_hold(struct kafka_consumer *c, bool held)
{
    (void)c, (void)held;
}

void kafka_consumer_state(struct kafka_consumer *c, struct kafka_consumer_state *out)
{
    (void)c;
    *out = (struct kafka_consumer_state){.lag = -1};
}
