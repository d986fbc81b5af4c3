/* toy.h - is a vendor for tests, as small as possible: it has no tracing, only metrics of its GPUs,
 * which it reads from a folder like that of a kernel driver. Like a real vendor it adds to the
 * build only its folder, its sources, and its rows in backends.def. */
#ifndef GPUFL_TESTS_TOY_H
#define GPUFL_TESTS_TOY_H

#include <stdatomic.h>

/* The folder has one folder for each GPU (gpu0, gpu1, …), and that one a file for each metric. Set
 * before the first session. */
extern const char *toy_folder;

extern _Atomic int toy_samples; /* how many were taken */

#endif
