/* maps.h - reads the mappings of this process, from /proc/self/maps and smaps. Called by any
 * thread. */
#ifndef GPUFL_TESTS_FAKE_MAPS_H
#define GPUFL_TESTS_FAKE_MAPS_H

#include <stddef.h>

/* Returns how many libraries are mapped whose name begins so; first: the path of one of them. */
int maps_libraries(const char *name, char *first, size_t size);

/* Returns the number of mappings that are as large as the pool of activity buffers, 128 MiB, and
 * not much larger. */
int maps_large(void);

#endif
