/* stacks.h - keeps host stacks by content: modules, frames, stacks, names.
 *
 * While a session is read, its rows are kept by the log's ids, in any order. At the end they become
 * tables whose items are identified by content, so that equal stacks of several sessions and
 * processes are one item. Stacks form a tree: a node is an innermost frame and the node of its
 * caller. Index 0 of each table means none or unknown.
 *
 * The place of a stack is the line that a person would look at, by the rule of symbol/fold.h. A
 * stack ends at an id that refers to nothing or to itself, also through other ids. Memory is
 * bounded by ceilings. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_STACKS_H
#define GPUFL_ANALYZE_MODEL_STACKS_H

#include "base/buf.h"
#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define STACKS_TAKES                                                                               \
    (MODEL_TAKES(module) | MODEL_TAKES(frame) | MODEL_TAKES(stack) | MODEL_TAKES(symbol))

enum stacks_kind { STACKS_NATIVE = 1, STACKS_PYTHON = 2, STACKS_MARK = 3 }; /* frame.kind */

enum stacks_status { /* symbol.status */
                     STACKS_LINE = 0,
                     STACKS_FUNCTION_ONLY,
                     STACKS_FILE_MISSING,
                     STACKS_FILE_REPLACED,
                     STACKS_NOTHING_THERE,
                     STACKS_GENERATED,
                     STACKS_FILE_UNREADABLE,
                     STACKS_SPLIT_MISSING, /* line known, function not: its file is missing */
                     STACKS_NOT_LOOKED_UP, /* there is no symbol row */
};

enum { STACKS_DEPTH = 1024 }; /* nodes of a stack; longer ones are cut */

struct stacks_module {
    uint32_t path, build_id; /* names */
    uint32_t kind;           /* module.kind */
};

struct stacks_frame {
    int64_t offset;           /* native: address in the file */
    int64_t line, first_line; /* as in the log; 0: unknown */
    uint32_t kind, module, function, file;
    /* not of the key: */
    uint32_t symbol, symbols; /* first in stacks.symbols, and how many; innermost first */
};

struct stacks_symbol {
    uint32_t function, file; /* names; 0: unknown */
    int64_t line;            /* 0: unknown */
    uint32_t status;
};

struct stacks_node {
    uint32_t parent, frame;
    /* not of the key: */
    uint32_t place; /* place of the stack with this innermost node, once found */
    uint16_t depth; /* nodes, this one included */
    bool placed;    /* stacks_find_place has been called */
};

/* Describes a place in the source. Its key is file and line, or if these are unknown function,
 * module or offset. */
struct stacks_place {
    int64_t line;   /* 0: unknown */
    int64_t offset; /* of native code without a name; else 0 */
    uint32_t file, symbol, module;
    uint32_t mark; /* name of a mark's text: <driver-internal>, …; 0: none */
    /* not of the key: */
    uint32_t function; /* name, mangled if its language mangles names; 0: unknown */
    bool user;         /* the program's own: neither a library's nor a mark */
    bool library;      /* in a library: for stacks without a known frame of the program */
    bool nameless;     /* such a stack has a frame of the program without a name */
};

struct stacks {
    struct stacks_raw *raw; /* owned: by the log's ids, while a session is read */
    struct keyed modules, frames, nodes, places;
    struct stacks_symbol *symbols; /* owned */
    size_t symbol_count, symbol_cap;
    uint32_t *ids; /* owned: a stack's id to its node; of one session, after stacks_finish */
    size_t id_count;
    struct stacks_room *room; /* owned: the functions of one stack, while places are found */
    uint32_t *merged;         /* owned: during a merge, the other model's node to the node here */
    uint64_t cut;             /* stacks that refer to themselves or are too deep */
};

void stacks_init(struct model *m);
void stacks_fini(struct model *m);
int stacks_batch(struct model *m, const struct wire_batch *b);
int stacks_merge(struct model *into, const struct model *from, int64_t shift);
int stacks_finish(struct model *m);

/* Frees the room, at the end of model_finish. */
void stacks_drop_room(struct stacks *s);

/* Returns the node of a stack id of the log, after stacks_finish; 0 in a model of several
 * sessions. */
static inline uint32_t stacks_node_of(const struct stacks *s, uint32_t id)
{
    return id < s->id_count ? s->ids[id] : 0;
}

static inline const struct stacks_node *stacks_node_at(const struct stacks *s, uint32_t node)
{
    return (const struct stacks_node *)(const void *)(s->nodes.items +
                                                      node * sizeof(struct stacks_node));
}

/* Finds the place of a node; *place 0: the stack was not captured, or is empty. Call after
 * stacks_finish or stacks_merge. 0 or GPUFL_E_NOMEM. */
int stacks_find_place(struct model *m, uint32_t node, uint32_t *place);

/* Returns NULL for 0. */
static inline const struct stacks_place *stacks_place_at(const struct stacks *s, uint32_t place)
{
    return place && place < s->places.count
               ? (const struct stacks_place *)keyed_at(&s->places, place)
               : NULL;
}

/* Returns true if only the function is known, which is then shown instead of a line. */
static inline bool stacks_place_is_function(const struct stacks_place *p)
{
    return p->symbol && !p->file && !p->module;
}

/* Returns true if the stacks have no frame that is known to be the program's, so that a library's
 * frame is shown. False for NULL. */
static inline bool stacks_place_is_library(const struct stacks_place *p)
{
    return p && p->library && !p->user;
}

/* Describes one function of a stack: a frame, or a function that was inlined into it. */
struct stacks_step {
    uint32_t function, file; /* names; 0: unknown */
    int64_t line;            /* 0: unknown */
    uint32_t module;         /* index in stacks.modules; 0: none */
    int64_t offset;          /* native */
    enum stacks_kind kind;
    enum stacks_status status; /* native */
    bool inlined;
};

/* Returns true if nothing is known of where the step is. */
static inline bool stacks_step_nowhere(const struct stacks_step *step)
{
    return !step->file && !step->module && !step->offset;
}

/* This is a walk over a stack, innermost first; begin with {.node = n}. */
struct stacks_walk {
    uint32_t node;
    uint32_t level; /* number of the frame's inlined levels that were returned already */
};

bool stacks_next(const struct stacks *s, struct stacks_walk *w, struct stacks_step *step);

/* Returns the path of a module's file; "" if it is not known. */
const char *stacks_module_path(const struct model *m, uint32_t module);

/* Appends "train.py:90", "libfoo.so+0x1a2b", "<driver-internal>", or "train_step()" if no more is
 * known; nothing for place 0. Control characters stay in the text. */
void stacks_put_place(const struct model *m, uint32_t place, struct buf *out);
/* Appends the demangled function, "train_step()", in at most `width` columns; nothing if it is
 * unknown. */
void stacks_put_function(const struct model *m, uint32_t function, size_t width, struct buf *out);
/* Appends a step, "file.py:90 function()", in about `width` columns. */
void stacks_put_step(const struct model *m, const struct stacks_step *step, size_t width,
                     struct buf *out);

#endif
