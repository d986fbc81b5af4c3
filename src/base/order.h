/* order.h - says how two values of a sort compare, and where a value belongs in sorted items.
 *
 * A comparison of qsort is a list of members, the most important first:
 *   int o = ORDER(x->start, y->start);
 *   return o ? o : ORDER(x->end, y->end);
 * A NaN is equal to every number, so a caller that sorts doubles handles NaN first. */
#ifndef GPUFL_BASE_ORDER_H
#define GPUFL_BASE_ORDER_H

#include <stddef.h>

/* This is -1, 0 or 1; both arguments are evaluated twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Says how many of `count` sorted items come before a place. `before`, an expression with the index
 * `i`, is true for these items and false for all after them. Looks at log2(count) items. */
#define ORDER_PLACE(count, i, before)                                                              \
    __extension__({                                                                                \
        size_t low_ = 0, high_ = (count);                                                          \
        while (low_ < high_) {                                                                     \
            size_t i = (low_ + high_) / 2;                                                         \
            if (before)                                                                            \
                low_ = i + 1;                                                                      \
            else                                                                                   \
                high_ = i;                                                                         \
        }                                                                                          \
        low_;                                                                                      \
    })

#endif
