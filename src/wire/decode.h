/* decode.h - NDJSON lines to headers, names and column batches. No I/O, no threads.
 *
 * Reads our format and the public GPUFlight client's (read.c), recognizes the format of each line,
 * and delivers both alike. A damaged line is counted, and only that line is lost; unknown records
 * and columns are counted and skipped. A session has one decoder, which is fed with all parts in
 * order of channel and part. Called by the owner's thread only. */
#ifndef GPUFL_WIRE_DECODE_H
#define GPUFL_WIRE_DECODE_H

#include "wire/encode.h"
#include "wire/record.h"

struct wire_batch {
    enum record_type type;
    const struct record *record;
    size_t rows;
    const int64_t *col[RECORD_MAX_COLUMNS]; /* rows cells each; NULL: unknown throughout */
};

/* Holds the decoder's calls; pointers are valid during the call. A non-zero result stops the feed,
 * which returns it. Members may be NULL. A batch has at most 65536 rows. In the public client's
 * sessions the header may come after rows, and more than once (the last one counts). */
struct wire_visitor {
    void *arg;
    int (*header)(void *arg, const struct wire_header *h);
    int (*name)(void *arg, uint32_t id, const char *text, size_t len);
    int (*batch)(void *arg, const struct wire_batch *b);
    /* A sound line of which nothing was used: its type is not known to this version, or is one of
     * the public client's for which we have no record yet. */
    int (*unknown)(void *arg, const char *line, size_t len);
};

struct decode_stats {
    uint64_t lines;            /* lines fed, without empty ones */
    uint64_t damaged;          /* lines that could not be decoded */
    uint64_t unknown_records;  /* lines of a type that this version does not know */
    uint64_t unknown_columns;  /* columns skipped, summed over lines */
    uint64_t foreign;          /* lines of the public client's format among lines */
    uint64_t foreign_unmapped; /* foreign lines of a known type that nothing here reads yet */
    uint64_t foreign_orphans;  /* foreign rows that refer to nothing: an end with no begin, … */
};

struct decoder;

int decoder_open(struct decoder **out);
void decoder_close(struct decoder *d);

/* This is memory for the columns and texts of the line that is decoded; up to some MiB. Decoders of
 * one thread may share a room, so that each of many sessions does not keep one. A visitor must not
 * feed a decoder of the same room. Close the room after its decoders. */
struct decode_room;

int decode_room_open(struct decode_room **out);
void decode_room_close(struct decode_room *r);

/* Opens a decoder that uses the caller's room. */
int decoder_open_in(struct decoder **out, struct decode_room *room);

/* Decodes one line, given without its LF. 0 (also for a damaged line), the visitor's result, or
 * GPUFL_E_NOMEM. */
int decoder_feed(struct decoder *d, const char *line, size_t len, const struct wire_visitor *v);

/* Delivers, at the end of a session, what the public client's format keeps pending. */
int decoder_finish(struct decoder *d, const struct wire_visitor *v);

const struct decode_stats *decoder_stats(const struct decoder *d);

#endif
