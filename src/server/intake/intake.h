/* intake.h - the part of the server that receives sessions: sessions, journal, ingest and
 * loader, opened and closed in the right order.
 *
 * Under the data folder: journal/, kept/ (frames that decoders must hear again, and
 * windows' identities), aside/ (frames that could not be loaded). */
#ifndef GPUFL_SERVER_INTAKE_INTAKE_H
#define GPUFL_SERVER_INTAKE_INTAKE_H

#include "server/intake/ingest.h"
#include "server/intake/journal.h"
#include "server/intake/loader.h"
#include "server/intake/sessions.h"

struct intake_config {
    const char *data; /* folder, created */
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;           /* NULL: nothing is registered */
    unsigned threads;            /* of the loader; 0: 1 */
    bool shared;                 /* as of sessions_config */
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
    struct fleet *fleet; /* takes what hosts and GPUs do; NULL: nobody asks */
    void *arg;
    void (*news)(void *arg, const struct loader_news *n); /* NULL: nobody asks */
};

struct intake {
    struct sessions *sessions;
    struct loader *loader;
    struct journal *journal;
    struct ingest *ingest;
};

/* Loads what the journal holds, from here on. */
int intake_open(struct intake *in, const struct intake_config *c, struct err *e);

/* Called after the last ingest_close. Frames that are accepted and not loaded stay in the
 * journal. */
void intake_close(struct intake *in);

#endif
