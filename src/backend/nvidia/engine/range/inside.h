/* inside.h - has the state and functions that the files of engine RangeProfiler share
 * (range/profiler.h). Callers hold the lock, except where a comment says otherwise. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_INSIDE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_INSIDE_H

#include "backend/common/range_pick.h"
#include "backend/nvidia/engine/range/context.h"
#include "backend/nvidia/engine/range/profiler.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    RANGES = 64,            /* ranges of one start */
    RANGE_RESULTS = 256,    /* results that wait for the collector */
    RANGE_PASSES_MOST = 64, /* passes of one kernel, or of a scope that is repeated */
    RANGE_REPEATED = 1024,  /* kernels whose records are still to come */
    RANGE_SOURCE_RANGE = 2,
    RANGE_SOURCE_KERNEL = 3
};

struct range {
    char name[24]; /* its scope's number */
    uint64_t instance;
    int64_t start, end; /* ns */
    uint32_t window;    /* in which the range began; 0: the session has no windows */
    uint32_t scope;     /* name of its scope, in the session's names */
    bool outside;       /* the window closed before the range ended, so it is not kept */
    bool read;          /* its values are among the results */
};

struct range_result {
    int source;
    uint64_t instance;             /* RANGE_SOURCE_RANGE: the scope */
    char *kernel;                  /* RANGE_SOURCE_KERNEL: its name, owned */
    int64_t launch;                /* the same: correlation */
    int64_t start, end;            /* ns; a kernel's end is unknown */
    size_t count;                  /* of values */
    uint8_t metrics[METRICS_MOST]; /* of the list */
    double values[METRICS_MOST];
};

/* Holds the metrics chosen from the list, by name, because the host may be closed when they are
 * reported. */
struct range_choice {
    size_t count, left_count, passes;                     /* count 0: not chosen yet */
    const char *names[METRICS_MOST], *left[METRICS_MOST]; /* the list's */
    char chip[32];
    uint32_t device; /* the driver's */
    bool reported;
};

/* Says why something was not counted. */
enum range_passed {
    OTHER_CONTEXT,
    OTHER_THREAD,
    CAPTURING,
    NO_NAME,
    TOO_FEW,
    NO_CONTEXT,
    IN_ANOTHER,
    NO_WINDOW,
    WINDOW_CHANGED,
    NOT_COUNTING,
    LEFT_OPEN,
    CONTEXT_GONE,
    UNREAD,
    PASSED_BY
};

extern struct ranging {
    pthread_mutex_t lock; /* guards the rest, except where a member says otherwise */
    struct profiler_library library;
    struct metric_list metrics;
    struct range_context at; /* the context that is counted */
    bool kernels;            /* single kernels are counted instead of scopes */
    struct range_pick pick;  /* which kernels */
    bool opened;             /* a session runs */
    bool failed;             /* nothing is counted any more */
    bool stale;              /* set up by an earlier session, so it has to be set up again */
    bool more_passes;        /* more passes would count more; known once `chosen` is */
    struct range ranges[RANGES];
    size_t range_count;             /* since the last start */
    _Atomic uint64_t open_instance; /* 0: none; also read without the lock */
    _Atomic bool beginning;         /* a thread begins a range, which may take long; without lock */
    /* A counted launch takes this exclusively, any other launch shared: work that other threads
     * launch while a kernel is repeated would be repeated, too, and a graph would not run at all.
     * Writers are preferred, because otherwise a counted launch might wait for ever. */
    pthread_rwlock_t launches;
    pthread_t owner;     /* thread of the open range */
    int64_t batch_began; /* ns */
    struct {             /* of the open scope, if its iterations are counted */
        bool on, pass_open, done;
        size_t passes;
    } repeated_scope;
    struct range_choice chosen, chosen_repeated; /* the latter for scopes that are repeated */
    struct range_result results[RANGE_RESULTS];
    size_t result_count;
    uint64_t lost;
    struct range_repeated {      /* when repeated kernels ran, which their records do not say */
        uint32_t launch;         /* correlation */
        int64_t start, duration; /* ns */
    } repeated[RANGE_REPEATED];
    size_t repeated_count;           /* of all so far; the latest are kept */
    uint32_t name_ids[METRICS_MOST]; /* the sink's, by place in the list; 0: none [collector] */
    uint64_t written;                /* [collector] */
    _Atomic uint64_t passed_by[PASSED_BY]; /* without the lock */
} ranging;

/* Takes the lock. False: this thread has it already, because the library calls back on the thread
 * that calls it; or, with wait false, another thread has it. [any] */
bool ranges_enter(bool wait);
void ranges_leave(void);

void ranges_pass_by(enum range_passed why); /* without the lock, too */

/* Returns the reason as part of a sentence. */
const char *ranges_why(enum range_passed why);
void ranges_fail_on(struct trace *t, int result, const char *doing);

/* Releases what an earlier session has left; no thread has a range open. */
void ranges_renew(struct trace *t);

/* Sets the counters up for this thread's context and this plan, unless they are. */
bool ranges_ready(struct trace *t, const struct range_plan *plan);

/* Counts and names a scope whose begin was accepted and that is not counted after all. */
void ranges_not_counted(struct trace *t, const struct range *r, enum range_passed why);

/* Forgets the ranges since the last start: those that have ended and were not read are lost. */
void ranges_drop(struct trace *t);

/* Takes this many decoded ranges; a range that cannot be read is lost. */
void ranges_take(struct trace *t, size_t count);

/* Stops, and takes the counted ranges. Returns an enum cupti_result. */
int ranges_collect(struct trace *t);

/* Releases the counters, like range_context_close. */
int ranges_close(struct trace *t);

/* Fills in to which metrics the values of a result belong. */
void ranges_name_metrics(struct range_result *to);
void ranges_results_drop(void);

/* Writes the chosen metrics and the results. [collector] */
void range_report(struct trace *t);

#endif
