/* program_thread.h - says what holds while we work on a thread of the program.
 *
 * Floating point: a program may have turned traps on (feenableexcept), or changed how numbers are
 * rounded or flushed to zero. A thread inherits these settings from its creator. An inexact
 * conversion of ours would then kill the program with SIGFPE, and the rounding would change our
 * numbers.
 *
 * Cancellation: a program may cancel a thread (pthread_cancel) that is in a call of ours. Our calls
 * wait, read and write, and each of these would end the thread with our locks held, after which the
 * next call of any thread, and the program's exit, would wait for ever.
 *
 * Our own threads begin with the default environment (thread.c). Hot callbacks on the program's
 * threads use integers only, and no function that is a cancellation point. All other work on the
 * program's threads (init, windows, ranges, report, upload, the exit handlers) is done inside
 * ON_PROGRAM_THREAD: until the end of the block the default environment is in force and the thread
 * is not cancelled. After that the program's own environment is in force again, its sticky flags
 * included, and a cancellation takes effect at the next cancellation point. [any] */
#ifndef GPUFL_BASE_PROGRAM_THREAD_H
#define GPUFL_BASE_PROGRAM_THREAD_H

#include <fenv.h>
#include <pthread.h>

struct program_thread {
    fenv_t floats; /* the program's */
    int cancel;    /* the program's PTHREAD_CANCEL_ENABLE or _DISABLE */
};

static inline struct program_thread program_thread_enter(void)
{
    struct program_thread t;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &t.cancel);
    fegetenv(&t.floats);
    fesetenv(FE_DFL_ENV);
    return t;
}

/* fesetenv raises nothing: flags that were set before are set again, traps are on again. */
static inline void program_thread_leave(struct program_thread *t)
{
    int ours;
    fesetenv(&t->floats);
    pthread_setcancelstate(t->cancel, &ours);
}

/* Is a declaration that holds to the end of the block, however the block is left. */
#define ON_PROGRAM_THREAD                                                                          \
    struct program_thread program_thread_kept                                                      \
        __attribute__((cleanup(program_thread_leave), unused)) = program_thread_enter()

#endif
