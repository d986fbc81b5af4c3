/* thread.h - starts our own threads, and has a wake-up with a deadline.
 *
 * A thread started here blocks every signal except those of its own faults, has a name that a
 * debugger shows, begins with the default floating-point environment, keeps the program's
 * scheduling class, and has the program's default stack size, but at least 1 MiB. */
#ifndef GPUFL_BASE_THREAD_H
#define GPUFL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct thread {
    pthread_t handle;
    bool running; /* joinable */
};

/* Starts a thread. name: at most 15 bytes. nice (0 to 19): added to the thread's niceness if that
 * is allowed. */
int thread_start(struct thread *t, const char *name, int nice, void *(*fn)(void *), void *arg);
void thread_join(struct thread *t);

/* Returns a sentence that says why the system refuses a thread, as far as its limits show, and what
 * to do. The text is static. */
const char *thread_refusal(void);

/* Returns the kernel id of the calling thread, cached per thread. [hot] */
int32_t thread_id(void);

/* Returns true on a thread that was started here, false on the program's. [hot] */
bool thread_is_ours(void);

/* Drops the calling thread's cached id. Call this function in the child after fork. */
void thread_id_forget(void);

/* Is a wake-up that is never lost: wakeup_signal sets it, wakeup_wait clears it. Waiting uses the
 * system's monotonic clock, even if clock.h's source is replaced. */
struct wakeup {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool set; /* guarded by lock */
};

int wakeup_init(struct wakeup *w);
void wakeup_fini(struct wakeup *w);
void wakeup_signal(struct wakeup *w); /* [any] takes a lock: not on hot paths */

/* Returns true if signalled, false if timed out. A negative timeout waits without limit. */
bool wakeup_wait(struct wakeup *w, int64_t timeout_ns);

#endif
