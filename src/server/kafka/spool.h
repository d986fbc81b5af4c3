/* spool.h - keeps what was received and cannot be taken: refused lines and messages, and messages
 * that wait for what comes before them.
 *
 * The spool is a folder with a file for each of these: lines "name: value" that say where the bytes
 * come from and why they are there, an empty line, and the bytes as they came. The name of a file
 * is its place in its session, so that a message that comes again replaces its file:
 *
 *   SESSION.CHANNEL.OFFSET.line             one refused line, plain; OFFSET is its own; of a window
 *                                           wNUMBER-PLACE
 *   SESSION.CHANNEL.OFFSET.LENGTH.refused   a refused message; of a window wNUMBER for OFFSET
 *   SESSION.CHANNEL.OFFSET.LENGTH.waits     bytes before it are not there yet
 *   SESSION.complete.waits                  not all of its channels are complete
 *   TOPIC.PARTITION.NUMBER.refused          a message whose headers cannot be used
 *
 * Refused messages stay until an operator removes them. Waiting messages are tried again, also
 * after a restart. The size of the spool is limited; when it is full, nothing more is received.
 * Called by the owner's thread only; other threads may read the counts. */
#ifndef GPUFL_SERVER_KAFKA_SPOOL_H
#define GPUFL_SERVER_KAFKA_SPOOL_H

#include "server/kafka/inbound.h"

struct spool;

/* Creates the folder and counts its files. most: bytes. */
int spool_open(struct spool **out, const char *folder, int64_t most, struct err *e);
void spool_close(struct spool *s); /* NULL: none */

/* Says where a message comes from. */
struct spool_source {
    const char *topic;
    int32_t partition;
    int64_t number; /* Kafka's offset */
};

struct spool_item {
    const struct inbound *in; /* NULL: its headers cannot be used */
    struct spool_source from;
    const struct kafka_header *headers; /* unchanged; there may be none */
    unsigned header_count;
    const char *data;
    size_t len;
    const char *reason;
};

/* All puts return GPUFL_E_FULL above the limit, GPUFL_E_IO or GPUFL_E_NOMEM; the file is durable
 * after spool_sync. The item of a line has that line as its data; place: the line's place in the
 * channel or in its window. */
int spool_put_line(struct spool *s, const struct spool_item *item, int64_t place, struct err *e);
int spool_put_refused(struct spool *s, const struct spool_item *item, struct err *e);
int spool_put_waiting(struct spool *s, const struct spool_item *item, struct err *e);
void spool_drop_line(struct spool *s, const struct inbound *in, int64_t place);
int spool_sync(struct spool *s, struct err *e);
bool spool_is_full(const struct spool *s);

enum spool_step {
    SPOOL_KEEP,  /* the message keeps waiting */
    SPOOL_TAKEN, /* its file is removed after `durable` returned 0 */
    SPOOL_STOP,  /* nothing can be taken now */
};

struct spool_walk {
    void *arg;
    enum spool_step (*take)(void *arg, const struct spool_item *item);
    int (*durable)(void *arg);
};

/* Gives each waiting message to take, those of a channel in order; after one that keeps waiting,
 * the rest of its channel is skipped. Returns how many were taken. */
size_t spool_retry(struct spool *s, const struct spool_walk *walk);
size_t spool_waiting(const struct spool *s);

struct spool_counts {
    uint64_t refused, waiting; /* files */
    int64_t bytes;             /* of all files */
};

void spool_counts(const struct spool *s, struct spool_counts *out);

#endif
