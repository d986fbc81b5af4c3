/* facts.h - what the session says about itself: header, clock, options, capabilities, messages,
 * windows, and how it ended. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_FACTS_H
#define GPUFL_ANALYZE_MODEL_FACTS_H

#include "analyze/common/busy.h"
#include "analyze/common/epoch_clock.h"
#include "analyze/model/endings.h"
#include "wire/encode.h"

#include <stdbool.h>

struct model;
struct wire_batch;

/* Limits how many are kept in each list. A session has a setting for each name of a scope that
 * hardware counters left out (capture/records/uncounted.c: 1024), and other settings. */
enum { FACTS_MESSAGES = 200, FACTS_ROWS = 256, FACTS_SETTINGS = 4096 };

struct facts_option {
    uint32_t name, value, source; /* ids of model.names */
};

/* Holds what one or several sessions say about a feature. In a merged model a feature has a row for
 * each different answer. */
struct facts_capability {
    uint32_t feature, status, reason;
    bool requested;
    int64_t pass;      /* number of the pass, if it is not the one with the times; else 0 */
    unsigned sessions; /* sessions with this answer */
};

struct facts_setting {
    uint32_t engine, name, value; /* like the cells of the record setting */
};

/* Holds the requested engine and the one that ran instead. Names. */
struct facts_stand_in {
    uint32_t asked, ran; /* ran 0: the requested engine ran, or the log does not say */
    uint32_t why;        /* 0: the log does not say */
};

struct facts_message {
    int64_t time; /* ns on the model's clock */
    int severity; /* 1 note, 2 warning, 3 error */
    uint32_t code, text;
    uint64_t count; /* how often this text was logged */
};

struct sum_facts {
    uint32_t session, app, host, run, command, engine, backend, version, system; /* names */
    uint32_t end_reason;
    uint32_t ending; /* how the program of a session without an end ended; 0: unknown, or merged */
    struct endings endings; /* of all sessions without an end, set when a session is complete */
    bool header;            /* one was seen */
    bool simulated;         /* also: any of the merged sessions */
    bool any;               /* an event was seen: first and last are set */
    bool partial;     /* set by the reader: only a part of the log was read; the report says so */
    bool ended;       /* cleanly; merged: all of them */
    unsigned damaged; /* channels not read whole: bits by DISCOVER_; set by the reader */
    unsigned absent;  /* channels without a file: bits; set by the reader, of one session */
    int64_t pid;
    int64_t pass, passes;         /* of `gpufl trace --passes`, from 1; 0: the command ran once */
    int64_t start;                /* of the session, ns; without a header, of the first record */
    int64_t end;                  /* ns; the last event if the session did not end cleanly */
    int64_t first, last;          /* start of the first and end of the last event, ns */
    struct epoch_clock clock;     /* from the pair that was read with the least uncertainty */
    uint64_t rows[RECORD_COUNT];  /* rows read, by record type */
    unsigned sessions;            /* merged ones; 1 for a session */
    unsigned unclean;             /* sessions without an end */
    unsigned over;                /* of these: the process is known to have ended */
    unsigned end_unknown;         /* sessions whose end is in a channel that cannot be read */
    bool end_missing;             /* of one session: that channel has no file */
    unsigned cut_short;           /* sessions whose capture did not last to the program's end */
    unsigned apart;               /* sessions without work on a GPU, which no other member counts */
    int64_t summed;               /* ns: the lengths of the sessions */
    struct busy covered;          /* merged: the time in which a session ran */
    struct facts_option *options; /* owned */
    size_t option_count, option_cap;
    struct facts_capability *capabilities; /* owned */
    size_t capability_count, capability_cap;
    struct facts_setting *settings; /* owned; the last of each name, or all where it may repeat */
    size_t setting_count, setting_cap;
    uint64_t settings_dropped;      /* beyond FACTS_SETTINGS */
    struct facts_message *messages; /* owned; FACTS_MESSAGES at most */
    size_t message_count, message_cap;
    uint64_t messages_dropped; /* different ones beyond that */
    bool library_ended;  /* the driver's profiling library ended by itself (message cupti.ended) */
    bool library_handed; /* or was given to the program's own profiler (cupti.handed_over) */
    int64_t library_end; /* ns: when that happened */
};

void sum_facts_init(struct model *m);
void sum_facts_fini(struct model *m);
int sum_facts_header(struct model *m, const struct wire_header *h);
int sum_facts_batch(struct model *m, const struct wire_batch *b);
int sum_facts_merge(struct model *into, const struct model *from, int64_t shift);
int sum_facts_finish(struct model *m);

/* Adds the facts of a session without work on a GPU: what became of its requests, and its
 * messages. */
int sum_facts_merge_apart(struct model *into, const struct model *from, int64_t shift);

/* Returns the best answer about a feature among all sessions. NULL: none. */
const struct facts_capability *sum_facts_capability(const struct model *m, const char *feature);

/* Returns true if c is that best answer. */
bool sum_facts_is_best(const struct model *m, const struct facts_capability *c);

/* Adds the facts of a session of another pass than the one with the times: settings and messages,
 * and features that only this pass has. */
int sum_facts_merge_pass(struct model *into, const struct model *from, int64_t shift);

/* Returns the value of an option as the session records it; 0: not recorded. */
uint32_t sum_facts_option(const struct model *m, const char *name);

/* Returns the requested engine of one session, and the one that ran. */
struct facts_stand_in sum_facts_stand_in(const struct model *m);

/* Returns when the driver's profiling library ended itself, in the session with the times, or in
 * the first of merged ones; INT64_MAX: it did not. */
int64_t sum_facts_ended(const struct model *m);

/* Returns the offset from the session's times to ns since the Unix epoch; 0: unknown. */
int64_t sum_facts_epoch(const struct model *m);

/* Returns why the capture ended, in words; the reason itself where it is not known to us. */
const char *sum_facts_end_text(const struct model *m);

/* Returns the session's length, ns; merged: the time in which one ran. 0: unknown. */
int64_t sum_facts_duration(const struct model *m);

#endif
