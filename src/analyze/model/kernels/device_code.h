/* device_code.h - keeps functions of device code, their instructions, and the text of sources.
 *
 * The checksum of its object and its name identify a function, so that equal functions of several
 * sessions are one. A function whose checksum is unknown (in logs of the public client) has an
 * alias: the function of that name that has code, if there is exactly one. Index 0 is the unknown
 * function.
 *
 * Memory is bounded by ceilings: further instructions have neither text nor line, and are counted.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_DEVICE_CODE_H
#define GPUFL_ANALYZE_MODEL_KERNELS_DEVICE_CODE_H

#include "base/buf.h"
#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define DEVICE_CODE_TAKES                                                                          \
    (MODEL_TAKES(code_object) | MODEL_TAKES(function) | MODEL_TAKES(instruction) |                 \
     MODEL_TAKES(source))

enum {
    DEVICE_CODE_FUNCTIONS = 1 << 20,
    DEVICE_CODE_LINES = 1 << 21, /* instructions; each inlined level counts */
    DEVICE_CODE_LEVELS = 16,     /* inlined levels that are followed */
};

struct code_function {
    int64_t crc;   /* checksum of its object; CELL_NULL: unknown */
    uint32_t name; /* mangled, or as in the log */
    uint32_t spare;
    /* not of the key: */
    uint32_t file;    /* file in which the function is defined; 0: unknown */
    uint32_t arch;    /* name; 0: unknown */
    uint32_t alias;   /* the function that has its instructions, mostly itself; after finish */
    uint32_t kernel;  /* index in model.kernels.names + 1; 0: no kernel row has its name */
    uint32_t shown;   /* its demangled name; functions with one name are shown as one kernel */
    uint64_t samples; /* samples of all functions of that name; after sum_samples_finish */
};

/* Describes an instruction, or a function that was inlined around it. */
struct code_line {
    uint32_t function, level;
    int64_t offset;
    /* not of the key: */
    int64_t line;           /* 0: unknown */
    uint32_t text;          /* level 0: the instruction; 0: unknown */
    uint32_t file, inlined; /* names; file 0: unknown; inlined 0: the function itself */
};

/* Holds a piece of a source's text. */
struct code_source {
    uint32_t path, spare;
    int64_t offset;
    /* not of the key: */
    uint64_t hash;
    int64_t size; /* bytes of the whole text */
    uint32_t text;
};

struct code_object {
    int64_t crc;
    uint32_t arch;
};

struct device_code {
    struct keyed functions, lines, sources;
    uint32_t *ids; /* owned: the log's id of a function to its index; until the end of finish */
    size_t id_count, id_cap;
    struct code_object *objects; /* owned: by the log's id; until the end of finish */
    size_t object_count, object_cap;
    uint32_t *merged; /* owned: during a merge, index here of the other model's function */
};

void device_code_init(struct model *m);
void device_code_fini(struct model *m);
int device_code_batch(struct model *m, const struct wire_batch *b);
int device_code_merge(struct model *into, const struct model *from, int64_t shift);
int device_code_finish(struct model *m);

/* Frees the log's ids. Called at the end of model_finish. */
void device_code_drop_ids(struct device_code *c);

/* Returns the index of a function cell of a batch; 0: unknown. */
static inline uint32_t device_code_function(const struct device_code *c, int64_t cell)
{
    return cell > 0 && (uint64_t)cell < c->id_count ? c->ids[cell] : 0;
}

/* Returns the function at an index; NULL for 0. */
const struct code_function *device_code_at(const struct device_code *c, uint32_t index);

/* Returns the line and text of an instruction at a level of inlining; NULL: unknown. */
const struct code_line *device_code_line(const struct device_code *c, uint32_t function,
                                         int64_t offset, uint32_t level);

/* Returns the instructions of a function (level 0) in the order of their offsets: *count indexes in
 * lines, which the caller frees; NULL: out of memory. */
uint32_t *device_code_list(const struct device_code *c, uint32_t function, size_t *count);

/* Appends the text of a source; false if not all of it is there. */
bool device_code_source(const struct model *m, uint32_t path, struct buf *out);

#endif
