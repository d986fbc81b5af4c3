/* take.h - takes a message into the journal, like the HTTP server takes a body.
 *
 * A sender that writes to Kafka gets no answer. So a line that the server refuses is set aside
 * here, once, and its place in the channel is filled, so that what follows can be taken. What was
 * taken is durable only after ingest_sync and spool_sync. Called by the owner's thread only. */
#ifndef GPUFL_SERVER_KAFKA_TAKE_H
#define GPUFL_SERVER_KAFKA_TAKE_H

#include "server/intake/intake.h"
#include "server/kafka/spool.h"

struct take_counts {
    uint64_t lines;         /* accepted, without those that the session had already */
    uint64_t refused_lines; /* set aside */
    uint64_t refused;       /* whole messages that were set aside */
    /* Messages that the session had already; messages of deleted sessions. */
    uint64_t repeated, gone;
};

struct taker {
    const struct intake *intake;
    struct spool *spool;
    char workspace[STORE_ID_MAX];
    struct take_counts counts;
    char *plain; /* owned: the text of the present message */
    size_t plain_cap;
};

enum take_result {
    TAKE_DONE,  /* the message was taken, or set aside */
    TAKE_WAITS, /* something before it is missing */
    TAKE_LATER, /* nothing can be taken now; why says the reason */
};

enum { TAKE_WHY = 512 };

enum take_result take_message(struct taker *t, const struct spool_item *item, char why[TAKE_WHY]);
void taker_fini(struct taker *t);

#endif
