/* peer_state.h - the peer encoder's inside, shared by peer_encode.c (what it
 * knows, and the lines of a session's life), peer_rows.c, peer_rows_scope.c and
 * peer_rows_host.c (event lines). */
#ifndef GPUFL_WIRE_PEER_STATE_H
#define GPUFL_WIRE_PEER_STATE_H

#include "wire/peer_encode.h"
#include "wire/peer_format.h"
#include "wire/rowset.h"

struct peer_name {
    char *text; /* owned, NUL-terminated */
    uint32_t len;
    uint32_t kernel_id; /* id in kernel_dict; 0: none yet */
    uint32_t scope_id;  /* id in scope_name_dict; 0: none yet */
};

/* A scope instance that was learnt. */
enum {
    SCOPE_CELL_INSTANCE,
    SCOPE_CELL_NAME,
    SCOPE_CELL_PARENT,
    SCOPE_CELL_START, /* CELL_NULL: a path, not an opening */
    SCOPE_CELL_DEPTH,
    SCOPE_CELL_REPEAT,
    SCOPE_CELL_WARMUP,
    SCOPE_CELL_BEGUN, /* its begin is written */
    SCOPE_CELLS
};

enum { PEER_PATH_DEPTH = 64 }; /* scopes of a path; what encloses them is left out */

struct peer_encoder {
    struct peer_encode_config config;
    struct buf lines[PEER_CHANNEL_COUNT];
    struct wire_header header; /* texts owned, in header_text */
    struct buf header_text;
    bool has_header, started, finished;
    int64_t offset;   /* epoch = monotonic + offset */
    int64_t end_time; /* monotonic; CELL_NULL: no end row yet */

    /* By id, in sets: a damaged id takes a row and no more. Of rows the id stands in front. */
    struct rowset name_ids;  /* whose place there is the one in names */
    struct peer_name *names; /* owned */
    size_t name_cap;
    uint32_t kernel_ids, scope_ids; /* ids given out in the two dictionaries */
    struct rowset devices, streams, configs;
    struct rowset device_metrics;            /* last sample, by device id */
    struct host_metric_row host;             /* last sample */
    int64_t *capabilities;                   /* owned: rows */
    size_t capability_cap, capability_count; /* cells allocated, rows */
    struct rowset scopes;                    /* learnt instances */
    int64_t *ended;               /* owned: the last config.scopes_kept that ended, in a circle */
    uint64_t ended_count;         /* ever */
    uint64_t *correlations[1024]; /* owned: pages of used 32-bit ids, 4 Mi bits each */
    uint32_t fresh;               /* next candidate for a repeated id, counts down */
    uint64_t batch_ids[PEER_BATCH_COUNT];
    uint64_t left_out;

    struct buf line, details, kernel_dict, scope_dict; /* of the present batch */
    struct buf path;                                   /* user_scope of path_instance */
    int64_t path_instance;                             /* CELL_NULL: none */
    int64_t *columns;                                  /* owned: rows given row by row, turned */
    size_t column_cap;
};

static inline int64_t cell(const struct wire_batch *b, unsigned column, size_t row)
{
    return b->col[column] ? b->col[column][row] : CELL_NULL;
}

static inline int64_t or_zero(int64_t v)
{
    return v == CELL_NULL ? 0 : v;
}

/* A monotonic time as ns since the epoch; wraps instead of overflowing for nonsense. */
static inline int64_t peer_epoch(const struct peer_encoder *e, int64_t t)
{
    return (int64_t)((uint64_t)or_zero(t) + (uint64_t)e->offset);
}

/* ---- peer_encode.c ---- */

/* A name by id, or NULL; and its text, "" for none. */
struct peer_name *peer_name_of(const struct peer_encoder *e, int64_t id);
const char *peer_text(const struct peer_encoder *e, int64_t id, size_t *len);

/* A row of a table by id, or NULL. */
const int64_t *peer_row(const struct rowset *t, int64_t id);

/* `,"key":` with a string, or with an integer. */
void peer_put_text(struct buf *b, const char *key, const char *text);
void peer_put_int(struct buf *b, const char *key, int64_t v);

/* Members of a line that are cells of a row. */
struct peer_member {
    const char *key;
    unsigned column;
};

void peer_put_cells(struct buf *b, const struct peer_member *members, size_t n, const void *row);

/* `,"host":{…},"devices":[…]`, as lines of the session's life have it. */
void peer_put_state(struct peer_encoder *e, struct buf *b);

/* {"type":…,"pid":…,"app":…,"session_id":… of lines without a version. */
void peer_put_event(struct peer_encoder *e, struct buf *b, const char *type);

/* Sends e->line to one channel or to all; clears it. */
void peer_send(struct peer_encoder *e, enum peer_channel channel);
void peer_send_all(struct peer_encoder *e);

/* ---- peer_rows.c ---- */

/* A batch line while its rows are written. */
struct rows_line {
    struct peer_encoder *e;
    enum peer_batch batch;
    unsigned columns;       /* written: the optional ones of device metrics may be left out */
    unsigned unsigned_mask; /* columns whose cells are 64-bit patterns */
    int64_t base;           /* monotonic time of the first row */
    bool open;
};

struct rows_line rows_begin(struct peer_encoder *e, enum peer_batch batch);

/* Adds a row; its first cell, dt_ns, is filled here. False where the time is no time. */
bool rows_put(struct rows_line *l, int64_t time, int64_t *cells);

/* Closes the batch, where it has rows, and sends it behind the dictionary entries it needs. */
void rows_send(struct rows_line *l, enum peer_channel channel);

/* Our name in scope_name_dict, and the driver's ordinal of a device. */
int64_t peer_scope_name_id(struct peer_encoder *e, int64_t name);
int64_t peer_device_index(struct peer_encoder *e, int64_t id);

/* True for events that become lines. */
bool peer_has_lines(enum record_type type);

/* Writes the lines of an event batch. */
int peer_put_batch(struct peer_encoder *e, const struct wire_batch *b);

/* ---- peer_rows_scope.c ---- */

/* What a row of scope or scope_open says about its instance. */
int peer_learn_scope(struct peer_encoder *e, const struct wire_batch *b, size_t row);

int peer_put_scopes(struct peer_encoder *e, const struct wire_batch *b); /* also scope_open */

/* ---- peer_rows_host.c ---- */

int peer_put_device_metrics(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_host_metrics(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_windows(struct peer_encoder *e, const struct wire_batch *b);

#endif
