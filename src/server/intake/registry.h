/* registry.h - the session's entry in the small tables, written while it is loaded.
 *
 * Collected from headers and rows as they are decoded; written before a commit, so
 * that no columns are without an entry, and counts after it. One session's loader. */
#ifndef GPUFL_SERVER_INTAKE_REGISTRY_H
#define GPUFL_SERVER_INTAKE_REGISTRY_H

#include "base/err.h"
#include "meta/meta.h"
#include "wire/decode.h"

#include <stdbool.h>

enum {
    REGISTRY_TEXT = 256,  /* bytes of a text */
    REGISTRY_NAMES = 256, /* of a commit's first names, and of its last ones: see registry_name */
    REGISTRY_KEPT = 128,  /* names that rows of GPUs have, for good: a log writes each once */
    REGISTRY_GPUS = 64,
};

struct registry_name {
    uint32_t id; /* 0: free */
    char text[REGISTRY_TEXT];
};

/* A GPU as its driver describes it; numbers that are unknown are CELL_NULL. */
struct registry_gpu {
    int64_t id;            /* of the log */
    int64_t index, memory; /* the driver's ordinal; bytes */
    char uuid[REGISTRY_TEXT], name[REGISTRY_TEXT];
    char vendor[32], driver[64];
};

struct registry {
    bool header;  /* one was seen */
    bool changed; /* something is to be put */
    bool foreign; /* the public client's */
    bool put;     /* the session has an entry */
    bool simulated;
    int64_t pid, offset, start; /* offset: epoch - monotonic; META_NONE: unknown */
    int64_t first;              /* least time of a row; INT64_MAX: none */
    char app[REGISTRY_TEXT], host[REGISTRY_TEXT], engine[64], version[64], system[128];
    char run[64];         /* of `gpufl trace --passes`; "" where the command ran once */
    int64_t pass, passes; /* which it is, of how many */
    char config[96];      /* "NAME, version N" of the server; "": none */
    bool labelled, passed, configured; /* the labels run, pass and config are there */
    struct registry_name *names;       /* owned: first and last ones, by id; NULL: none yet */
    struct registry_name *kept;  /* owned: REGISTRY_KEPT; text "": no name record has come yet */
    unsigned kept_count, untold; /* untold: of kept */
    struct registry_gpu gpus[REGISTRY_GPUS];
    unsigned gpu_count;
    bool ended; /* an `end` row was seen */
    int64_t end;
    uint64_t records, kernels; /* all that is committed */
    int64_t told;              /* CLOCK_MONOTONIC ns of the last registry_grow */
    uint64_t told_records;     /* which it wrote */
};

void registry_init(struct registry *r);
void registry_fini(struct registry *r);

/* Room for the names of GPUs that are recalled: 0 or NOMEM. Where rows have been given and some are
 * untold, the names, and then the rows again, complete them. */
int registry_keep(struct registry *r);
/* Forgets names, except those of GPUs. */
void registry_forget(struct registry *r);

void registry_header(struct registry *r, const struct wire_header *h);
/* Names of GPUs come before all others at a log's begin, and else right before their rows: the
 * first ones are remembered, and the last ones. 0 or NOMEM. */
int registry_name(struct registry *r, uint32_t id, const char *text, size_t len);
void registry_batch(struct registry *r, const struct wire_batch *b);

/* ns since the epoch of a time of the session's rows; 0: unknown. */
int64_t registry_epoch(const struct registry *r, int64_t time);

/* Puts the session's entry where something of it is new. STATE: it was deleted, or is of
 * another process. */
int registry_put(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 struct err *e);

/* Says whether registry_put has something to write. */
static inline bool registry_is_due(const struct registry *r)
{
    return !r->put || r->changed;
}

/* What registry_put notes as written; taken back where its transaction was undone. What had been
 * written before stays so: a label that was deleted since does not come back. */
struct registry_written {
    bool changed, put, labelled, passed, configured;
};

struct registry_written registry_written(const struct registry *r);
void registry_take_back(struct registry *r, const struct registry_written *before);

/* Totals; bytes: that the columns take. */
int registry_grow(struct registry *r, struct meta *m, const char *workspace, const char *session,
                  int64_t bytes, struct err *e);

/* Ended where an `end` row was seen or `complete` says so, else aborted. */
int registry_end(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 bool complete, struct err *e);

#endif
