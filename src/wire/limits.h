/* limits.h - what encoder and decoder agree on beyond encode.h. */
#ifndef GPUFL_WIRE_LIMITS_H
#define GPUFL_WIRE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_READ_ROWS 65536        /* of one line; more is damage */
#define WIRE_MAX_NAME  65536        /* bytes of a name; the rest is cut */
#define WIRE_TIME_MAX  (1ll << 62)  /* ns: a time beyond is no time, and ends could overflow */
#define WIRE_NAMES_CUT (512u << 10) /* bytes at which a names line ends */

/* True for a time that a log can hold. [any] */
static inline bool wire_time_ok(int64_t t)
{
    return t >= -WIRE_TIME_MAX && t <= WIRE_TIME_MAX;
}

#endif
