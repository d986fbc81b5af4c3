/* library_range.h - whether a scope is a range that a library opened itself, by its tag.
 *
 * The tag of an NVTX range is its domain's name. A library gives its ranges a domain of their own,
 * so that they differ from those of the program. */
#ifndef GPUFL_WIRE_LIBRARY_RANGE_H
#define GPUFL_WIRE_LIBRARY_RANGE_H

#include <stdbool.h>

/* Returns true if the tag is the domain of a library that is known to open ranges. */
bool library_range(const char *tag);

#endif
