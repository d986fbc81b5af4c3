/* history_rows.h - collects rows of the question trend by session, as a series in order of time.
 * Called by the owner's thread only. */
#ifndef GPUFL_SERVER_API_HISTORY_ROWS_H
#define GPUFL_SERVER_API_HISTORY_ROWS_H

#include "analyze/compare/history.h"
#include "base/region.h"
#include "store/store.h"

enum {
    HISTORY_ROWS_MAX = 200000,
    HISTORY_SHAPES_MAX = 64,
    HISTORY_ROWS_MEMORY = 256 << 20,
};

/* Holds a row of an answer, a launch shape on a GPU in a session. The first row of a session
 * becomes the session's sums over shapes and GPUs. */
struct history_session {
    const char *session, *app, *host, *gpu; /* gpu: "" if there are several */
    const char *shape;                      /* of a row */
    int64_t started;                        /* ns since the Unix epoch */
    int64_t calls, total;
    double p50, p99; /* NAN: of several rows, which have no common quantile */
    double share;
};

struct history_shape {
    const char *shape;
    int64_t sessions, calls, total;
};

struct history_rows {
    struct region memory;
    struct history_session *block;     /* the last block of rows, in memory */
    struct history_session **sessions; /* owned: the rows, later the first of each session */
    size_t count, cap;
    struct history_shape shapes[HISTORY_SHAPES_MAX];
    size_t shape_count;
    struct history_point *points; /* after history_rows_finish; one for each session */
};

void history_rows_init(struct history_rows *h);
void history_rows_fini(struct history_rows *h);

/* Makes the visitor that takes an answer's rows, in any order. GPUFL_E_FULL: more than
 * HISTORY_ROWS_MAX rows. */
struct store_visitor history_rows_visitor(struct history_rows *h);

/* Makes the sessions and the points for history_find, by start and session, and sorts the shapes by
 * time. 0 or GPUFL_E_NOMEM. */
int history_rows_finish(struct history_rows *h);

#endif
