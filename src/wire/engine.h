/* engine.h - describes the engines, as schema/engines.def has them, for every module that asks what
 * an engine records. Constants. */
#ifndef GPUFL_WIRE_ENGINE_H
#define GPUFL_WIRE_ENGINE_H

#include "wire/record.h"

#include <gpufl/gpufl.h>

#include <stdbool.h>

/* Says what a session asks of a backend. The bits of engines that ask for others alone are not
 * used. */
enum engine_bit {
#define ENGINE(id, name, ...) ENGINE_##id = 1 << GPUFL_ENGINE_##id,
#include "schema/engines.def"
};

/* Describes a row of schema/engines.def. */
struct engine_row {
    const char *name, *feature; /* "": it has none */
    const char *does, *no_pass, *peer;
    const char *slows, *slows_option, *slows_value; /* NULL: left out */
    enum gpufl_engine next;  /* runs in its place if it is not available; itself: none */
    unsigned asks;           /* enum engine_bit */
    enum record_type record; /* read only if `feature` is not "", or of Trace */
    bool keeps_kernels;
};

extern const struct engine_row engine_table[]; /* by enum gpufl_engine; ends with a name of NULL */

/* Returns the row of that name; NULL: there is none. [any] */
const struct engine_row *engine_find(const char *name);

/* Returns ENGINE_<id> of the row; 0: the engine asks for the bits of others alone. [any] */
unsigned engine_own_bit(const struct engine_row *r);

#endif
