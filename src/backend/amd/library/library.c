/* library.c - see library.h.
 *
 * Users are counted under a lock. After fork the child initializes the library again. If another
 * thread was in here during the fork, this lock and those of the library stay locked in the child:
 * it gets an error instead of waiting for them.
 *
 * A library that the program has loaded itself is used first. If the library does not count its
 * users, it then stays initialized, because the program may be using it. */
#include "backend/amd/library/library.h"

#include "backend/amd/library/driver.h"
#include "base/file/file.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CANDIDATES_MOST = 16 };

static void lock_take(struct amd_library *l)
{
    pthread_mutex_lock(&l->lock);
    atomic_store_explicit(&l->inside, getpid(), memory_order_relaxed);
}

static void lock_leave(struct amd_library *l)
{
    atomic_store_explicit(&l->inside, 0, memory_order_relaxed);
    pthread_mutex_unlock(&l->lock);
}

static bool lock_is_lost(struct amd_library *l)
{
    int holder = atomic_load_explicit(&l->inside, memory_order_relaxed);
    return holder && holder != getpid();
}

/* ---- loading ------------------------------------------------------------------------------ */

const char *amd_library_chosen(void)
{
    const char *path = getenv(AMD_SMI_PATH);
    return path && *path ? path : NULL;
}

static int major_of(const char *path)
{
    char real[PATH_MAX];
    const char *so = strstr(path_base(realpath(path, real) ? real : path), ".so.");
    return so ? atoi(so + 4) : 0;
}

static void *open_chosen(struct amd_library *l, const char *chosen)
{
    char paths[CANDIDATES_MOST][PATH_MAX];
    const char *list[CANDIDATES_MOST + 1] = {NULL};
    struct stat st;
    int n = 0;
    if (stat(chosen, &st) == 0 && S_ISDIR(st.st_mode)) {
        for (; l->candidates[n] && n < CANDIDATES_MOST; n++) {
            (void)path_join(paths[n], sizeof paths[n], chosen, path_base(l->candidates[n]));
            list[n] = paths[n];
        }
    } else if (strncmp(path_base(chosen), l->prefix, strlen(l->prefix)) == 0) {
        list[0] = chosen;
    } else {
        return NULL;
    }
    return dl_open_first(list, l->path, sizeof l->path, NULL);
}

static int load(struct amd_library *l, struct err *e)
{
    const char *chosen = amd_library_chosen();
    void *handle = dl_find_loaded(l->prefix, l->path, sizeof l->path);
    l->theirs = handle != NULL;
    if (!handle && chosen)
        handle = open_chosen(l, chosen);
    else if (!handle && !amd_driver_loaded())
        return err_set(e, GPUFL_E_NOENT,
                       "AMD's kernel driver is not loaded: load it (modprobe amdgpu), or start the "
                       "container with --device /dev/kfd --device /dev/dri");
    else if (!handle)
        handle = dl_open_first(l->candidates, l->path, sizeof l->path, NULL);
    if (!handle)
        return err_set(e, GPUFL_E_NOENT, "%s was not found", l->name);
    struct err why = {0};
    int rc = dl_fill(handle, l->symbols, l->symbol_count, l->table, &why);
    if (rc)
        return err_set(e, rc, "%s at %.120s cannot be used: %.200s", l->name, l->path, why.text);
    l->major = major_of(l->path);
    l->loaded = true;
    return 0;
}

int amd_library_no_gpu(const struct amd_library *l, int result, struct err *e)
{
    struct err why = {0};
    if (amd_driver_may_compute(&why) == GPUFL_E_PERM)
        return err_set_vendor(e, GPUFL_E_PERM, result, "%s finds no GPU of AMD's: %s", l->name,
                              why.text);
    if (amd_driver_loaded())
        return err_set_vendor(e, GPUFL_E_UNAVAILABLE, result,
                              "%s finds no GPU of AMD's, though the kernel driver is loaded: see "
                              "dmesg, start the container with --device /dev/kfd --device "
                              "/dev/dri, and add the user to the groups render and video",
                              l->name);
    return err_set_vendor(e, GPUFL_E_UNAVAILABLE, result,
                          "%s finds no GPU of AMD's: load the kernel driver (modprobe amdgpu), or "
                          "start the container with --device /dev/kfd --device /dev/dri",
                          l->name);
}

static int lost(struct err *e)
{
    return err_set(e, GPUFL_E_STATE,
                   "this process was forked while its parent was starting to read device metrics, "
                   "and cannot read them: start it before init, or call init in the children only");
}

int amd_library_load(struct amd_library *l, struct err *e)
{
    if (lock_is_lost(l))
        return lost(e);
    lock_take(l);
    int rc = l->loaded ? 0 : load(l, e);
    lock_leave(l);
    return rc;
}

/* ---- users -------------------------------------------------------------------------------- */

int amd_library_get(struct amd_library *l, struct err *e)
{
    if (lock_is_lost(l))
        return lost(e);
    lock_take(l);
    if (l->owner != getpid())
        l->users = 0; /* first use, or the child after fork */
    int rc = l->loaded ? 0 : load(l, e);
    if (rc == 0 && l->users == 0)
        rc = l->begin(e);
    if (rc == 0) {
        l->owner = getpid();
        l->users++;
    }
    lock_leave(l);
    return rc;
}

void amd_library_put(struct amd_library *l)
{
    if (lock_is_lost(l))
        return;
    lock_take(l);
    if (l->owner == getpid() && l->users > 0 && --l->users == 0 && (l->counts || !l->theirs))
        l->end();
    lock_leave(l);
}
