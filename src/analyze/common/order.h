/* order.h - sorts many numbers, in a time that grows with their number only.
 *
 * A history has a hundred thousand means, which are ranked and whose medians are asked for several
 * times; qsort with a comparison takes ten times as long. The functions have no state. Called by
 * any thread. */
#ifndef GPUFL_ANALYZE_COMMON_ORDER_H
#define GPUFL_ANALYZE_COMMON_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Fills order with the places of the values, smallest value first; equal values are in the order of
 * their places. NANs come last, -0 equals 0. n < 2^32. 0 or GPUFL_E_NOMEM. */
int order_values(const double *values, size_t n, uint32_t *order);

/* Does what order_values does, for whole numbers. */
int order_ints(const int64_t *values, size_t n, uint32_t *order);

/* Returns the value that is at place k in ascending order, k < n, and moves the values so that no
 * value before place k is greater, and none after it is smaller. No value is a NAN. */
double order_nth(double *values, size_t n, size_t k);

#endif
