/* fork.c - see fork.h. No lock is taken before fork: a thread of the parent may
 * hold any of them in the child for ever, so the child makes all of them new and
 * leaves behind what it cannot free safely. */
#include "capture/session/fork.h"

#include "base/err.h"
#include "base/process/fd_thread.h"
#include "base/thread.h"
#include "capture/log/messages.h"
#include "capture/records/sink.h"
#include "capture/session/collector.h"
#include "capture/session/sampling.h"
#include "capture/session/session.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "capture/windows/control.h"
#include "capture/windows/windows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* The C library's, behind C++'s thread_local: such destructors run in exit, too, and first of all. */
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *module)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void child(void)
{
    aside_forget();
    session_forget();
    threads_forget();
    collector_forget();
    sampling_forget();
    messages_forget();
    windows_forget();
    control_forget();
    sink_forget();
    stacking_forget();
    names_forget();
}

int fork_watch(void)
{
    static bool watching; /* guarded by the session's lock */
    if (watching)
        return 0;
    if (pthread_atfork(NULL, NULL, child) || at_quick_exit(session_exit))
        return GPUFL_E_NOMEM;
    watching = true;
    return 0;
}

int fork_exit_first(enum fork_stage stage)
{
    static _Atomic bool done[FORK_STAGES]; /* relaxed: two handlers do no harm */
    if (atomic_load_explicit(&done[stage], memory_order_relaxed))
        return 0;
    if (atexit(session_exit))
        return GPUFL_E_NOMEM;
    atomic_store_explicit(&done[stage], true, memory_order_relaxed);
    return 0;
}

/* It may also have been pthread_exit, and the process goes on: the session, too. */
static void first_thread_ends(void *unused)
{
    (void)unused;
    session_leave();
    if (session_active())
        (void)atexit(session_exit);
}

void fork_watch_thread(void)
{
    static __thread bool watched;
    if (watched || thread_id() != (int32_t)getpid() || !__cxa_thread_atexit_impl)
        return;
    watched = __cxa_thread_atexit_impl(first_thread_ends, NULL, (void *)&__dso_handle) == 0;
}
