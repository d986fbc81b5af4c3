/* stack_table.h - keeps the distinct stacks of the process. */
#ifndef GPUFL_STACK_STACK_TABLE_H
#define GPUFL_STACK_STACK_TABLE_H

#include "stack/join.h"

/* Returns the id of the stack with these items. A new stack is added; its places are made from the
 * walk. 0: no room. [hot, allocates at first sight] */
uint32_t stack_table_id(const struct join_item *items, const uint16_t *sources, size_t n,
                        const struct join_walk *walk);

const struct stack *stack_table_get(uint32_t id); /* NULL: no such id [any] */
uint32_t stack_table_count(void);                 /* different stacks [any] */

#endif
