/* analysis.h - makes reports, findings and history from columns, and stores them.
 *
 * One thread of low priority. A session that has ended is analysed at once, and settled (its
 * columns written in their final form). Where many small ones have, their results are stored
 * together: the first waits at most half a second, and one analysis more. A live one is analysed
 * now and then, so that analysing takes at most a twentieth of a core for it; an eighth, without
 * delay and at normal priority, where one person waits for it; and not while much of it waits to
 * be loaded (an upload): the columns cannot free memory while a reader has it. The results go to
 * the small tables: documents
 * ANALYSIS_REPORT (JSON, as `gpufl report --json` writes it), ANALYSIS_FLAME (collapsed stacks),
 * ANALYSIS_TIMELINE (idle gaps and stacks, JSON) and ANALYSIS_DIGEST (what comparisons need), all
 * gzip; the findings; and rows of kernels for the workspace's history and of use for the fleet's
 * days, when it is final.
 *
 * A document says by which rules it was made: sessions whose final one is older are analysed
 * again, when nothing else is to be done. Any thread may report news. */
#ifndef GPUFL_SERVER_ANALYSIS_ANALYSIS_H
#define GPUFL_SERVER_ANALYSIS_ANALYSIS_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/loader.h"
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
    bool prompt;      /* somebody waits: local mode */
    int64_t first_ns; /* a live session's first report, after its first rows; 0: 300 ms, or none */
    int64_t every_ns; /* and the next ones at the earliest; 0: 5 s, or 0.5 s */
    const _Atomic bool *stop; /* of outcome_make: true gives up with STATE; NULL: nothing does */
    void *arg;
    /* A session has a new report. NULL: nobody asks. From the analysis's thread. */
    void (*made)(void *arg, const char *workspace, const char *session, bool final);
};

struct analysis;

int analysis_open(struct analysis **out, const struct analysis_config *c, struct err *e);
/* An analysis under way is given up, and results that are made are stored; the next start makes up
 * for what is missing. */
void analysis_close(struct analysis *a);

/* loader_config.news */
void analysis_news(void *arg, const struct loader_news *n);

/* Waits until nothing is due; false: not within timeout_ns. */
bool analysis_wait(struct analysis *a, int64_t timeout_ns); /* for tests */

struct analysis_stats {
    uint64_t reports, final, failed;
    int64_t cpu_ns;
    unsigned waiting; /* sessions */
    bool resting;     /* a burst of sessions is loaded first (burst.h) */
};

void analysis_stats(struct analysis *a, struct analysis_stats *out);

/* The version of the rules: changes when a rule or a limit does. [any] */
const char *analysis_rules(void);

#endif
