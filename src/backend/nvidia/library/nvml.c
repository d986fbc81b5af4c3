/* nvml.c - opens libnvidia-ml, and explains its errors to the user.
 *
 * There is one table for the process, filled once and never closed; users are counted under a lock.
 * After fork the child initializes the library again, because its descriptors belong to the parent.
 * If another thread was in here during the fork, this lock and those of the library stay locked in
 * the child: it gets an error instead of waiting for them. */
#include "backend/nvidia/library/nvml.h"

#include "base/process/dl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static const char *const candidates[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    NULL,
};

static const struct dl_symbol symbols[] = {
#define NVML_SYMBOL(required, result, name, arguments)                                             \
    {#name, offsetof(struct nvml, name), required},
    NVML_FUNCTIONS(NVML_SYMBOL)
#undef NVML_SYMBOL
};

static const struct {
    int result; /* enum nvml_result */
    int code;
    const char *text;
} refusals[] = {
    {NVML_E_DRIVER_NOT_LOADED, GPUFL_E_UNAVAILABLE,
     "NVIDIA's kernel driver is not loaded: load it (modprobe nvidia), or start the container with "
     "access to the GPUs (docker run --gpus all)"},
    {NVML_E_VERSION_MISMATCH, GPUFL_E_UNAVAILABLE,
     "NVIDIA's kernel driver and libraries are of different versions, as after an update: reboot, "
     "or reload the kernel driver"},
    {NVML_E_NO_PERMISSION, GPUFL_E_PERM,
     "no permission to talk to NVIDIA's driver: the user needs read and write access to "
     "/dev/nvidiactl and /dev/nvidia*"},
    {NVML_E_UNKNOWN, GPUFL_E_UNAVAILABLE,
     "NVIDIA's driver does not answer (error 999): load its kernel module (modprobe nvidia) and "
     "see "
     "dmesg; a container that has lost its devices, as after systemctl daemon-reload, has to be "
     "started again"},
    {NVML_E_GPU_IS_LOST, GPUFL_E_UNAVAILABLE,
     "a GPU has fallen off the bus: look for Xid messages in dmesg, then reboot"},
};

static struct {
    pthread_mutex_t lock;
    struct nvml table;  /* guarded by lock until loaded, constant afterwards */
    bool loaded;        /* guarded by lock */
    int users;          /* guarded by lock */
    pid_t owner;        /* guarded by lock: process that initialized */
    _Atomic int inside; /* process that holds the lock, 0: none; relaxed, fork orders it */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_take(void)
{
    pthread_mutex_lock(&me.lock);
    atomic_store_explicit(&me.inside, getpid(), memory_order_relaxed);
}

static void lock_leave(void)
{
    atomic_store_explicit(&me.inside, 0, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
}

/* Returns true in a child if a thread of its parent was in here during the fork. */
static bool lock_is_lost(void)
{
    int holder = atomic_load_explicit(&me.inside, memory_order_relaxed);
    return holder && holder != getpid();
}

static int table_load(struct err *e)
{
    void *handle = dl_open_first(candidates, me.table.path, sizeof me.table.path, e);
    if (!handle)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "libnvidia-ml.so.1 was not found: install NVIDIA's driver, or start the "
                       "container with access to the GPUs (docker run --gpus all)");
    int rc = dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, &me.table, e);
    me.loaded = rc == 0;
    return rc;
}

static int library_init(struct err *e)
{
    int result = me.table.nvmlInit_v2();
    if (result == NVML_OK)
        return 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].result == result)
            return err_set(e, refusals[i].code, "%s", refusals[i].text);
    return err_set_vendor(e, GPUFL_E_VENDOR, result, "NVML cannot be initialized: %s",
                          me.table.nvmlErrorString(result));
}

int nvml_get(const struct nvml **out, struct err *e)
{
    int rc = 0;
    *out = NULL;
    if (lock_is_lost())
        return err_set(e, GPUFL_E_STATE,
                       "this process was forked while its parent was starting to read device "
                       "metrics, and cannot read them: start it before "
                       "init, or call init in the children only");
    lock_take();
    if (me.owner != getpid())
        me.users = 0; /* first use, or the child after fork */
    if (!me.loaded)
        rc = table_load(e);
    if (rc == 0 && me.users == 0)
        rc = library_init(e);
    if (rc == 0) {
        me.owner = getpid();
        me.users++;
        *out = &me.table;
    }
    lock_leave();
    return rc;
}

void nvml_put(void)
{
    if (lock_is_lost())
        return;
    lock_take();
    if (me.owner == getpid() && me.users > 0 && --me.users == 0)
        me.table.nvmlShutdown();
    lock_leave();
}
