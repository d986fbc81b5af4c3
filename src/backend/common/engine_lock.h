/* engine_lock.h - the one lock under which engines beyond Trace call the library: the
 * collector, and the program's threads where contexts and modules come and go, never in a
 * launch. Any thread. */
#ifndef GPUFL_BACKEND_COMMON_ENGINE_LOCK_H
#define GPUFL_BACKEND_COMMON_ENGINE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* ns for the lock: the library may hold a thread up. */
#define ENGINE_PATIENCE INT64_C(2000000000)
/* ns for the lock, for a thread that keeps others at the driver's gate. */
#define ENGINE_PATIENCE_SUSPEND INT64_C(20000000)

/* False: not within patience (0: not at once), or this thread is in it: the library may call back
 * on the thread that calls it. */
bool engine_enter(int64_t patience);
void engine_leave(void);

#endif
