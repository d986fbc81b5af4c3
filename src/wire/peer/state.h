/* state.h - has the internals of the peer encoder, shared by encode.c (what the encoder has learnt,
 * and the lines of a session's life), rows.c, rows_scope.c,
 * rows_host.c, rows_profile.c and rows_code.c (event lines). */
#ifndef GPUFL_WIRE_PEER_STATE_H
#define GPUFL_WIRE_PEER_STATE_H

#include "wire/peer/encode.h"
#include "wire/peer/format.h"
#include "wire/rowset.h"

struct peer_name {
    char *text; /* owned, NUL-terminated */
    uint32_t len;
    uint32_t kernel_id; /* id in kernel_dict; 0: none yet */
    uint32_t scope_id;  /* id in scope_name_dict; 0: none yet */
    uint32_t metric_id; /* id in metric_dict; 0: none yet */
    uint32_t file_id;   /* id in source_file_dict; 0: none yet */
};

/* Lists the dictionaries of that format, by the names of their objects. */
enum peer_dictionary {
    DICTIONARY_KERNEL,
    DICTIONARY_SCOPE,
    DICTIONARY_FUNCTION,
    DICTIONARY_SYMBOL,
    DICTIONARY_METRIC,
    DICTIONARY_FILE,
    DICTIONARY_COUNT
};

/* Lists the cells of a function's row: its id, the record's columns, its function_id (0: none
 * yet). */
enum { FUNCTION_CELL_ID = 1 + COL_function_COUNT, FUNCTION_CELLS };

/* Lists the cells of a stack's row: its id, the record's columns, its function_id (0: none yet). */
enum { STACK_CELL_ID = 1 + COL_stack_COUNT, STACK_CELLS };

/* Holds the text of a source file while its pieces arrive. */
struct peer_text {
    struct buf text;
    int64_t path, size; /* size 0: none */
};

/* Lists the cells of a scope instance that was learnt. */
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

enum { PEER_PATH_DEPTH = 64 }; /* scopes in a path; scopes that enclose these are left out */

struct peer_encoder {
    struct peer_encode_config config;
    struct buf lines[PEER_CHANNEL_COUNT];
    struct wire_header header; /* texts owned, in header_text */
    struct buf header_text;
    bool has_header, started, finished;
    int64_t offset;   /* epoch = monotonic + offset */
    int64_t end_time; /* monotonic; CELL_NULL: no end row yet */

    /* Rows are found by id in sets, so that a damaged id takes one row and no more. The id is a
     * row's first cell. */
    struct rowset name_ids;  /* a row's index is also the index in names */
    struct peer_name *names; /* owned */
    size_t name_cap;
    uint32_t ids[DICTIONARY_COUNT]; /* ids given out in each dictionary */
    struct rowset devices, streams, configs, objects, functions, reasons;
    struct rowset modules, frames, stacks;
    struct rowset symbols; /* by frame and level */
    struct peer_text source;
    struct rowset device_metrics;            /* last sample, by device id */
    struct host_metric_row host;             /* last sample */
    int64_t *capabilities;                   /* owned: rows */
    size_t capability_cap, capability_count; /* cells allocated, rows */
    struct rowset scopes;                    /* learnt instances */
    int64_t *ended;               /* owned: the last config.scopes_kept that ended, in a circle */
    uint64_t ended_count;         /* number of scopes that ever ended */
    uint64_t *correlations[1024]; /* owned: pages of used 32-bit ids, 4 Mi bits each */
    uint32_t fresh;               /* next candidate for a repeated id, counts down */
    uint64_t batch_ids[PEER_BATCH_COUNT];
    uint64_t left_out;

