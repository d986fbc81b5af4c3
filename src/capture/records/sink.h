/* sink.h - takes a backend's records, adds ids and scopes, counts them, and passes them to the log.
 *
 * A process has one sink, in static memory, so that a callback that comes late still finds it; the
 * gate then says that there is nothing to do. */
#ifndef GPUFL_CAPTURE_RECORDS_SINK_H
#define GPUFL_CAPTURE_RECORDS_SINK_H

#include "backend/backend.h"
#include "capture/log/writer.h"
#include "capture/records/ids.h"
#include "capture/records/joins.h"

#include <stdatomic.h>

enum { SINK_NAMES = 1024 }; /* entries of the name cache, a power of two */

struct scopes_drain;

struct capture_sink {
    struct sink sink; /* first member: what the backend holds a pointer to */
    struct writer *writer;
    struct intern *names;
    struct ids ids;
    struct joins joins;
    uint64_t recorded[RECORD_COUNT]; /* rows received */
    uint64_t external;               /* kernel rows with a framework's operation */
    int64_t vendor_ns;               /* sum of the overhead that the vendor's library reported */
    int64_t samples;                 /* PC samples in pc_sample rows */
    bool without_copies;             /* the backend says why it does not record them */
    struct scopes_drain *drain;      /* which scopes are open; NULL: not known */
    struct {
        int64_t start, end; /* of a window of samples, ns; 0: none */
        int64_t scope;      /* the scope that covers the window, or CELL_NULL */
    } window;
    _Atomic uint64_t lost[LOSS_COUNT];
    struct {
        const char *given; /* the pointer that the backend passed */
        const char *text;  /* the name table's copy */
        uint32_t id;
    } cache[SINK_NAMES];
};

extern struct capture_sink capture_sink;

/* Begins a session, before the backend's first call. [owner] */
void sink_begin(struct writer *w, struct intern *names, const struct backend *b);
void sink_end(void); /* frees the tables; calls that come later do nothing. [collector] */

/* Writes a row that the capture itself makes; counts the row and defines its thread. [collector] */
void sink_put(enum record_type type, const void *row);

/* Writes a row that has its scope, stack and (defined) thread already. [collector] */
void sink_put_whole(enum record_type type, const void *row);

/* Forgets tables and writer in a forked child without freeing them. */
void sink_forget(void);

#endif
