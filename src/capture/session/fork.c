/* fork.c - see fork.h. No lock is taken before fork, so in the child any lock may be held
 * for ever by a thread of the parent. The child therefore makes all locks again and
 * leaks what it cannot free safely. */
#include "capture/session/fork.h"

#include "base/err.h"
#include "base/process/fd_thread.h"
#include "capture/log/messages.h"
#include "capture/records/sink.h"
#include "capture/samples/samples.h"
#include "capture/session/collector.h"
#include "capture/session/on_demand.h"
#include "capture/session/sampling.h"
#include "capture/session/server.h"
#include "capture/session/session.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "capture/windows/control.h"
#include "capture/windows/windows.h"

#include <pthread.h>
#include <stdbool.h>

static void child(void)
{
    fd_thread_forget();
    session_forget();
    server_forget();
    threads_forget();
    collector_forget();
    sampling_forget();
    samples_forget();
    messages_forget();
    windows_forget();
    on_demand_forget();
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
    if (pthread_atfork(NULL, NULL, child))
        return GPUFL_E_NOMEM;
    watching = true;
    return 0;
}
