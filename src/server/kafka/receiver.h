/* receiver.h - reads sessions from Kafka into the journal.
 *
 * A thread is a member of a consumer group: it takes messages (take.h), waits until they are
 * durable in the journal, and then commits their offsets. So no message is lost, and a message may
 * come twice, in which case its offset in the channel shows that it can be skipped. A message that
 * the intake cannot take now delays all that follow, like a 429 over HTTP. One that can never be
 * taken is set aside (spool.h), and one after a gap in its channel waits there for what is missing.
 *
 * All messages belong to one workspace, so a client with the right to write to the topics may write
 * to that workspace. */
#ifndef GPUFL_SERVER_KAFKA_RECEIVER_H
#define GPUFL_SERVER_KAFKA_RECEIVER_H

#include "base/buf.h"
#include "meta/meta.h"
#include "server/kafka/take.h"

struct receiver_config {
    const char *brokers, *properties; /* properties: a file; NULL: none */
    const char *prefix, *group;
    const char *workspace; /* id or name */
    const char *folder;    /* of the spool; created */
    int64_t keep;          /* most bytes of the spool */
    const struct intake *intake;
    struct meta *meta;
    void *arg;
    /* Returns the seconds until a body of the workspace may be taken; 0: now; else *e says why
     * not. */
    int64_t (*admit)(void *arg, const char *workspace, const struct inbound *in, struct err *e);
    void (*taken)(void *arg, const char *workspace, const struct inbound *in, int64_t bytes);
};

struct receiver;

/* Checks the settings and starts the thread, which connects. Texts of the config, except the
 * folder's name, must live until receiver_close. */
int receiver_open(struct receiver **out, const struct receiver_config *c, struct err *e);
/* Finishes the present messages, and leaves the group. */
void receiver_close(struct receiver *r); /* NULL: none */

/* Puts the state as members of an object: "lag", "partitions", … [any] */
void receiver_json(struct receiver *r, struct buf *out);
/* Puts the counters and gauges of /metrics; number writes one of them with its HELP and TYPE.
 * [any] */
void receiver_metrics(struct receiver *r, struct buf *out,
                      void (*number)(struct buf *out, const char *name, const char *type,
                                     const char *help, double value));

#endif
