/* analysis.h - analyses sessions: makes reports, findings and history from columns, and stores
 * them.
 *
 * There is one thread of low priority. A session that has ended is analysed at once, and settled
 * (its columns are written in their final form). If many small sessions have ended, their results
 * are stored together: the first one waits at most half a second and one more analysis. A live
 * session is analysed from time to time, so that it takes at most a twentieth of a core; in local
 * mode at most an eighth, without delay and at normal priority. It is not analysed while much of it
 * waits to be loaded (an upload), since the columns cannot free memory while the session has a
 * reader.
 *
 * The results go to the small tables: documents ANALYSIS_REPORT (JSON, as `gpufl report --json`
 * writes it), ANALYSIS_FLAME (collapsed stacks), ANALYSIS_TIMELINE (idle gaps and stacks, JSON) and
 * ANALYSIS_DIGEST (what comparisons need), all gzip; the findings; and, when the session is final,
 * rows of kernels for the workspace's history and of use for the fleet's days.
 *
 * A document has the version of the rules that made it. Sessions whose final document has an older
 * version are analysed again when there is no other work. Any thread may report news. */
#ifndef GPUFL_SERVER_ANALYSIS_ANALYSIS_H
#define GPUFL_SERVER_ANALYSIS_ANALYSIS_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/loader/loader.h"
#include "store/store.h"

#include <stdint.h>

#define ANALYSIS_REPORT   "report"
#define ANALYSIS_FLAME    "flame"
#define ANALYSIS_TIMELINE "timeline"
#define ANALYSIS_DIGEST   "digest"

struct analysis_config {
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;
    bool prompt; /* local mode: a person waits */
    /* First report of a live session, after its first rows; 0: 300 ms, in local mode 0. */
    int64_t first_ns;
    int64_t every_ns;         /* and the next ones at the earliest; 0: 5 s, or 0.5 s */
    const _Atomic bool *stop; /* true ends outcome_make with GPUFL_E_STATE; NULL: never */
    void *arg;
    /* Called when a session has a new report, on the analysis's thread. May be NULL. */
    void (*made)(void *arg, const char *workspace, const char *session, bool final);
};

struct analysis;

int analysis_open(struct analysis **out, const struct analysis_config *c, struct err *e);
/* Gives up a running analysis and stores finished results. The next start does what is missing. */
void analysis_close(struct analysis *a);

/* This is the function for loader_config.news. */
void analysis_news(void *arg, const struct loader_news *n);

/* Waits until no analysis is due; false: timeout_ns is over. */
bool analysis_wait(struct analysis *a, int64_t timeout_ns); /* for tests */

struct analysis_stats {
    uint64_t reports, final, failed;
    int64_t cpu_ns;
    unsigned waiting; /* sessions */
    bool resting;     /* a burst of sessions is loaded first (burst.h) */
};

void analysis_stats(struct analysis *a, struct analysis_stats *out);

/* Returns the version of the rules, which changes when a rule or a limit changes. [any] */
const char *analysis_rules(void);

#endif
