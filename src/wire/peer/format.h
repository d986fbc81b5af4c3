/* format.h - has facts of the public GPUFlight client's format that reading
 * (read.c) and writing (encode.c) share. Everything here is constant; any thread may read it. */
#ifndef GPUFL_WIRE_PEER_FORMAT_H
#define GPUFL_WIRE_PEER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum peer_batch {
#define BATCH(batch, type, version) PEER_##batch,
#include "wire/peer/format.def"
    PEER_BATCH_COUNT
};

/* Gives the index of each column in its batch, such as PEER_kernel_dt_ns. */
/* clang-format off */
#define COLUMN(batch, column) PEER_##batch##_##column,
#define BATCH(batch, type, version) }; enum {
enum {
    PEER_COLUMNS_MAX = 24,
#include "wire/peer/format.def"
};
/* clang-format on */

struct peer_batch_format {
    const char *type;
    int version;
    const char *const *columns;
    unsigned column_count;
};

extern const struct peer_batch_format peer_batches[PEER_BATCH_COUNT];

/* Lists the values of event_type in a scope row. */
enum { PEER_SCOPE_BEGIN, PEER_SCOPE_END, PEER_SCOPE_CONTINUES, PEER_SCOPE_CONTINUED };

/* Says how many members of perf_metric_event and kernel_perf_metric_event are metrics. The first
 * PEER_RANGE_METRICS are in both; the second has all. */
enum { PEER_RANGE_METRICS = 6, PEER_WIDE_METRICS = 13 };
extern const char *const peer_wide_metrics[PEER_WIDE_METRICS];
/* Names each metric in NVIDIA's library; NULL: the library has no such metric. */
extern const char *const peer_wide_drivers[PEER_WIDE_METRICS];

/* Lists the values of sample_kind in a profile row. */
enum { PEER_PROFILE_SAMPLE, PEER_PROFILE_METRIC, PEER_PROFILE_LINE };

#define PEER_MIB (1ll << 20)

/* Holds our word and theirs for a thing that the two formats name differently. */
struct peer_word {
    const char *ours, *theirs;
};

extern const struct peer_word peer_features[]; /* of capture_capabilities; NULL ends */

/* Returns true if the text can be the path of a source file; "GLIBC_2.14" and "ns::" cannot.
 * [any] */
bool peer_is_source(const char *path, size_t len);

/* Returns the other side's word, or NULL. theirs has len bytes. [any] */
const char *peer_word_ours(const struct peer_word *words, const char *theirs, size_t len);
const char *peer_word_theirs(const struct peer_word *words, const char *ours);

/* The functions translate an engine's name, from theirs and to theirs; NULL: there is none. theirs
 * is profiling_engine after "nvidia.". [any] */
const char *peer_engine_ours(const char *theirs);
const char *peer_engine_theirs(const char *ours);

#endif
