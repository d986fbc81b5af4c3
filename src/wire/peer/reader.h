/* reader.h - has the internals of peer.h's reader, shared by
 *   read.c        which lines are known; feed, flush, finish
 *   out.c    names and rows on their way to the visitor
 *   life.c   a session's life: job_start, dictionaries, capabilities, …
 *   events.c event rows other than kernels and scopes
 *   kernel.c kernel batches and their detail lines
 *   scope.c  scopes, and the paths that identify them
 *   stack.c  call stacks
 *   code.c   functions of device code, their instructions and sources
 *   profile.c samples, metrics of instructions, counters
 *
 * Handlers queue rows and go on; the first failure (out of memory, or a result
 * of the visitor) sticks in peer.code, ends the line and is the feed's result. */
#ifndef GPUFL_WIRE_PEER_READER_H
#define GPUFL_WIRE_PEER_READER_H

#include "base/buf.h"
#include "base/intern.h"
#include "wire/decode.h"
#include "wire/fields.h"
#include "wire/peer.h"
#include "wire/peer/format.h"
#include "wire/rowset.h"
#include "wire/scan.h"

enum {
    PEER_GPUS_MAX = 64,
    PEER_DEPTHS = 64,    /* of scopes; deeper ones have no known parent */
    PEER_OPEN_CELLS = 9, /* widths of peer.scopes and peer.paths: see scope.c */
    PEER_PATH_CELLS = 3,
    PEER_FRAME_KEY = 3,     /* function, file, line */
    PEER_FUNCTION_KEY = 3,  /* object, name, file */
    PEER_LINE_KEY = 4,      /* function, offset, file, line */
    PEER_SET_MAX = 1 << 20, /* configs, streams, paths and open scopes of a session, each */
};

#define PEER_SEVERAL UINT32_MAX

/* Holds rows that wait to be delivered. */
struct peer_queue {
    int64_t *rows; /* owned, row by row */
    size_t cap;    /* cells allocated */
    size_t count;  /* rows */
};

/* Maps the ids of a dictionary of the client to our name ids. */
struct peer_dict {
    uint32_t *ids; /* owned; 0: not defined */
    size_t cap;
};

/* Holds a batch line as cells, row after row, in the order of format.def. */
struct peer_rows {
    int64_t *cells; /* owned; CELL_NULL if a row has no such cell */
    size_t cap;     /* cells allocated */
    size_t count;   /* rows */
    unsigned width; /* cells of a row */
    int64_t base;   /* base_time_ns */
};

/* Holds the scopes that are open at one depth, to find the parent of a scope one level deeper. */
struct peer_depth {
    uint32_t open;
    int64_t instances; /* xor of their instances; if open is 1, the instance */
    int64_t nodes;     /* xor of their paths' instances */
    uint64_t hashes;   /* sum of their paths' hashes: shows whether all paths are equal */
    int64_t node;      /* path of the scope opened last */
};

/* Holds device code. */
struct peer_code {
    struct peer_dict metrics, files, symbols; /* the client's dictionaries of these names */
    struct peer_dict known;                   /* by function_id: our function, 0: not asked yet */
    struct rowset objects;                    /* by checksum */
    struct rowset functions, lines;
    struct rowset reasons; /* by the driver's name and number */
    struct rowset sources; /* by path and hash: each text once */
    size_t expanded;       /* number of rows made of runs of instructions */
};

struct peer {
    struct decode_stats *stats;   /* the decoder's */
    const struct wire_visitor *v; /* of the present line */
    int code;                     /* first failure of the present line */

    struct intern *names; /* owned: our name ids; those up to `named` are delivered */
    uint32_t named;
    struct buf text; /* unescaped strings of the present line */
    struct peer_dict kernel_names, scope_names;
    struct peer_dict functions; /* texts of the client's stacks: ids of stack_texts */

    struct intern *stack_texts; /* owned: as the client's log has them */
    struct peer_dict stack_ids; /* by text: our stack, 0: not read yet; see stack.c */
    struct rowset frames, stacks;
    struct peer_code gpu_code;
    struct peer_queue queues[RECORD_COUNT];
    int64_t *columns; /* owned: a batch on its way out */
    size_t column_cap;

    char session[128];                /* id last seen */
    char announced[128];              /* id of the header last delivered */
    int64_t first_time;               /* least base_time_ns; CELL_NULL: none */
    bool ended, capable;              /* shutdown and capabilities are delivered */
    bool instrumented;                /* the message on sass_config is delivered */
    bool amd;                         /* all GPUs of the session are AMD's */
    int64_t only_device;              /* our id where the session has one GPU; 0: none or several */
    int64_t only_warp;                /* its warp size */
    int64_t device_of[PEER_GPUS_MAX]; /* our device id by the client's static id; 0: not listed */

    struct peer_rows rows;    /* the batch of the present line */
    struct peer_rows kernels; /* the batch that waits for its details */
    int64_t *kernel_config;   /* owned, by row of kernels: config id, 0: no detail yet */
    int64_t *kernel_scope;    /* owned, by row: instance, CELL_NULL: unknown */
    int64_t *kernel_stack;    /* owned, by row: stack, CELL_NULL: unknown */
    size_t kernel_config_cap, kernel_scope_cap, kernel_stack_cap;
    size_t kernel_next;    /* the row whose detail is expected next */
    unsigned kernel_seeks; /* number of details in this batch that came out of order */
    struct rowset configs, streams;
    struct details *details; /* owned; NULL: none is kept yet */

    int64_t instances;            /* scope instances given out */
    struct rowset scopes;         /* open ones, by their instance id */
    struct rowset paths;          /* by parent's instance and name */
    struct peer_dict named_paths; /* by our name id: the path's instance, PEER_SEVERAL, 0: none */
    struct peer_depth depths[PEER_DEPTHS];
    struct buf path; /* the user_scope last looked up, escaped, and its answer */
    int64_t path_instance;
};

