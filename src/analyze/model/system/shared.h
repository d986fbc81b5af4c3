/* shared.h - finds samples that another session took for this one.
 *
 * Sessions of one folder share the samples of the host and of GPUs: the log says which session
 * takes them and when (record sampler). These records become spans. A report of all these sessions
 * has all samples; a report of some of them also reads the samples of the others, each session once
 * and only within the spans, so that nothing counts twice. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_SHARED_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_SHARED_TAKES MODEL_TAKES(sampler)

/* Names are ids of model.names. */
struct shared_span {
    uint32_t session;     /* the session that takes the samples */
    uint32_t host, place; /* where that session is; place 0: in the folder of session `by` */
    uint32_t by;          /* the session that says so */
    uint32_t device;      /* index in model.devices; 0: the host */
    int64_t interval;     /* ns */
    int64_t from, to;     /* ns on the model's clock; to CELL_NULL: until the session's end */
};

/* Describes a session that took samples, and what was found in its log. */
struct shared_source {
    uint32_t session, host, place;
    uint32_t by;      /* a session that relies on it */
    bool here;        /* the session is in this report */
    bool read;        /* its samples were read */
    uint64_t samples; /* taken from its log, of the host and of devices */
};

struct sum_shared {
    struct shared_span *spans; /* owned; by time within a session */
    size_t count, cap;
    struct shared_source *sources; /* owned; filled by the report */
    size_t source_count, source_cap;
};

/* Selects the rows of a source's log: those within the spans of another model. */
struct shared_filter {
    const struct model *into;
    uint32_t session;
};

void sum_shared_init(struct model *m);
void sum_shared_fini(struct model *m);
int sum_shared_batch(struct model *m, const struct wire_batch *b);
int sum_shared_merge(struct model *into, const struct model *from, int64_t shift);
int sum_shared_finish(struct model *m);

/* Lists the sources, each once, in the order of the spans. 0 or GPUFL_E_NOMEM. */
int sum_shared_list(struct model *m);

/* Says what a row of a source's log means to the sessions that rely on it. */
enum shared_row {
    SHARED_NONE,
    /* At most one interval before a span: its values hold at the span's begin, but time and energy
     * before that are not the sessions'. */
    SHARED_BEFORE,
    SHARED_WITHIN,
};

/* Judges a row of m at that time, of a device (index in m's devices; 0: the host). */
enum shared_row sum_shared_takes(const struct shared_filter *f, const struct model *m,
                                 uint32_t device, int64_t time);

/* Adds the samples of a source, which was read with a filter into a separate model. 0 or
 * GPUFL_E_NOMEM. */
int sum_shared_add(struct model *into, const struct model *from, struct shared_source *source);

#endif
