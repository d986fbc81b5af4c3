/* history_rows.h - gathers rows of the question kernel_history by session, as a series in the
 * order of time. Owner's thread. */
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

/* A session's sums over launch shapes and GPUs. */
struct history_session {
    const char *session, *app, *host, *gpu; /* gpu: "" where there are several */
    int64_t started;                        /* ns since the Unix epoch */
    int64_t calls, total;
    double p50, p99; /* NAN: of several rows, which have none together */
    double share;
    unsigned rows;
};

struct history_shape {
    const char *shape;
    int64_t sessions, calls, total;
};

struct history_rows {
    struct region memory;
    const char *host; /* of this one only; NULL: all */
    size_t rows;
    struct history_session *sessions;
    size_t count, cap;
    struct history_shape shapes[HISTORY_SHAPES_MAX];
    size_t shape_count;
    struct history_point *points; /* after history_rows_finish; one a session */
};

void history_rows_init(struct history_rows *h, const char *host);
void history_rows_fini(struct history_rows *h);

/* Takes an answer's rows: they come by start and session. FULL: more than HISTORY_ROWS_MAX. */
struct store_visitor history_rows_visitor(struct history_rows *h);

/* Points for history_find, and shapes in the order of their time. 0 or NOMEM. */
int history_rows_finish(struct history_rows *h);

#endif
