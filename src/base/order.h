/* order.h - how two values of a sort compare.
 *
 * A comparison of qsort is a list of members, the most important first:
 *   int o = ORDER(x->start, y->start);
 *   return o ? o : ORDER(x->end, y->end);
 * Numbers that are NaN are equal to all: whoever sorts doubles sees to them first. */
#ifndef GPUFL_BASE_ORDER_H
#define GPUFL_BASE_ORDER_H

/* -1, 0 or 1; both arguments are evaluated twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
