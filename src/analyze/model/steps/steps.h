/* steps.h - finds the steps that a session repeats, and its steady part.
 *
 * docs/report.md defines what a step is. The steady part of a session begins with the first of
 * STEADY_LEAST steps in a row that last about as long as the median step, and ends with the last
 * work of a GPU. The share base is the steady part if there is one, else the whole. If idle gaps
 * have to be reported before the whole session is read (idle/spans.h), the beginning of the steady
 * part is decided from what has been read, and does not change later. Merged models add the steps
 * and the steady parts of their sessions. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_STEPS_STEPS_H
#define GPUFL_ANALYZE_MODEL_STEPS_STEPS_H

#include "analyze/common/busy.h"
#include "analyze/model/steps/find.h"
#include "analyze/model/system/transfers.h"

struct model;
struct wire_batch;

#define SUM_STEPS_TAKES                                                                            \
    (MODEL_TAKES(scope) | MODEL_TAKES(kernel) | MODEL_TAKES(graph_run) | MODEL_TAKES(memcpy) |     \
     MODEL_TAKES(memset))

enum {
    STEADY_LEAST = 5, /* steps in a row that begin the steady part */
    STEADY_TIMES = 2, /* they last between 1/STEADY_TIMES and STEADY_TIMES of the median */
};

struct steps_one {
    int64_t start, end; /* ns */
    int64_t busy;       /* ns in which a GPU ran something, summed over the devices that worked */
    uint64_t kernels;   /* that began in the step; a graph recorded as a whole counts as one */
    uint32_t session;   /* from 1: number among the merged sessions with steps */
    uint8_t alike;      /* 1: it ran what most steps ran */
    uint8_t steady;     /* 1: in the steady part */
};

/* Holds the time of kernels of one name before the steady parts. */
struct steps_before {
    int64_t name; /* id of model.names */
    /* not of the key: */
    int64_t ns; /* summed */
};

/* Says why no steps were found, or why they have no steady part. */
enum steps_why {
    STEPS_FOUND,
    STEPS_NONE,      /* nothing repeats often enough */
    STEPS_NO_WORK,   /* no kernels are known, or not all */
    STEPS_WINDOWS,   /* only windows of the run were recorded */
    STEPS_UNSETTLED, /* found, but their lengths vary too much to the end */
    STEPS_LATE,      /* some idle time had to be summed up before they were found */
};

struct sum_steps {
    struct step_rows rows; /* while the session is read, like all down to `updates` */
    struct step_marks marks;
    struct keyed called;   /* kernels by name, and graphs */
    uint32_t *config_name; /* owned: by index of a configuration; 0: not asked yet */
    size_t config_count, config_cap;
    uint8_t *updates; /* owned: by name, 1: an optimizer's kernel */

    struct steps_one *items; /* owned; after finish, like all below */
    size_t count, cap;
    enum steps_why why;
    uint32_t scope;    /* name of the scope; 0: by sequence */
    uint32_t kernel;   /* name of the kernel that begins steps; 0: an optimizer's ends them */
    uint32_t thread;   /* of the scope, an id of the system; 0: unknown, or several */
    bool mixed;        /* merged sessions have steps by other scopes or kernels */
    unsigned devices;  /* that worked */
    unsigned sessions; /* with steps */
    unsigned steady;   /* sessions of these with a steady part */
    int64_t start_up;  /* ns before the steady parts, summed */
    int64_t end;       /* ns after the last work of sessions with a steady part, summed */
    int64_t compute_before, any_before; /* ns of devices before the steady parts: kernels; all */
    int64_t copies_before; /* ns of copies and fills before them, or after their steps */
    int64_t pageable_before[TRANSFER_KINDS]; /* of these: memory that is not pinned, by kind */
    struct keyed before; /* struct steps_before: ns of kernels before them, by name */
    bool before_partly;  /* `before` lacks some names */
    struct busy spans;   /* the steady parts; sessions without one are here as a whole */
    uint64_t beyond;     /* rows that were not kept */
    int64_t begins;      /* ns: begin of the steady part; INT64_MIN: none, or not decided */
    bool decided;        /* `begins` does not change any more */
    bool asked;          /* idle time was summed up before there was a steady part */
    bool finished;
};

void sum_steps_init(struct model *m);
void sum_steps_fini(struct model *m);
int sum_steps_batch(struct model *m, const struct wire_batch *b);
int sum_steps_merge(struct model *into, const struct model *from, int64_t shift);
int sum_steps_finish(struct model *m);

/* Decides where the steady part of the session begins; INT64_MIN: it has none. 0 or
 * GPUFL_E_NOMEM. */
int sum_steps_begin(struct model *m, int64_t *begins);
/* Returns when the last step of the session's steady part ends, ns: waits and copies after that
 * happen once, however long the run is. INT64_MAX if there is no steady part, or not all rows
 * have been read. For one session. */
int64_t sum_steps_over(const struct model *m);
/* Sets when the session's last work ended; called once idle time is summed up. 0 or
 * GPUFL_E_NOMEM. */
int sum_steps_end(struct model *m, int64_t ended);

/* ---- answers, after finish --------------------------------------------------------------- */

/* Returns true if the share base is the steady part. */
bool sum_steps_steady(const struct model *m);
/* The functions return the share base, ns, and its name: "the steady part", "the run", "the
 * windows". */
int64_t sum_steps_time(const struct model *m);
const char *sum_steps_whole(const struct model *m);
/* Returns the share of the kernels' time that lies in the share base, from 0 to 1. */
double sum_steps_part(const struct model *m);
/* Returns that share for kernels of one name, whose time is `total` ns. */
double sum_steps_kernel_part(const struct model *m, uint32_t name, int64_t total);
/* The functions return that share for copies and fills, and for copies of one kind whose memory is
 * not pinned. */
double sum_steps_copy_part(const struct model *m);
double sum_steps_pageable_part(const struct model *m, uint32_t kind);

/* Holds the lengths of the steps in the steady part, or of all steps if there is none; ns. */
struct steps_lengths {
    size_t count, alike;
    int64_t least, median, p95, most;
};

int sum_steps_lengths(const struct model *m, struct steps_lengths *out);

/* Returns the ns of a step in which devices were idle, summed over the devices that worked. */
int64_t sum_steps_idle(const struct model *m, const struct steps_one *t);

const char *sum_steps_why_key(enum steps_why w); /* "nothing_repeats", …; "" for STEPS_FOUND */
const char *sum_steps_why(enum steps_why w);     /* for people, a clause */

/* The rows of a session that is being read have names (step_name): sum_steps_names returns their
 * number, sum_steps_name the kernel's id in model.names; 0: a graph, or STEP_OTHERS. */
uint32_t sum_steps_names(const struct model *m);
uint32_t sum_steps_name(const struct model *m, uint32_t name);

/* ---- measure.c --------------------------------------------------------------------------- */

/* Makes items of the steps that were found. *settled gets the index of the first step of the steady
 * part, or count if there is none. 0 or GPUFL_E_NOMEM. */
int step_measure(struct sum_steps *s, const struct step_found *found, size_t *settled);
/* Sums up what devices did before the steady part, the time of each kernel there, and the time of
 * copies before the steady part or after its steps. 0 or GPUFL_E_NOMEM. */
int step_measure_before(struct model *m);
int step_before_add(struct sum_steps *s, const struct steps_before *one);

#endif
