/* outcome.h - makes the results of a session's analysis, and stores them.
 *
 * Several outcomes are stored together, because for a small session most of the cost is in
 * transactions and their writes to the disk, not in rows. */
#ifndef GPUFL_SERVER_ANALYSIS_OUTCOME_H
#define GPUFL_SERVER_ANALYSIS_OUTCOME_H

#include "base/region.h"
#include "server/analysis/analysis.h"

/* This is a document, and the findings that belong to it. */
struct document {
    struct meta_analysis head;
    struct meta_finding *findings;
    size_t count;
};

enum { DOCUMENTS = 4, OUTCOMES_MAX = 16 /* stored together */ };

/* Limits the rows of a stored report's tables to those with most time: a report of any session can
 * be stored and sent. Each table has the number of all its rows next to it. */
enum {
    OUTCOME_ROWS = 1000,        /* kernels, scopes, graphs, operation ids, names of marks */
    OUTCOME_CONFIGS = 100,      /* launch configurations of a kernel */
    OUTCOME_SCOPE_KERNELS = 10, /* kernels of a scope */
};

/* Holds the results of one session. All rows and texts are in `memory`; config, workspace and
 * session are the caller's and must outlive it. */
struct outcome {
    const struct analysis_config *config;
    const char *workspace, *session;
    bool final; /* the session has ended, by this server or another one, before it was read */
    bool late;  /* not final, but the session ended meanwhile: nothing is stored */
    struct region memory;
    struct document documents[DOCUMENTS];
    size_t document_count;
    struct store_chunk history; /* if final, like the rollups */
    struct meta_usage *usage;
    struct meta_rollup_part *rollups;
    size_t usage_count, rollup_count;
    struct meta_growth growth;
    bool grown; /* `growth` is known */
};

/* Reads the session and makes its results. final: the session has ended; if another server has
 * loaded its end, the results are final, too, because they have rows that came after that.
 * GPUFL_E_NOENT: there is nothing yet; GPUFL_E_STATE: config's stop became true. Call outcome_fini
 * after an error, too. [any] */
int outcome_make(struct outcome *o, const struct analysis_config *c, const char *workspace,
                 const char *session, bool final, struct err *e);
void outcome_fini(struct outcome *o);

/* Returns true if the session ended while its results were made or stored, which are not final:
 * they are to be made again. Call this function after outcomes_store. [any] */
bool outcome_is_late(const struct outcome *o);

/* Stores the results of at most OUTCOMES_MAX different sessions, all with one config. After an
 * error some or none are stored; storing a result again is allowed. [any] */
int outcomes_store(const struct outcome *const *of, size_t count, struct err *e);

#endif
