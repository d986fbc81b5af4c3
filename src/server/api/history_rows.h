/* history_rows.h - collects rows of the question kernel_history by session, as a series in order of
 * time. Called by the owner's thread only. */
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

/* Holds a session's sums over launch shapes and GPUs. */
struct history_session {
    const char *session, *app, *host, *gpu; /* gpu: "" where there are several */
    int64_t started;                        /* ns since the Unix epoch */
    int64_t calls, total;
    double p50, p99; /* NAN: of several rows, which have no common quantile */
    double share;
    unsigned rows;
};

struct history_shape {
    const char *shape;
    int64_t sessions, calls, total;
};

struct history_rows {
    struct region memory;
    const char *host; /* only sessions of this host; NULL: all */
    size_t rows;
    struct history_session *sessions;
    size_t count, cap;
    struct history_shape shapes[HISTORY_SHAPES_MAX];
    size_t shape_count;
    struct history_point *points; /* after history_rows_finish; one for each session */
};

void history_rows_init(struct history_rows *h, const char *host);
void history_rows_fini(struct history_rows *h);

/* Makes the visitor that takes an answer's rows, which come by start and session. GPUFL_E_FULL:
 * more than HISTORY_ROWS_MAX rows. */
struct store_visitor history_rows_visitor(struct history_rows *h);

/* Makes the points for history_find, and sorts the shapes by time. 0 or GPUFL_E_NOMEM. */
int history_rows_finish(struct history_rows *h);

#endif
