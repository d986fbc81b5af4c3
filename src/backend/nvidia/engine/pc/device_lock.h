/* device_lock.h - lets only one process of the machine at a time sample a device.
 *
 * If two processes sample a device, the later one's CUPTI reports nothing any more, not even
 * launches, at first without an error (ADR 10). So a process first takes a lock on a file in shared
 * memory that is named after the device's UUID. The lock is held until the process ends in any way.
 * Processes that do not share /dev/shm (containers), and other tools, are not noticed. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_DEVICE_LOCK_H

#include "base/err.h"
#include "base/file/file.h"

#include <stdint.h>

enum { DEVICE_LOCKS = 64, DEVICE_UUID = 96 };

/* Describes a lock's file, which this process keeps open until it ends. A forked child has that of
 * its parent. Zeros: none. */
struct device_lock {
    int fd;
    struct file_id id;
};

struct device_locks {
    struct device_lock of[DEVICE_LOCKS]; /* by ordinal */
};

/* Takes the lock of the device with that UUID, like device_lock_take. */
int device_lock_uuid(struct device_lock *l, const char *uuid, struct err *e);

/* Takes the lock of the device with the program's ordinal. GPUFL_E_BUSY with a sentence: another
 * process has it. 0 also if no lock is possible: no UUID, no shared memory. [any, one at a time] */
int device_lock_take(struct device_locks *l, uint32_t ordinal, struct err *e);

#endif
