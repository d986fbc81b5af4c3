/* outcome.h - makes what the analysis of a session leaves, and stores it.
 *
 * Several outcomes are stored together: most of what storing a small session costs belongs to the
 * transactions and their writes to the disk, not to the rows. */
#ifndef GPUFL_SERVER_ANALYSIS_OUTCOME_H
#define GPUFL_SERVER_ANALYSIS_OUTCOME_H

#include "base/region.h"
#include "server/analysis/analysis.h"

/* A document, and the findings that belong to it. */
struct document {
    struct meta_analysis head;
    struct meta_finding *findings;
    size_t count;
};

enum { DOCUMENTS = 4, OUTCOMES_MAX = 16 /* stored together */ };

/* The results of one session that are to be stored. All rows and texts lie in its memory; config,
 * workspace and session are the caller's and stay. */
struct outcome {
    const struct analysis_config *config;
    const char *workspace, *session;
    bool final;
    bool late; /* not final, and another server has loaded the end: nothing is stored */
    struct region memory;
    struct document documents[DOCUMENTS];
    size_t document_count;
    struct store_chunk history; /* of a final one, as the rollups */
    struct meta_usage *usage;
    struct meta_rollup_part *rollups;
    size_t usage_count, rollup_count;
    struct meta_growth growth;
    bool grown; /* the growth is known */
};

/* Reads the session and makes its results. NOENT: it has nothing yet; STATE: config's stop became
 * true. outcome_fini ends it after an error, too. [any] */
int outcome_make(struct outcome *o, const struct analysis_config *c, const char *workspace,
                 const char *session, bool final, struct err *e);
void outcome_fini(struct outcome *o);

/* Stores results of different sessions, OUTCOMES_MAX at most, of one config. After an error some
 * or none are stored; what is stored may be stored again. [any] */
int outcomes_store(const struct outcome *const *of, size_t count, struct err *e);

#endif