    struct buf line, details;                /* of the present batch */
    struct buf dictionary[DICTIONARY_COUNT]; /* new entries, not written yet */
    struct buf trace;                        /* of trace_stack, outer|…|inner */
    int64_t trace_stack;                     /* CELL_NULL: none */
    struct buf path;                         /* user_scope of path_instance */
    int64_t path_instance;                   /* CELL_NULL: none */
    int64_t *columns;                        /* owned: rows turned into columns */
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

/* Returns a monotonic time as ns since the Unix epoch; a time out of range wraps, without
 * overflow. */
static inline int64_t peer_epoch(const struct peer_encoder *e, int64_t t)
{
    return (int64_t)((uint64_t)or_zero(t) + (uint64_t)e->offset);
}

/* ---- encode.c ---- */

/* Returns a name by id, or NULL. peer_text gives its text, "" for none. */
struct peer_name *peer_name_of(const struct peer_encoder *e, int64_t id);
const char *peer_text(const struct peer_encoder *e, int64_t id, size_t *len);

/* Returns a row of a table by id, or NULL. */
const int64_t *peer_row(const struct rowset *t, int64_t id);

/* Writes `,"key":` with a string, or with an integer. */
void peer_put_text(struct buf *b, const char *key, const char *text);
void peer_put_int(struct buf *b, const char *key, int64_t v);

/* Describes a member of a line that is a cell of a row. */
struct peer_member {
    const char *key;
    unsigned column;
};

void peer_put_cells(struct buf *b, const struct peer_member *members, size_t n, const void *row);

/* Writes `,"host":{…},"devices":[…]` for lines of the session's life. */
void peer_put_state(struct peer_encoder *e, struct buf *b);

/* Writes {"type":…,"pid":…,"app":…,"session_id":…, the begin of lines without a version. */
void peer_put_event(struct peer_encoder *e, struct buf *b, const char *type);

/* Sends e->line to one channel or to all; clears it. */
void peer_send(struct peer_encoder *e, enum peer_channel channel);
void peer_send_all(struct peer_encoder *e);

/* Writes job_start once, before the first line, with what is known of host and GPUs by then. */
void peer_start(struct peer_encoder *e);

/* ---- rows.c ---- */

/* Holds a batch line while its rows are written. */
struct rows_line {
    struct peer_encoder *e;
    enum peer_batch batch;
    unsigned columns;       /* written: the optional ones of device metrics may be left out */
    unsigned unsigned_mask; /* columns whose cells are 64-bit patterns */
    unsigned decimal_mask;  /* columns whose cells are packed decimals */
    unsigned time_column;   /* where dt_ns stands */
    int64_t base;           /* monotonic time of the first row */
    bool open;
};

struct rows_line rows_begin(struct peer_encoder *e, enum peer_batch batch);

/* Adds a row and fills its cell dt_ns. False if time is no time. */
bool rows_put(struct rows_line *l, int64_t time, int64_t *cells);

/* Closes the batch and sends it after the dictionary entries that it needs; does nothing if the
 * batch has no rows. */
void rows_send(struct rows_line *l, enum peer_channel channel);

/* Writes new dictionary entries to every channel. */
void peer_send_dictionaries(struct peer_encoder *e);

/* Gives a text the next id of a dictionary. */
uint32_t peer_new_entry(struct peer_encoder *e, enum peer_dictionary d, const char *text,
                        size_t len);
/* Writes an entry of a dictionary under an id that another dictionary gave out. */
void peer_put_entry(struct peer_encoder *e, enum peer_dictionary d, uint32_t id, const char *text,
                    size_t len);

/* These functions return the ids of our names in dictionaries, and the driver's ordinal of a
 * device. */
int64_t peer_scope_name_id(struct peer_encoder *e, int64_t name);
int64_t peer_metric_id(struct peer_encoder *e, int64_t name);
int64_t peer_file_id(struct peer_encoder *e, int64_t name);
int64_t peer_device_index(struct peer_encoder *e, int64_t id);

/* Returns the name of a scope instance; 0: none, or unknown. */
int64_t peer_scope_name_of(struct peer_encoder *e, int64_t instance);

/* Writes `,"user_scope":"<path>"`. */
void peer_put_path(struct peer_encoder *e, struct buf *b, int64_t instance);

/* Returns a kernel's or function's name, demangled. */
const char *peer_shown(struct peer_encoder *e, int64_t name, size_t *len);

/* Returns true for events that become lines. */
bool peer_has_lines(enum record_type type);

/* Writes the lines of an event batch. */
int peer_put_batch(struct peer_encoder *e, const struct wire_batch *b);

/* ---- rows_scope.c ---- */

/* Learns the instance of a scope or scope_open row. */
int peer_learn_scope(struct peer_encoder *e, const struct wire_batch *b, size_t row);

int peer_put_scopes(struct peer_encoder *e, const struct wire_batch *b); /* also scope_open */

/* ---- rows_host.c ---- */

int peer_put_device_metrics(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_host_metrics(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_windows(struct peer_encoder *e, const struct wire_batch *b);

/* ---- rows_stack.c ---- */

int peer_learn_symbol(struct peer_encoder *e, const struct wire_batch *b, size_t row);
int64_t peer_stack_id(struct peer_encoder *e, int64_t stack); /* in function_dict; 0: none */
/* Writes `,"stack_trace":"outer|…|inner"`; the text is "" if there is no stack. */
void peer_put_trace(struct peer_encoder *e, struct buf *b, int64_t stack);

/* ---- rows_profile.c ---- */

int peer_put_samples(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_metrics(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_counters(struct peer_encoder *e, const struct wire_batch *b);
int64_t peer_function_id(struct peer_encoder *e, int64_t function); /* in function_dict; 0: none */

/* ---- rows_code.c ---- */

int peer_put_instructions(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_sources(struct peer_encoder *e, const struct wire_batch *b);
int peer_put_settings(struct peer_encoder *e, const struct wire_batch *b);

#endif
