/* device_lock.h - one process of the machine at a time samples a device.
 *
 * Where two do, the later one's CUPTI reports nothing any more, launches included, without an
 * error at first (ADR 10). So a process locks the device before: a lock on a file of shared memory
 * that bears the device's UUID. It holds until the process ends, however that ends. Processes that
 * do not see each other's /dev/shm (containers), and other tools, are not seen. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H

#include "base/err.h"
#include "base/file/file.h"

#include <stdint.h>

enum { DEVICE_LOCKS = 64, DEVICE_UUID = 96 };

/* A file that this process has open, for as long as the process lasts. A forked child's is that of
 * the parent. Zeros: none. */
struct device_lock {
    int fd;
    struct file_id id;
};

struct device_locks {
    struct device_lock of[DEVICE_LOCKS]; /* by ordinal */
};

/* Claims the device of that UUID, as device_lock_take. */
int device_lock_uuid(struct device_lock *l, const char *uuid, struct err *e);

/* Claims the device of the program's ordinal. GPUFL_E_BUSY with a sentence: another process has it.
 * 0 also where that cannot be known: no UUID, no shared memory. [any, one at a time] */
int device_lock_take(struct device_locks *l, uint32_t ordinal, struct err *e);

#endif
