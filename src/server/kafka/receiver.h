/* receiver.h - reads sessions from Kafka into the journal.
 *
 * A thread is a member of a group: it takes messages in (take.h), waits until they are durable in
 * the journal, and lets their offsets be committed then. So a message may come twice and none is
 * lost; what comes twice is passed over by its offset in the channel. A message that the intake
 * cannot take now holds up all that follow, as a 429 does over HTTP; one that can never be taken is
 * set aside (spool.h), and one whose channel has a gap before it waits there for what is missing.
 *
 * All messages belong to one workspace: a client that may write to the topics may write to it. */
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
    int64_t keep;          /* bytes of the spool at most */
    const struct intake *intake;
    struct meta *meta;
    void *arg;
    /* Seconds until a body of the workspace may be taken, 0: now; *e says why not. */
    int64_t (*admit)(void *arg, const char *workspace, const struct inbound *in, struct err *e);
    void (*taken)(void *arg, const char *workspace, const struct inbound *in, int64_t bytes);
};

struct receiver;

/* Checks the settings and starts the thread, which connects. Texts of the config
 * but the folder's name are the caller's until receiver_close. */
int receiver_open(struct receiver **out, const struct receiver_config *c, struct err *e);
/* Takes in what is at hand, and leaves the group. */
void receiver_close(struct receiver *r); /* NULL: none */

/* The state as members of an object: "lag", "partitions", … [any] */
void receiver_json(struct receiver *r, struct buf *out);
/* The counters and gauges of /metrics; head: writes a metric's HELP and TYPE. [any] */
void receiver_metrics(struct receiver *r, struct buf *out,
                      void (*number)(struct buf *out, const char *name, const char *type,
                                     const char *help, double value));

#endif
