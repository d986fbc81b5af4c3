/* intake.h - is the part of the server that receives sessions: opens and closes sessions, journal,
 * ingest and loader in the right order.
 *
 * The data folder has journal/, kept/ (frames that decoders need again, and identities of windows),
 * and aside/ (frames that could not be loaded). */
#ifndef GPUFL_SERVER_INTAKE_INTAKE_H
#define GPUFL_SERVER_INTAKE_INTAKE_H

#include "server/intake/ingest.h"
#include "server/intake/journal.h"
#include "server/intake/loader/loader.h"
#include "server/intake/sessions.h"

struct intake_config {
    const char *data; /* folder, created */
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;           /* NULL: sessions are not registered */
    unsigned threads;            /* of the loader; 0: 1 */
    bool shared;                 /* as in sessions_config */
    int64_t journal_most;        /* bytes; 0: default */
    int64_t segment_bytes;       /* 0: default */
    int64_t keep_free;           /* 0: default */
    int64_t body_max, plain_max; /* 0: default */
    unsigned backlog_sessions;   /* of ingest_config; 0: default */
    int64_t backlog_bytes;       /* of ingest_config; 0: default */
    unsigned
        open_most; /* sessions open in the store at the same time; 0: as many as it has room for */
    int64_t commit_ns, gather_ns, quiet_ns, silence_ns, idle_ns, retry_ns; /* 0: default */
    uint64_t commit_rows;                                                  /* 0: default */
    struct fleet *fleet; /* gets the states of hosts and GPUs; may be NULL */
    void *arg;
    void (*news)(void *arg, const struct loader_news *n); /* may be NULL */
};

struct intake {
    struct sessions *sessions;
    struct loader *loader;
    struct journal *journal;
    struct ingest *ingest;
};

/* Opens all parts and starts to load the journal. */
int intake_open(struct intake *in, const struct intake_config *c, struct err *e);

/* Ends the intake, after the last ingest_close. Frames that are not loaded stay in the journal. */
void intake_close(struct intake *in);

#endif
