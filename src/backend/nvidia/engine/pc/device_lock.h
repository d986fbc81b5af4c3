/* device_lock.h - one process of the machine at a time samples a device.
 *
 * Where two do, the later one's CUPTI reports nothing any more, launches included, without an
 * error at first (ADR 10). So a process locks the device before: a lock on a file of shared memory
 * that bears the device's UUID. It holds until the process ends, however that ends. Processes that
 * do not see each other's /dev/shm (containers), and other tools, are not seen. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H

#include "base/err.h"

#include <stdint.h>

enum { DEVICE_LOCKS = 64 };

/* Files that this process has open, for as long as the process lasts: 1 + descriptor, by ordinal. A
 * forked child's are those of the parent. */
struct device_locks {
    int files[DEVICE_LOCKS];
};

/* Claims the device of the program's ordinal. GPUFL_E_BUSY with a sentence: another process has it.
 * 0 also where that cannot be known: no UUID, no shared memory. [any, one at a time] */
int device_lock_take(struct device_locks *l, uint32_t ordinal, struct err *e);

#endif
