/* spans.h - finds the scope that covers a past stretch of time. Hardware counters need this,
 * because their samples are reported a while after they were taken.
 *
 * The scopes that ended last are remembered, as many as there is room for. Scopes shorter than the
 * stretches that will be asked for are not kept, because they cover none. Called by the collector's
 * thread only. */
#ifndef GPUFL_CAPTURE_RECORDS_SPANS_H
#define GPUFL_CAPTURE_RECORDS_SPANS_H

#include <stddef.h>
#include <stdint.h>

enum { SPANS = 1024 };

struct span {
    int64_t start, end; /* ns */
    uint64_t instance;
    int32_t thread;
};

struct spans {
    int64_t shortest; /* ns: length of the shortest scope kept; INT64_MAX: none is kept */
    int64_t newest;   /* end of the scope that ended last */
    int64_t lost;     /* end of the forgotten scope that ended last */
    size_t next;      /* place in items */
    struct span items[SPANS];
};

/* Begins with no scopes; scopes shorter than so many ns will not be kept. */
void spans_begin(struct spans *s, int64_t shortest);

void spans_add(struct spans *s, const struct span *ended);

/* Describes the search for the innermost scope that covers a stretch. */
struct spans_answer {
    int64_t start, end; /* the stretch, ns */
    int64_t from, to;   /* of the innermost covering scope so far */
    uint64_t instance;  /* of that scope; 0: none so far */
    int32_t thread;
    unsigned threads; /* 1: all covering scopes are of this thread; 2: they are not */
};
void spans_consider(struct spans_answer *a, const struct span *open_or_ended);

/* Considers all scopes that are kept. */
void spans_look(const struct spans *s, struct spans_answer *a);

/* Returns the instance of the covering scope; 0: no scope covers the stretch; CELL_NULL: not known,
 * or scopes of several threads do. */
int64_t spans_covering(const struct spans *s, const struct spans_answer *a);

#endif
