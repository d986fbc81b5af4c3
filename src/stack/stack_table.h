/* stack_table.h - stacks once each, process-wide. */
#ifndef GPUFL_STACK_STACK_TABLE_H
#define GPUFL_STACK_STACK_TABLE_H

#include "stack/join.h"

/* Id of the stack with these items, added where it is new: its places are made from the walk
 * then. 0: no room. [hot, allocates at first sight] */
uint32_t table_id(const struct join_item *items, const uint16_t *sources, size_t n,
                  const struct join_walk *walk);

const struct stack *table_get(uint32_t id); /* NULL: no such id [any] */
uint32_t table_count(void);                 /* different stacks [any] */

#endif
