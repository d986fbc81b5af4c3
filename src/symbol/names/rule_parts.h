/* rule_parts.h - writes the parts of a short name from template arguments: types, functors, tiles.
 * [any] */
#ifndef GPUFL_SYMBOL_NAMES_RULE_PARTS_H
#define GPUFL_SYMBOL_NAMES_RULE_PARTS_H

#include "base/buf.h"
#include "symbol/names/span.h"

/* Returns the template argument `index` (from 0) of the first template in s whose name, without
 * namespaces, is `name`; of the first template if name is empty. Empty: there is none. */
struct span part_argument(struct span s, struct span name, size_t index);

/* Appends a text without its namespaces. */
void part_bare(struct buf *out, struct span s);

/* Appends the types in the text, each once, as RULE_TYPE spells them: "float,bf16". */
void part_types(struct buf *out, struct span s);

/* Appends the name of a functor's operation, without wrappers and common ends. */
void part_functor(struct buf *out, struct span s);

/* Writes part_functor followed by the types: "copy float->bf16". */
void part_operation(struct buf *out, struct span s);

/* Appends the numbers of a shape with x between them: "128x64x32". */
void part_tile(struct buf *out, struct span s);

/* Appends n if the text is a stride or layout whose first axis is contiguous, else t. flip: for an
 * operand whose axes BLAS counts in reverse. */
void part_layout(struct buf *out, struct span s, bool flip);

#endif
