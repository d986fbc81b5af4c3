/* model.h - everything a report says, accumulated from batches.
 *
 * There is one model for each session, and one for all sessions of a directory. A model consists of
 * parts, the rows of parts.def. A part says which records it takes, adds a batch, merges with the
 * part of another model, and computes its results at the end; it knows nothing of files. Memory
 * depends on the number of different kernels, launch configurations and scope paths, not on the
 * number of rows.
 *
 * Names are ids of one table for all models, so that merging compares numbers. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_MODEL_H
#define GPUFL_ANALYZE_MODEL_MODEL_H

#include "analyze/model/kernels/definitions.h"
#include "analyze/model/kernels/short_names.h"
#include "base/intern.h"
#include "wire/decode.h"

#define PART(name, prefix, takes, gives)
#include "analyze/model/parts.def"

/* Holds the meaning of a log's ids, while the log is read. Arrays grow on demand. */
struct refs {
    uint32_t *names; /* owned: id of a name in the log to id in model.names; 0: none */
    size_t name_count, name_cap;
    uint32_t *streams; /* owned: id of a stream to index in model.devices; 0: unknown */
    size_t stream_count, stream_cap;
    uint32_t *devices; /* owned: id of a device to index in model.devices; 0: unknown */
    size_t device_count, device_cap;
    uint32_t *configs; /* owned: id of a configuration to index in model.kernels; 0: unknown */
    size_t config_count, config_cap;
};

struct model {
    struct intern *names; /* the caller's, shared by all models */
    struct refs refs;     /* empty after model_finish */
#define PART(name, prefix, takes, gives) struct prefix name;
#include "analyze/model/parts.def"
    struct sum_short_names short_names; /* empty until sum_short_names_make */
    struct sum_definitions definitions; /* empty until sum_definitions_find */
};

/* Says what a pass of `gpufl trace --passes` may give. The times always come from the pass of
 * Trace. */
enum model_gives {
    MODEL_SAMPLES = 1,
    MODEL_INSTRUCTIONS = 2, /* SASS metrics */
    MODEL_COUNTERS = 4,
};

/* Describes one part of the model. Members may be NULL. Functions return 0 or GPUFL_E_NOMEM. */
struct model_part {
    const char *id;
    uint64_t takes; /* a bit for each record type */
    void (*init)(struct model *m);
    void (*fini)(struct model *m);
    int (*batch)(struct model *m, const struct wire_batch *b);
    /* from: finished. shift: ns that are added to its times, to put them on into's clock. */
    int (*merge)(struct model *into, const struct model *from, int64_t shift);
    int (*finish)(struct model *m);
    enum model_gives gives; /* the kind of data that a pass may give it; 0: none */
};

#define MODEL_TAKES(type) (1ull << RECORD_##type)

void model_init(struct model *m, struct intern *names);
void model_fini(struct model *m);

/* The decoder calls these. */
int model_header(struct model *m, const struct wire_header *h);
int model_name(struct model *m, uint32_t id, const char *text, size_t len);
int model_batch(struct model *m, const struct wire_batch *b);

/* This is called after the last batch of a session: resolves the ids of the log, and frees what
 * maps them. */
int model_finish(struct model *m);

/* Adds a finished session to a model on the epoch clock, which is finished with model_settle. */
int model_merge(struct model *into, const struct model *from);
int model_settle(struct model *into);

/* Adds a finished session that did no work on a GPU: its samples and its facts, but not its
 * time. */
int model_merge_apart(struct model *into, const struct model *from);

/* Adds only some data of a finished session (bits of model_gives), with the code and devices that
 * these data refer to, and the session's facts. */
int model_merge_pass(struct model *into, const struct model *from, unsigned gives);

/* Returns the text of an id in model.names; "" for 0. */
const char *model_text(const struct model *m, uint32_t name);

/* Returns the words of a device's vendor; NVIDIA's where the vendor is unknown. */
struct device_row;
const struct words *model_device_words(const struct model *m, const struct device_row *d);

/* Returns the words of the devices' vendor; words for both where devices of both vendors are
 * there. */
const struct words *model_words(const struct model *m);

/* Returns the words of the vendor of the devices that ran a kernel of this name; model_words where
 * that is not known. */
const struct words *model_kernel_words(const struct model *m, uint32_t name);

/* Returns the words for a configuration's device. */
struct config_row;
const struct words *model_config_words(const struct model *m, const struct config_row *c);

/* Returns a name cell of a batch as an id of model.names; 0: none or unknown. */
static inline uint32_t model_name_cell(const struct model *m, int64_t cell)
{
    return cell > 0 && (uint64_t)cell < m->refs.name_count ? m->refs.names[cell] : 0;
}

/* Sets the meaning of an id of the log: model_ref_put(&r->names, …). An id beyond the ceiling is
 * skipped. 0 or GPUFL_E_NOMEM. */
int model_ref_put(uint32_t **at, size_t *count, size_t *cap, int64_t id, uint32_t value);

static inline uint32_t model_device_cell(const struct model *m, int64_t cell)
{
    return cell > 0 && (uint64_t)cell < m->refs.device_count ? m->refs.devices[cell] : 0;
}

/* Returns the index in model.devices of a stream cell; 0 is the unknown device. */
static inline uint32_t model_stream_device(const struct model *m, int64_t cell)
{
    return cell > 0 && (uint64_t)cell < m->refs.stream_count ? m->refs.streams[cell] : 0;
}

#endif
