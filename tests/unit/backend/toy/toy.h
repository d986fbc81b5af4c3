/* toy.h - a vendor for tests, as small as one can be: it has no tracing, only metrics of its GPUs,
 * which it reads from a folder as a kernel driver would offer them. Like a real vendor it adds to
 * the build only its folder, its rows in backends.def, and its sources in a CMakeLists.txt. */
#ifndef GPUFL_TESTS_TOY_H
#define GPUFL_TESTS_TOY_H

#include <stdatomic.h>

/* Folder with one folder a GPU, gpu0, gpu1, …, with a file a metric. Written before the first
 * session. */
extern const char *toy_folder;

extern _Atomic int toy_samples; /* that were taken */

#endif
