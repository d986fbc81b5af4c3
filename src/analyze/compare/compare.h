/* compare.h - two sessions, or two sets of them: what got slower, what faster, and how sure that
 * is.
 *
 * Each kernel and scope gets a ratio b / a, and a test whether the ratio is more than chance:
 *
 *   - Two sessions or more on each side: Welch's t test on the logarithms of the sessions' mean
 *     durations. The session is the unit that was repeated: launches of one run share its clocks,
 *     its GPU and its neighbours, so counting them as repetitions would find differences
 *     everywhere. The test is on logarithms because durations are skewed and the answer is a ratio;
 *     it is Welch's because the two sides need not vary equally.
 *   - Otherwise: the Mann-Whitney U test on the durations of all calls, from their bins. It needs
 *     no distribution, and one launch that took a second hardly changes the result. It finds a
 *     difference between these two runs; one run cannot show whether the next one has it, too.
 *
 * Hundreds of kernels are hundreds of tests: q is p corrected for that (stats_false_alarms),
 * separately for kernels and for scopes. A verdict needs q below alpha, and a ratio that differs by
 * `least` or more. Called by the owner's thread only; digests must live as long as the
 * comparison. */
#ifndef GPUFL_ANALYZE_COMPARE_COMPARE_H
#define GPUFL_ANALYZE_COMPARE_COMPARE_H

#include "analyze/compare/digest.h"

#include <stdio.h>

#define COMPARE_ALPHA 0.05
#define COMPARE_LEAST 0.02
#define COMPARE_LARGE 0.1 /* a change that is never called "same" */

enum { COMPARE_SESSIONS = 64 /* sessions on each side */, COMPARE_SIDES = 2 };

#define COMPARE_VERDICTS(V)                                                                        \
    V(SAME, "same")     /* nothing that is both sure and large enough */                           \
    V(SLOWER, "slower") /* b takes longer a call */                                                \
    V(FASTER, "faster")                                                                            \
    V(MIXED, "mixed") /* sure that they differ, but most calls and the mean say the opposite */    \
    V(UNCLEAR, "unclear") /* too few calls to decide, or a large change that is not sure */        \
    V(NEW, "new")         /* in b only */                                                          \
    V(GONE, "gone")       /* in a only */

enum compare_verdict {
#define COMPARE_ENUM(id, word) COMPARE_##id,
    COMPARE_VERDICTS(COMPARE_ENUM)
#undef COMPARE_ENUM
        COMPARE_VERDICT_COUNT
};

const char *compare_verdict_word(enum compare_verdict v);

enum compare_test { COMPARE_NONE, COMPARE_OF_SESSIONS, COMPARE_OF_CALLS };

const char *compare_test_word(enum compare_test t); /* "none", "welch", "mann_whitney" */

struct compare_side {
    size_t sessions; /* sessions that have it */
    int64_t calls, total;
    bool cut;    /* a session has it that does not know how often: calls, total are too small */
    double mean; /* ns a call; NAN: none */
    /* Calls of an average session of the side. Sessions that do not know how many kernels or scopes
     * they had are left out; those without this one count. NAN: no session knows. */
    double calls_each;
    double total_each; /* ns */
    double gpu;        /* scopes: ns of kernels per call; NAN: unknown */
    int64_t p50, p99;  /* ns */
    struct digest_shape *shapes;
    size_t shape_count;
};

struct compare_row {
    const char *name; /* as in b, or as in a where b has none: mangled, or a path */
    struct compare_side sides[COMPARE_SIDES];
    double difference; /* of total_each: ns by which a run got longer; NAN: unknown */
    double ratio;      /* of a call's duration, b / a; NAN: unknown */
    double low, high;  /* its 95 % confidence interval; NAN: not of sessions */
    double better;     /* P(a call of b takes longer); NAN: unknown */
    double p, q;       /* NAN: not tested */
    enum compare_test test;
    enum compare_verdict verdict;
    bool shapes_differ;
};

/* Describes a setting or a measured fact that differs between the sides. */
struct compare_fact {
    const char *key;
    const char *const *values[COMPARE_SIDES]; /* distinct values, in the order of sessions */
    size_t counts[COMPARE_SIDES];
    bool measured;
};

/* Describes a total over whole runs. */
struct compare_total {
    const char *key, *unit;        /* unit: ns, or "" of a share */
    double means[COMPARE_SIDES];   /* over the sessions that have it; NAN: none has */
    unsigned known[COMPARE_SIDES]; /* how many have it */
    double ratio, low, high, p;    /* as in compare_row */
};

enum { COMPARE_TOTALS = 4 };

struct comparison {
    struct region memory;
    const struct digest *const *sides[COMPARE_SIDES]; /* the caller's */
    size_t counts[COMPARE_SIDES];
    double least;
    struct compare_row *kernels, *scopes; /* greatest difference first */
    size_t kernel_count, scope_count;
    struct compare_fact *facts;
    size_t fact_count;
    struct compare_total totals[COMPARE_TOTALS];
};

/* Opens a comparison. least: the least change of a call's duration that is reported, 0.02 for 2 %.
 * INVAL where a side is empty or has more than COMPARE_SESSIONS. Close in each case. */
int compare_open(struct comparison *c, const struct digest *const *a, size_t na,
                 const struct digest *const *b, size_t nb, double least);
void compare_close(struct comparison *c);

/* Appends the answer in sentences, a line each: the runs as a whole, then the largest changes that
 * are sure. The text, the JSON and the dashboard begin with these sentences. 0, or the error of the
 * buffer. */
int compare_say(const struct comparison *c, struct buf *out);

/* Puts the members of an open JSON object. top: rows of each table, 0 for all. */
void compare_put(const struct comparison *c, struct json_out *j, size_t top);

/* Writes the comparison as text for people. 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int compare_text(const struct comparison *c, FILE *out, size_t top, int width, bool color);

#endif
