/* take.h - takes a message into the journal, as the HTTP server takes a body.
 *
 * Nobody answers a sender that wrote to Kafka: what the server refuses is set aside here, each line
 * once, and its place in the channel is filled, so that what follows is taken. What was taken is
 * durable after ingest_sync and spool_sync, not before. Owner's thread. */
#ifndef GPUFL_SERVER_KAFKA_TAKE_H
#define GPUFL_SERVER_KAFKA_TAKE_H

#include "server/intake/intake.h"
#include "server/kafka/spool.h"

struct take_counts {
    uint64_t lines;          /* accepted, without those that were there */
    uint64_t refused_lines;  /* set aside */
    uint64_t refused;        /* messages set aside as wholes */
    uint64_t repeated, gone; /* messages that were there already; of deleted sessions */
};

struct taker {
    const struct intake *intake;
    struct spool *spool;
    char workspace[STORE_ID_MAX];
    struct take_counts counts;
    char *plain; /* owned: the text of the message at hand */
    size_t plain_cap;
};

enum take_result {
    TAKE_DONE,  /* it was taken, or set aside */
    TAKE_WAITS, /* what comes before it is not there yet */
    TAKE_LATER, /* nothing can be taken now; *why says what is in the way */
};

enum { TAKE_WHY = 512 };

enum take_result take_message(struct taker *t, const struct spool_item *item, char why[TAKE_WHY]);
void taker_fini(struct taker *t);

#endif
