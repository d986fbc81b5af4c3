/* exits.c - see exits.h. */
#include "capture/threads/exits.h"

#include "base/err.h"
#include "base/process/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* This is the function of the C library on which C++'s thread_local is built. Such destructors run
 * in exit, too, before all exit handlers. */
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *module)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void (*end_session)(void); /* both are set once, before any handler is installed */
static bool (*leave_session)(void);

int exits_begin(void (*end)(void), bool (*leave)(void))
{
    if (end_session)
        return 0;
    end_session = end;
    leave_session = leave;
    if (!at_quick_exit(end))
        return 0;
    end_session = NULL;
    return GPUFL_E_NOMEM;
}

int exits_first(enum exit_stage stage)
{
    static _Atomic bool done[EXITS_STAGES]; /* relaxed: two handlers do no harm */
    if (atomic_load_explicit(&done[stage], memory_order_relaxed))
        return 0;
    if (atexit(end_session))
        return GPUFL_E_NOMEM;
    atomic_store_explicit(&done[stage], true, memory_order_relaxed);
    return 0;
}

/* If the thread has called pthread_exit, process and session go on. */
static void first_thread_ends(void *unused)
{
    (void)unused;
    if (leave_session())
        (void)atexit(end_session);
}

void exits_watch_thread(void)
{
    static __thread bool watched;
    if (watched || thread_id() != (int32_t)getpid() || !__cxa_thread_atexit_impl)
        return;
    watched = __cxa_thread_atexit_impl(first_thread_ends, NULL, (void *)&__dso_handle) == 0;
}
