/* spans.h - which scope covers a stretch of time that is over. Hardware counters are sampled at
 * moments and reported a while later, so they need this.
 *
 * The scopes that ended last are remembered, as many as there is room for; scopes shorter than the
 * stretches that will be asked for cover none of them. Collector's thread. */
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
    int64_t shortest; /* ns: that is remembered; INT64_MAX: none is */
    int64_t newest;   /* end of the one that ended last */
    int64_t lost;     /* end of the one that ended last of those that were forgotten */
    size_t next;      /* place in items */
    struct span items[SPANS];
};

/* Begins with nothing remembered; scopes shorter than so many ns will not be. */
void spans_begin(struct spans *s, int64_t shortest);

void spans_add(struct spans *s, const struct span *ended);

/* Takes a scope into account that may be the innermost one to cover a stretch. */
struct spans_answer {
    int64_t start, end; /* asked for, ns */
    int64_t from, to;   /* of the innermost one so far */
    uint64_t instance;  /* 0: none so far */
    int32_t thread;
    unsigned threads; /* 1: all of them are of this one; 2: not */
};
void spans_consider(struct spans_answer *a, const struct span *open_or_ended);

/* Considers all scopes that are remembered. */
void spans_look(const struct spans *s, struct spans_answer *a);

/* The instance of the covering scope; 0: none covers it; CELL_NULL: not known, or scopes of several
 * threads do. */
int64_t spans_tell(const struct spans *s, const struct spans_answer *a);

#endif
