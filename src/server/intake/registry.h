/* registry.h - keeps a session's entry in the small tables, which is written while the session is
 * loaded.
 *
 * The entry is made from headers and rows as they are decoded. It is written before a commit, so
 * that all columns have an entry; the counts are written after the commit. Used by one session's
 * loader thread. */
#ifndef GPUFL_SERVER_INTAKE_REGISTRY_H
#define GPUFL_SERVER_INTAKE_REGISTRY_H

#include "base/err.h"
#include "meta/meta.h"
#include "wire/decode.h"

#include <stdbool.h>

enum {
    REGISTRY_TEXT = 256, /* bytes of a text */
    /* Number of a commit's first names, and of its last ones: see registry_name. */
    REGISTRY_NAMES = 256,
    /* Names in rows of GPUs, which are kept, since a log writes each only once. */
    REGISTRY_KEPT = 128,
    REGISTRY_GPUS = 64,
};

struct registry_name {
    uint32_t id; /* 0: free */
    char text[REGISTRY_TEXT];
};

/* Describes a GPU as its driver describes it; numbers that are unknown are CELL_NULL. */
struct registry_gpu {
    int64_t id;            /* of the log */
    int64_t index, memory; /* the driver's ordinal; bytes */
    char uuid[REGISTRY_TEXT], name[REGISTRY_TEXT];
    char vendor[32], driver[64];
};

struct registry {
    bool header;  /* a header was seen */
    bool changed; /* something has to be written */
    bool foreign; /* the session is the public client's */
    bool put;     /* the session has an entry */
    bool simulated;
    int64_t pid, offset, start; /* offset: epoch - monotonic; META_NONE: unknown */
    int64_t first;              /* least time of a row; INT64_MAX: no rows */
    char app[REGISTRY_TEXT], host[REGISTRY_TEXT], engine[64], version[64], system[128];
    char run[64];         /* of `gpufl trace --passes`; "": the command ran once */
    int64_t pass, passes; /* number of this pass, and of all */
    char config[96];      /* "NAME, version N" of the server's configuration; "": none */
    bool labelled, passed, configured; /* the labels run, pass and config have been written */
    /* Owned: the first names, by id, and the last of those after them; NULL: none yet. */
    struct registry_name *names, *last_names;
    /* Owned: REGISTRY_KEPT items at most; text "": its name record has not come yet. */
    struct registry_name *kept;
    size_t kept_count, kept_cap, unnamed; /* unnamed: items of `kept` without a text */
    struct registry_gpu *gpus;            /* owned: REGISTRY_GPUS at most */
    size_t gpu_count, gpu_cap;
    bool ended; /* an `end` row was seen */
    int64_t end;
    uint64_t records, kernels; /* of all commits */
    int64_t grown_at;          /* CLOCK_MONOTONIC ns of the last registry_grow */
    uint64_t grown_records;    /* number of records then */
};

void registry_init(struct registry *r);
void registry_fini(struct registry *r);

/* Forgets names, except those of GPUs. If rows have come and some names are missing (`unnamed`),
 * give the names and then the rows again. */
void registry_forget(struct registry *r);

void registry_header(struct registry *r, const struct wire_header *h);
/* Takes a name. Names of GPUs come at the begin of a log, or right before their rows, so a commit's
 * first names and its last ones are kept. 0 or GPUFL_E_NOMEM. */
int registry_name(struct registry *r, uint32_t id, const char *text, size_t len);
int registry_batch(struct registry *r, const struct wire_batch *b); /* 0 or GPUFL_E_NOMEM */

/* Converts a time of the session's rows to ns since the Unix epoch; 0: unknown. */
int64_t registry_epoch(const struct registry *r, int64_t time);

/* Returns the time at which the session began, or that of its earliest row, in ns since the Unix
 * epoch; 0: unknown. */
int64_t registry_started(const struct registry *r);

/* Writes the session's entry if something is new. GPUFL_E_STATE: the session was deleted, or
 * belongs to another process. */
int registry_put(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 struct err *e);

/* Returns true if registry_put has something to write. */
static inline bool registry_is_due(const struct registry *r)
{
    return !r->put || r->changed;
}

/* Remembers what registry_put notes as written, which registry_take_back resets after its
 * transaction was undone. What had been written before stays: a label that was deleted since does
 * not come back. */
struct registry_written {
    bool changed, put, labelled, passed, configured;
};

struct registry_written registry_written(const struct registry *r);
void registry_take_back(struct registry *r, const struct registry_written *before);

/* Writes the totals; bytes: size of the columns. */
int registry_grow(struct registry *r, struct meta *m, const char *workspace, const char *session,
                  int64_t bytes, struct err *e);

/* Writes the session's end: ended if an `end` row was seen or `complete` is set, else aborted. */
int registry_end(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 bool complete, struct err *e);

#endif
