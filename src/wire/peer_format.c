/* peer_format.c - the tables of peer_format.h. */
#include "wire/peer_format.h"

#include <string.h>
#include <strings.h>

#define B(batch, type, version)                                                                    \
    }                                                                                              \
    ;                                                                                              \
    static const char *const columns_##batch[] = {
#define P(batch, column) #column,
static const char *const columns_none[] __attribute__((unused)) = {
    NULL,
#include "wire/peer_format.def"
};

const struct peer_batch_format peer_batches[PEER_BATCH_COUNT] = {
#define B(batch, type, version)                                                                    \
    {type, version, columns_##batch, sizeof columns_##batch / sizeof *columns_##batch},
#include "wire/peer_format.def"
};

const struct peer_word peer_engines[] = {
    {"Monitor", "none"},
    {"Trace", "trace"},
    {"PcSampling", "pc_sampling"},
    {"SassMetrics", "sass_metrics"},
    {"RangeProfiler", "range_profiler"},
    {"RangeProfilerKernelReplay", "range_profiler_kernel_replay"},
    {"Deep", "pc_sampling_with_sass"},
    {"PmSampling", "pm_sampling"},
    {"Sync", "trace"},
    {NULL, NULL},
};

const struct peer_word peer_features[] = {
    {"kernels", "kernel_events"},          {"copies", "memcpy_activity"},
    {"synchronizations", "sync_activity"}, {"memory", "memory_activity"},
    {"graphs", "graph_activity"},          {"external_correlation", "external_correlation"},
    {"scopes", "scope_attribution"},       {NULL, NULL},
};

const char *peer_word_ours(const struct peer_word *words, const char *theirs, size_t len)
{
    for (; words->ours; words++)
        if (strlen(words->theirs) == len && !memcmp(words->theirs, theirs, len))
            return words->ours;
    return NULL;
}

const char *peer_word_theirs(const struct peer_word *words, const char *ours)
{
    for (; words->ours; words++)
        if (!strcasecmp(words->ours, ours))
            return words->theirs;
    return NULL;
}
