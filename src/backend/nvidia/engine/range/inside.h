/* inside.h - what the files of engine RangeProfiler share (range/profiler.h): its one state, and
 * what they do with it. Call with the lock, except where a comment says otherwise. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_INSIDE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_INSIDE_H

#include "backend/common/range_pick.h"
#include "backend/nvidia/engine/range/context.h"
#include "backend/nvidia/engine/range/profiler.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    RANGES = 64,            /* of one start */
    RANGE_RESULTS = 256,    /* that wait for the collector */
    RANGE_PASSES_MOST = 64, /* of one kernel, or scope that is repeated */
    RANGE_REPEATED = 1024,  /* kernels whose records are still to come */
    RANGE_SOURCE_RANGE = 2,
    RANGE_SOURCE_KERNEL = 3
};

struct range {
    char name[24]; /* its scope's number */
    uint64_t instance;
    int64_t start, end; /* ns */
    uint32_t window;    /* in which it began; 0: the session has none */
    uint32_t scope;     /* name of its scope, in the session's names */
    bool outside;       /* that closed before it ended: nothing of it is kept */
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

/* These words name what was chosen of the list: the host may be gone when it is reported. */
struct range_choice {
    size_t count, left_count, passes;                     /* count 0: not chosen yet */
    const char *names[METRICS_MOST], *left[METRICS_MOST]; /* the list's */
    char chip[32];
    uint32_t device; /* the driver's */
    bool told;
};

/* Why something was not counted. */
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
    bool kernels;            /* one by one, instead of scopes */
    struct range_pick pick;  /* which of them */
    bool opened;             /* a session runs */
    bool failed;             /* nothing is counted any more */
    bool stale;              /* of a session before: to be set up anew */
    bool more_passes;        /* would count more: known when chosen is */
    struct range ranges[RANGES];
    size_t range_count;             /* since the last start */
    _Atomic uint64_t open_instance; /* 0: none; also read without the lock */
    _Atomic bool beginning;         /* a thread begins one, which may take long; without the lock */
    /* Launches take it exclusively where they are counted, and shared where not: what other threads
     * launch while a kernel is repeated would be repeated, too, and a graph would not run at all.
     * The counted ones come first, or they would never. */
    pthread_rwlock_t launches;
    pthread_t owner;     /* thread of the open one */
    int64_t batch_began; /* ns */
    struct {             /* of the open scope, where its iterations are counted */
        bool on, pass_open, done;
        size_t passes;
    } repeated_scope;
    struct range_choice chosen, chosen_repeated; /* the latter of scopes that are repeated */
    struct range_result results[RANGE_RESULTS];
    size_t result_count;
    uint64_t lost;
    struct range_repeated {      /* when kernels ran that were repeated: their records do not say */
        uint32_t launch;         /* correlation */
        int64_t start, duration; /* ns */
    } repeated[RANGE_REPEATED];
    size_t repeated_count;                 /* ever; the latest are kept */
    uint32_t name_ids[METRICS_MOST];       /* of the list, of the sink; 0: not yet [collector] */
    uint64_t written;                      /* [collector] */
    _Atomic uint64_t passed_by[PASSED_BY]; /* without the lock */
} ranging;

/* The lock; false: the library calls back on the thread that calls it, or, not waiting, it is
 * taken. [any] */
bool ranges_enter(bool wait);
void ranges_leave(void);

void ranges_pass_by(enum range_passed why); /* without the lock, too */

/* Why, as a sentence has it. */
const char *ranges_why(enum range_passed why);
void ranges_fail_on(struct trace *t, int result, const char *doing);

/* What a session before has left is given back: no thread has a range open. */
void ranges_renew(struct trace *t);

/* The counters are this thread's context's, set up by this plan, or become so. */
bool ranges_ready(struct trace *t, const struct range_plan *plan);

/* Counts and names a scope whose begin was taken and that is not counted after all. */
void ranges_not_counted(struct trace *t, const struct range *r, enum range_passed why);

/* Forgets the ranges since the last start: those that have ended and were not read are lost. */
void ranges_drop(struct trace *t);

/* Takes so many decoded ranges; what cannot be read is lost. */
void ranges_take(struct trace *t, size_t count);

/* Stops, and takes what was counted. An enum cupti_result. */
int ranges_collect(struct trace *t);

/* Gives the counters back, as range_context_close. */
int ranges_close(struct trace *t);

/* Which metrics the values of a result are of. */
void ranges_name_metrics(struct range_result *to);
void ranges_results_drop(void);

/* Writes what was chosen and counted. [collector] */
void range_tell(struct trace *t);

#endif
