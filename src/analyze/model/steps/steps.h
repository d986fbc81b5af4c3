/* steps.h - the steps that a session repeats, and its steady part.
 *
 * docs/report.md has the rule, the only definition of a step. The steady part of a session begins
 * with its first step of STEADY_LEAST in a row that last about as long as the median one, and ends
 * with the last work of a GPU. The share base is the steady part where there is one, else the
 * whole: this part says which. The moment at which it begins is asked for while the session is
 * still read, if idle gaps cannot wait for the end (idle/spans.h); it is then decided for good by
 * what has been read. Merged models add the steps and the steady parts of their sessions. Owner's
 * thread. */
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
    STEADY_LEAST = 5, /* steps in a row with which the steady part may begin */
    STEADY_TIMES = 2, /* they last at most so many times as long as the median, and at least … */
};

struct steps_one {
    int64_t start, end; /* ns */
    int64_t busy;       /* ns in which a GPU ran something, summed over the devices that worked */
    uint64_t kernels;   /* that began in it; a graph recorded as a whole is one */
    uint32_t session;   /* from 1: of the merged ones with steps */
    uint8_t alike;      /* 1: it ran what most steps run */
    uint8_t steady;     /* 1: it is of the steady part */
};

/* What kernels of a name took before the steady parts. */
struct steps_before {
    int64_t name; /* id of model.names */
    /* not of the key: */
    int64_t ns; /* summed */
};

/* Why no steps were found, or why they have no steady part. */
enum steps_why {
    STEPS_FOUND,
    STEPS_NONE,      /* nothing repeats often enough */
    STEPS_NO_WORK,   /* no kernels are known */
    STEPS_WINDOWS,   /* only windows of the run were recorded */
    STEPS_UNSETTLED, /* found, but their lengths do not settle */
    STEPS_LATE,      /* found only after some of the idle time had to be summed up */
};

struct sum_steps {
    struct step_rows rows; /* while the session is read, as all down to `updates` */
    struct step_marks marks;
    struct keyed called;   /* kernels by name, and graphs */
    uint32_t *config_name; /* owned: by index of a configuration; 0: not asked yet */
    size_t config_count, config_cap;
    uint8_t *updates; /* owned: by name, an optimizer's kernel */

    struct steps_one *items; /* owned; after finish, as all below */
    size_t count, cap;
    enum steps_why why;
    uint32_t scope;    /* name of the scope; 0: by sequence */
    uint32_t kernel;   /* name of the kernel that begins each; 0: an optimizer's ends each */
    uint32_t thread;   /* of the scope, an id of the system; 0: unknown */
    unsigned devices;  /* that worked */
    unsigned sessions; /* with steps */
    unsigned steady;   /* of them, those with a steady part */
    int64_t start_up;  /* ns before the steady parts, summed */
    int64_t end;       /* ns after the last work of sessions with a steady part, summed */
    int64_t compute_before, any_before; /* ns of devices before the steady parts: kernels; all */
    int64_t copies_before; /* ns of copies and fills before them, or after their steps */
    int64_t pageable_before[TRANSFER_KINDS]; /* of these: memory that is not pinned, by kind */
    struct keyed before; /* struct steps_before: ns of kernels before them, by name */
    bool before_partly;  /* not of all names */
    struct busy spans;   /* the steady parts; of sessions without one the whole */
    uint64_t beyond;     /* rows that were not kept */
    int64_t begins;      /* ns: where the steady part begins; INT64_MIN: nowhere, or not decided */
    bool decided;        /* `begins` holds for good */
    bool asked;          /* idle time was summed up before there was a steady part */
    bool finished;
};

void sum_steps_init(struct model *m);
void sum_steps_fini(struct model *m);
int sum_steps_batch(struct model *m, const struct wire_batch *b);
int sum_steps_merge(struct model *into, const struct model *from, int64_t shift);
int sum_steps_finish(struct model *m);

/* Where the steady part of the session begins: INT64_MIN where it has none. Decides it. 0 or
 * GPUFL_E_NOMEM. */
int sum_steps_begin(struct model *m, int64_t *begins);
/* Where the last step of the session's steady part ends, ns: what waits and copies cost after it is
 * paid once, however long the run. INT64_MAX where there is no steady part, or not all rows have
 * been read. For one session. */
int64_t sum_steps_over(const struct model *m);
/* The session's last work ended then; called once idle time is summed up. 0 or GPUFL_E_NOMEM. */
int sum_steps_end(struct model *m, int64_t ended);

/* ---- answers, after finish --------------------------------------------------------------- */

/* The share base is the steady part. */
bool sum_steps_steady(const struct model *m);
/* The share base, ns, and its name: "the steady part", "the run", "the windows". */
int64_t sum_steps_time(const struct model *m);
const char *sum_steps_whole(const struct model *m);
/* The part of a sum of kernels' times that lies in the share base: from 0 to 1. */
double sum_steps_part(const struct model *m);
/* That part for kernels of one name, whose time is `total` ns. */
double sum_steps_kernel_part(const struct model *m, uint32_t name, int64_t total);
/* That part for copies and fills, and for copies of a kind whose memory is not pinned. */
double sum_steps_copy_part(const struct model *m);
double sum_steps_pageable_part(const struct model *m, uint32_t kind);

/* How long steps last: of the steady part, or of all where there is none. ns; quantile: 0 to 1. */
struct steps_lengths {
    size_t count, alike;
    int64_t least, median, p95, most;
};

int sum_steps_lengths(const struct model *m, struct steps_lengths *out);

/* ns of a step in which devices had nothing to do, summed over those that worked. */
int64_t sum_steps_idle(const struct model *m, const struct steps_one *t);

const char *sum_steps_why_key(enum steps_why w); /* "nothing_repeats", …; "" for STEPS_FOUND */
const char *sum_steps_why(enum steps_why w);     /* for people, a clause */

/* What rows of a session that is being read are called (step_name): how many names there are, and
 * the kernel's id of model.names; 0: a graph, or one of many. */
uint32_t sum_steps_names(const struct model *m);
uint32_t sum_steps_name(const struct model *m, uint32_t name);

/* ---- measure.c --------------------------------------------------------------------------- */

/* Makes items of what was found, and finds where they settle: *settled is count where they do not.
 * 0 or GPUFL_E_NOMEM. */
int step_measure(struct sum_steps *s, const struct step_found *found, size_t *settled);
/* Sums up what devices did before the steady part, what each kernel took there, and what copies
 * took before it or after its steps. 0 or GPUFL_E_NOMEM. */
int step_measure_before(struct model *m);
int step_before_add(struct sum_steps *s, const struct steps_before *one);

#endif
