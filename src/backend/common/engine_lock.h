/* engine_lock.h - has the one lock under which engines beyond Trace call the library: on the
 * collector's thread, and on the program's threads when contexts and modules are made and
 * destroyed, never in a launch. Called by any thread. */
#ifndef GPUFL_BACKEND_COMMON_ENGINE_LOCK_H
#define GPUFL_BACKEND_COMMON_ENGINE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Says how long to wait for the lock, ns, because the library may delay its holder. */
#define ENGINE_PATIENCE INT64_C(2000000000)
/* Says how long to wait, ns, while other threads are kept at the driver's gate. */
#define ENGINE_PATIENCE_SUSPEND INT64_C(20000000)

/* Takes the lock. False: not within patience (0: not at once), or this thread has the lock already,
 * because the library may call back on the thread that calls it. */
bool engine_enter(int64_t patience);
void engine_leave(void);

#endif
