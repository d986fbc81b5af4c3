/* alive.h - says whether the process that wrote something still runs. Called by any thread. */
#ifndef GPUFL_BASE_PROCESS_ALIVE_H
#define GPUFL_BASE_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the process runs. start: a moment of the process's life on CLOCK_MONOTONIC, ns;
 * 0: unknown. A process with this number that began after that moment is another process. True also
 * if this cannot be known. */
bool process_runs(int64_t pid, int64_t start);

#endif