/* ---- out.c ---- */

/* The first failure sticks. */
static inline void peer_fail(struct peer *p, int code)
{
    if (!p->code)
        p->code = code;
}

int64_t peer_name(struct peer *p, const char *text,
                  size_t len); /* our name id; delivers new ones */
int64_t peer_name_str(struct peer *p, const char *text);
int64_t peer_name_span(struct peer *p, struct span escaped);

/* Unescapes to the end of p->text; NUL-terminated, valid until peer_text_reset. */
const char *peer_unescape(struct peer *p, struct span escaped, size_t *len);
void peer_text_reset(struct peer *p, size_t line); /* room for the strings of a line */

void peer_add(struct peer *p, enum record_type type, const void *row);
void peer_deliver(struct peer *p); /* all queues, dictionaries first */

/* Returns the row of a key; a new key gets a new row. NULL: a failure, or the set is full, so that
 * the row that would refer to the new one is an orphan. The bound keeps a small log from taking
 * much memory. */
int64_t *peer_set_put(struct peer *p, struct rowset *s, const int64_t *key, bool *added);

/* Returns our id of a stream; number and context may be CELL_NULL. */
int64_t peer_stream(struct peer *p, int64_t device, int64_t context, int64_t number);
int64_t peer_device(struct peer *p, int64_t id);

/* Makes room for an id in a dictionary. 0, or not 0 for a failure. */
int peer_dict_reserve(struct peer *p, struct peer_dict *d, uint32_t id);

/* Returns base + dt, or CELL_NULL if the sum is no time. */
int64_t peer_time(int64_t base, int64_t dt);

/* Notes a batch's base time, for a session without a header. */
void peer_note_time(struct peer *p);

/* Declares a row whose cells are all unknown, including those of columns that are added later. */
#define UNKNOWN(type, row)                                                                         \
    struct type##_row row;                                                                         \
    for (unsigned unknown_ = 0; unknown_ < COL_##type##_COUNT; unknown_++)                         \
    ((int64_t *)&row)[unknown_] = CELL_NULL

/* ---- handlers, in the table of read.c ---- */

/* These functions read a line whose structure is sound. */
void peer_job_start(struct peer *p, struct scan s);
void peer_dictionary(struct peer *p, struct scan s);
void peer_capabilities(struct peer *p, struct scan s);
void peer_window_start(struct peer *p, struct scan s);
void peer_window_stop(struct peer *p, struct scan s);
void peer_shutdown(struct peer *p, struct scan s);
void peer_sass_config(struct peer *p, struct scan s);
void peer_fill(struct peer *p, struct scan s);
void peer_graph_launch(struct peer *p, struct scan s);
void peer_detail(struct peer *p, struct scan s);
void peer_pm_config(struct peer *p, struct scan s);
void peer_range_counters(struct peer *p, struct scan s);
void peer_kernel_counters(struct peer *p, struct scan s);
void peer_disassembly(struct peer *p, struct scan s);
void peer_source(struct peer *p, struct scan s);

/* Reads a detail line whose text, except for the correlation id, is that of a kept line, which is
 * therefore sound. False: no such line is kept. */
bool peer_detail_again(struct peer *p, struct scan s);

/* These functions read a batch in p->rows. */
void peer_kernels(struct peer *p);
void peer_copies(struct peer *p);
void peer_syncs(struct peer *p);
void peer_allocs(struct peer *p);
void peer_scopes(struct peer *p);
void peer_device_metrics(struct peer *p);
void peer_host_metrics(struct peer *p);
void peer_profile(struct peer *p);
void peer_pm_samples(struct peer *p);

/* The functions are for the end of a session: peer_late_header delivers a header if no job_start
 * came, peer_open_scopes the scopes that are still open. */
void peer_late_header(struct peer *p);
void peer_open_scopes(struct peer *p);

/* Delivers the kernels that waited for details. */
void peer_pending_kernels(struct peer *p);

/* Returns the instance that stands for a user_scope; 0: none; CELL_NULL: unknown. */
int64_t peer_scope_of(struct peer *p, struct span user_scope);

/* Returns the instance that stands for a scope of which only the name is known; 0: none. */
int64_t peer_scope_named(struct peer *p, int64_t name_id);

/* Returns our function of a function_id; 0: none, or no room. */
int64_t peer_function(struct peer *p, int64_t id);

/* Adds a line of an instruction, once. file_id: the client's. */
void peer_line(struct peer *p, int64_t function, int64_t offset, int64_t file_id, int64_t line);

/* Returns our name id of an entry of a client's dictionary; 0: none. */
int64_t peer_dict_name(const struct peer_dict *d, int64_t id);

/* Returns the id of a stack's text, 0: empty. */
uint32_t peer_stack_text(struct peer *p, struct span escaped);

/* Returns our stack id of a text, or of a function_id; 0: none; CELL_NULL: unknown. */
int64_t peer_stack_of(struct peer *p, struct span escaped);
int64_t peer_stack(struct peer *p, int64_t function);

/* Returns a cell of a batch. */
static inline int64_t peer_cell(const struct peer_rows *r, size_t row, unsigned column)
{
    return column < r->width ? r->cells[row * r->width + column] : CELL_NULL;
}

/* Reads a duration, which is never negative. */
static inline int64_t peer_duration(const struct peer_rows *r, size_t row, unsigned column)
{
    int64_t v = peer_cell(r, row, column);
    return v < 0 ? CELL_NULL : v;
}

static inline int64_t null_if_zero(int64_t v)
{
    return v == 0 ? CELL_NULL : v;
}

#endif
