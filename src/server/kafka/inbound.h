/* inbound.h - reads the headers of a Kafka message: its session, and its place there.
 *
 * docs/server-sending.md has the table of headers. Functions without state. */
#ifndef GPUFL_SERVER_KAFKA_INBOUND_H
#define GPUFL_SERVER_KAFKA_INBOUND_H

#include "net/kafka/kafka.h"
#include "server/intake/ingest.h"

enum { INBOUND_ENDS = SESSION_CHANNELS, INBOUND_WINDOW_ID = 128 };

enum inbound_kind {
    INBOUND_LINES,    /* whole lines of a channel, by offset */
    INBOUND_WINDOW,   /* a body that counts as a whole */
    INBOUND_COMPLETE, /* the session is complete */
};

struct inbound_end {
    char channel[JOURNAL_CHANNEL_MAX];
    int64_t offset; /* uncompressed bytes of the channel */
};

struct inbound {
    enum inbound_kind kind;
    enum ingest_encoding encoding;
    char session[STORE_ID_MAX];
    char channel[JOURNAL_CHANNEL_MAX]; /* "" for COMPLETE */
    char host[SESSION_HOST_MAX];       /* "": not stated */
    int64_t offset;                    /* LINES: uncompressed bytes of the channel before */
    int64_t length;                    /* LINES: uncompressed bytes; -1: not stated */
    char window_id[INBOUND_WINDOW_ID]; /* "": none */
    int64_t window_sequence;           /* INGEST_NO_SEQUENCE */
    int64_t window_crc32;              /* of the body as sent; -1: not stated */
    struct inbound_end ends[INBOUND_ENDS];
    unsigned end_count;
};

/* Reads headers. GPUFL_E_INVAL with a sentence: the headers are not from our senders. Headers with
 * other names are ignored. */
int inbound_read(const struct kafka_header *headers, unsigned count, struct inbound *out,
                 struct err *e);

#endif
