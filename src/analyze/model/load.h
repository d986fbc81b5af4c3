/* load.h - reads a session's files into a model. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_LOAD_H
#define GPUFL_ANALYZE_MODEL_LOAD_H

#include "analyze/model/model.h"
#include "analyze/read/discover.h"
#include "analyze/read/feed.h"
#include "analyze/symbolize/symbolize.h"
#include "wire/decode.h"

struct load_stats {
    struct feed_stats files;
    struct decode_stats lines;
    uint64_t cut_lines; /* damaged last lines, which may still be being written */
    unsigned missing;   /* parts that are missing between others */
    struct symbolize_stats symbols;
};

struct load_options {
    bool progress;        /* on stderr, where it is a terminal */
    int64_t threads_from; /* see feed.h */
};

/* Reads a session into m, which the caller has initialized, and finishes it. 0; GPUFL_E_NOMEM;
 * GPUFL_E_CORRUPT with a sentence if not one line could be read; the error of the first file
 * if no file could be opened. The caller calls model_fini in each case. */
int load_session(struct model *m, const struct discover_session *s, const struct load_options *o,
                 struct load_stats *stats, struct err *e);

/* Reads samples of another session: only the system channel, into m, which has its own filter; and
 * finishes m. 0, GPUFL_E_NOMEM, or GPUFL_E_NOENT if nothing can be read. */
int load_samples(struct model *m, const struct discover_session *s);

/* Adds b to a. */
void load_stats_add(struct load_stats *a, const struct load_stats *b);

#endif
