/* thread.h - our own threads, and a wake-up with a deadline.
 *
 * A thread started here blocks every signal except those of its own faults, carries a name that a
 * debugger shows, begins with the default floating-point environment, keeps the host program's
 * scheduling class, and has 1 MiB of stack, or more where that is the program's default. */
#ifndef GPUFL_BASE_THREAD_H
#define GPUFL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct thread {
    pthread_t handle;
    bool running; /* joinable */
};

/* name: at most 15 bytes. nice: added to the thread's niceness where allowed (0 to 19). */
int thread_start(struct thread *t, const char *name, int nice, void *(*fn)(void *), void *arg);
void thread_join(struct thread *t);

/* Why the system refuses a thread, as far as its limits show, and what to do: a sentence that
 * stays. */
const char *thread_refusal(void);

/* Kernel id of the calling thread, cached per thread. [hot] */
int32_t thread_id(void);

/* True on a thread that was started here, false on the program's. [hot] */
bool thread_is_ours(void);

/* Drops the calling thread's cached id: call it in the child after fork. */
void thread_id_forget(void);

/* A wake-up that is never lost: signal sets it, wait takes it. Waiting uses the
 * system's monotonic clock whatever clock.h says. */
struct wakeup {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool set; /* guarded by lock */
};

int wakeup_init(struct wakeup *w);
void wakeup_fini(struct wakeup *w);
void wakeup_signal(struct wakeup *w); /* [any] takes a lock: not on hot paths */

/* true: signalled, false: timed out. Negative timeout: waits without limit. */
bool wakeup_wait(struct wakeup *w, int64_t timeout_ns);

#endif
