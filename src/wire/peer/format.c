/* format.c - has the tables of format.h. */
#include "wire/peer/format.h"

#include "wire/engine.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
#define BATCH(batch, type, version) \
    }; static const char *const columns_##batch[] = {
#define COLUMN(batch, column) #column,
static const char *const columns_none[] __attribute__((unused)) = {
    NULL,
#include "wire/peer/format.def"
};
/* clang-format on */

const struct peer_batch_format peer_batches[PEER_BATCH_COUNT] = {
#define BATCH(batch, type, version)                                                                \
    {type, version, columns_##batch, sizeof columns_##batch / sizeof *columns_##batch},
#include "wire/peer/format.def"
};

const struct peer_word peer_features[] = {
    {"kernels", "kernel_events"},          {"copies", "memcpy_activity"},
    {"synchronizations", "sync_activity"}, {"memory", "memory_activity"},
    {"graphs", "graph_activity"},          {"external_correlation", "external_correlation"},
    {"scopes", "scope_attribution"},       {NULL, NULL},
};

const char *const peer_wide_metrics[PEER_WIDE_METRICS] = {
    "sm_throughput_pct",
    "l1_hit_rate_pct",
    "l2_hit_rate_pct",
    "dram_read_bytes",
    "dram_write_bytes",
    "tensor_active_pct",
    "achieved_occupancy_pct",
    "shared_load_bank_conflicts",
    "shared_store_bank_conflicts",
    "shared_bank_conflicts",
    "shared_wavefronts",
    "shared_bank_conflict_overhead_pct",
    "shared_bank_conflict_nway",
};

const char *const peer_wide_drivers[PEER_WIDE_METRICS] = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    NULL,
    NULL,
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

/* The public client's engine that repeats kernels is a mode of RangeProfiler's. */
static const struct peer_word repeats = {"RangeProfilerKernelReplay",
                                         "range_profiler_kernel_replay"};

const char *peer_engine_ours(const char *theirs)
{
    for (const struct engine_row *r = engine_table; r->name; r++)
        if (!strcmp(r->peer, theirs))
            return r->name;
    return strcmp(theirs, repeats.theirs) ? NULL : repeats.ours;
}

const char *peer_engine_theirs(const char *ours)
{
    for (const struct engine_row *r = engine_table; r->name; r++)
        if (!strcasecmp(r->name, ours))
            return r->peer;
    return strcasecmp(ours, repeats.ours) ? NULL : repeats.theirs;
}

bool peer_is_source(const char *path, size_t len)
{
    static const char *const endings[] = {".c", ".cc",  ".cpp", ".cxx", ".cu", ".cuh",  ".hpp",
                                          ".h", ".inl", ".rs",  ".f90", ".py", ".ipynb"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (len >= n && !memcmp(path + len - n, endings[i], n))
            return true;
    }
    return false;
}
