/* inside.h - what the writer's files share: its state, and how rows become parts.
 *
 * writer.c collects rows in batches, opens and closes; groups.c writes a batch as a group of lines
 * into parts, in either format. [collector] */
#ifndef GPUFL_CAPTURE_LOG_INSIDE_H
#define GPUFL_CAPTURE_LOG_INSIDE_H

#include "base/buf.h"
#include "capture/log/compressor.h"
#include "capture/log/dict.h"
#include "capture/log/dir.h"
#include "capture/log/part.h"
#include "capture/log/spool.h"
#include "capture/log/writer.h"
#include "wire/peer/encode.h"

struct batch {
    int64_t *cells; /* owned */
    size_t rows, cap;
};

/* Holds the state of a channel beyond its part. */
struct fate {
    int failed;        /* negative errno: the channel has ended; 0: it goes on */
    int refused;       /* negative errno of a part that could not end; 0: none */
    bool said;         /* writer_event has reported the two above */
    int64_t rotate_at; /* bytes at which the part is to end */
};

struct writer {
    struct writer_config config; /* its strings are owned, except header.channel */
    struct log_dir dir;
    struct fate fate[CHANNEL_COUNT];
    struct dict dict;
    struct spool spool;
    struct compressor compressor;
    struct part part[CHANNEL_COUNT];
    struct batch batch[RECORD_COUNT];
    struct buf out;                /* the group being composed */
    uint64_t staged[RECORD_COUNT]; /* rows in out */
    struct writer_counts counts;
    struct peer_encoder *peer;      /* of the public client's format; NULL: ours */
    uint32_t peer_names;            /* the encoder has the names with ids 1 to this */
    bool has_spool, has_compressor; /* initialized */
    bool opened;                    /* everything is initialized */
};

/* Returns what a user can do about an errno of writing, as part of a sentence. */
const char *groups_advice(int errnum);

/* Counts the rows of parts that were deleted as lost, and closes those parts. */
void groups_find_lost(struct writer *w);

/* Writes a batch and what it refers to, in the writer's format. 0, GPUFL_E_NOMEM, _FULL or _IO. */
int groups_write(struct writer *w, enum spool_class k, enum channel c, enum record_type type,
                 const struct batch *b);

/* Writes the definitions of the channel that have changed. A write that fails is tried again with
 * the next rows that refer to the definition. */
void groups_write_changed(struct writer *w, enum channel c);

/* Begins the public client's format: opens its encoder. 0 or GPUFL_E_NOMEM. */
int groups_peer_start(struct writer *w);

/* Ends the public client's format: writes what the encoder holds, and numbers every part. */
void groups_peer_finish(struct writer *w);

#endif
