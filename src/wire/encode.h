/* encode.h - turns rows, names and headers into NDJSON lines. No I/O, no threads.
 *
 * A batch is one line, one array per column:
 * {"type":"kernel","rows":3,"start":[900,12,11],"duration":[4,4,5],"stream":1} TIME and DELTA
 * columns hold differences to the last row before that was not null, modulo 2^64; the first is
 * absolute, so that every line decodes alone. A column with the same value in every row is that
 * value instead of an array; a column that is null throughout is left out. HEX cells are strings. A
 * TIME cell outside of +-2^62 ns is no time and becomes null. docs/format.md has the whole format.
 * Called by the owner's thread only.
 *
 * A buffer's ceiling must leave room for the longest line, not for the one at
 * hand: 2 x WIRE_MAX_LINE does. */
#ifndef GPUFL_WIRE_ENCODE_H
#define GPUFL_WIRE_ENCODE_H

#include "base/buf.h"
#include "wire/record.h"

#include <stdbool.h>

#define WIRE_FORMAT   1          /* version of the log format, in every header */
#define WIRE_MAX_ROWS 4096       /* of a batch, so that a damaged line costs little */
#define WIRE_MAX_LINE (4u << 20) /* bytes; readers skip longer lines */

/* Describes the first line of every part of a log: what a reader needs to use it alone. */
struct wire_header {
    const char *session; /* UUID */
    const char *channel;
    int64_t part;   /* 1, 2, …; position in the channel */
    int64_t offset; /* plain bytes of the channel before this part */
    const char *app;
    int64_t pid;
    const char *host;
    const char *run; /* id of the `gpufl trace` run; "" none */
    int64_t pass;    /* number of this pass of `gpufl trace --passes`, from 1; 0: no passes */
    int64_t passes;  /* how many passes there are; 0: no passes */
    const char *
        command; /* command line, cut at 1 KiB; secrets are the user's matter: argv as ps shows it */
    const char *engine;  /* effective engine: Monitor, Trace, … */
    const char *backend; /* nvidia, amd, none, sim */
    bool simulated;      /* true: the GPU was simulated */
    const char *version; /* of libgpufl */
    const char *system;  /* uname: Linux 6.1 x86_64 */
    int64_t start;       /* session's start, CLOCK_MONOTONIC ns */
    int64_t clock_monotonic, clock_real, clock_uncertainty; /* a pair, as in the clock record */
};

/* Appends one line with its LF. */
void encode_header(struct buf *b, const struct wire_header *h);

/* Appends a batch of rows. rows: n rows of records[type].column_count cells. n <= WIRE_MAX_ROWS. */
void encode_rows(struct buf *b, enum record_type type, const int64_t *rows, size_t n);

/* Appends entries of the string dictionary; ids, texts and lens have n elements. */
void encode_names(struct buf *b, const uint32_t *ids, const char *const *texts, const size_t *lens,
                  size_t n);

#endif
