/* rundir.c - see rundir.h. */
#include "monitord/rundir.h"

#include "base/file/file.h"
#include "monitor/places.h"
#include "monitor/steady.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK "monitor.lock"

static int find_path(struct rundir *r, const char *option, struct err *e)
{
    const char *systemd = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    int n;
    if (option && *option)
        n = snprintf(r->path, sizeof r->path, "%s", option);
    else if (systemd && *systemd)
        n = snprintf(r->path, sizeof r->path, "%.*s", (int)strcspn(systemd, ":"), systemd);
    else if (geteuid() == 0)
        n = snprintf(r->path, sizeof r->path, "%s", PLACES_MONITOR_FOLDER);
    else if (user && *user)
        n = snprintf(r->path, sizeof r->path, "%s/%s", user, PLACES_MONITOR_NAME);
    else
        n = snprintf(r->path, sizeof r->path, "/tmp/%s-%u", PLACES_MONITOR_NAME,
                     (unsigned)geteuid());
    return n > 0 && (size_t)n < sizeof r->path
               ? 0
               : err_set(e, GPUFL_E_FULL, "--run-dir is too long: name a shorter folder");
}

int rundir_advise(int code, const char *option, struct err *e)
{
    char why[sizeof e->text];
    snprintf(why, sizeof why, "%s", e->text);
    return err_set(e, code, "%.280s: name another folder with %s", why, option);
}

/* Returns true if the file of that name is still the open one: a monitor that removes its folder
 * removes the lock's file, which this one may have opened before. */
static bool is_there(int fd, const char *path)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

static int busy(const char *folder, struct err *e)
{
    return err_set(e, GPUFL_E_BUSY,
                   "another gpufl-monitor runs on this host (it holds %.250s): one is enough, end "
                   "it first",
                   folder);
}

/* Returns true if a monitor holds the folder, no matter of which user. */
static bool is_held(const char *file)
{
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return held;
}

/* Refuses to be a second monitor in the folders where traced programs search: they would find only
 * the first folder's. A folder that the user names is not checked. */
static int look_for_others(const char *option, struct err *e)
{
    const char *user = getenv("XDG_RUNTIME_DIR");
    char file[PATH_MAX];
    struct stat st;
    for (int i = 0; i < PLACES && !(option && *option); i++) {
        if (!places_path(i, user && *user ? user : NULL, LOCK, file, sizeof file) ||
            lstat(file, &st) || !places_is_trusted(i, &st) || !is_held(file))
            continue;
        file[strlen(file) - strlen("/" LOCK)] = '\0';
        return busy(file, e);
    }
    return 0;
}

int rundir_open(struct rundir *r, const char *option, struct err *e)
{
    char file[PATH_MAX];
    struct stat st;
    *r = (struct rundir){.lock = -1};
    int rc = find_path(r, option, e);
    if (!rc)
        rc = look_for_others(option, e);
    if (rc)
        return rc;
    rc = file_mkdirs(r->path, 0755, e);
    if (rc)
        return rundir_advise(rc, "--run-dir", e);
    if (path_join(file, sizeof file, r->path, LOCK))
        return err_set(e, GPUFL_E_FULL, "--run-dir is too long: name a shorter folder");
    if (is_held(file))
        return busy(r->path, e);
    if (lstat(r->path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)))
        return err_set(e, GPUFL_E_PERM,
                       "%.250s must be a folder of this user that nobody else may write: name "
                       "another one with --run-dir",
                       r->path);
    r->lock = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (r->lock < 0)
        return err_set_vendor(e, err_from_errno(errno), errno,
                              "cannot write %.200s: name another folder with --run-dir", file);
    if (flock(r->lock, LOCK_EX | LOCK_NB) == 0 && is_there(r->lock, file))
        return 0;
    close(r->lock);
    r->lock = -1;
    return busy(r->path, e);
}

/* Returns true if the roles are no longer those of the GPUs and the session. */
static bool is_stale(const struct rundir *r, const struct gpus *g, uint64_t generation)
{
    if (!r->roles || r->generation != generation || r->roled != g->count)
        return true;
    for (int i = 0; i < g->count; i++)
        if (strcmp(r->uuids[i], g->items[i].text.uuid) != 0)
            return true;
    return false;
}

void rundir_step(struct rundir *r, const struct gpus *g, uint64_t generation,
                 const struct role_holder *self, int64_t now)
{
    char host[ROLE_HOST];
    if (is_stale(r, g, generation)) {
        struct roles_config c = {.folder = r->path, .keep = true, .readable = true, .self = *self};
        roles_close(r->roles);
        r->roles = NULL;
        if (!*self->place || roles_open(&r->roles, &c))
            return;
        roles_host_name(host, sizeof host);
        (void)roles_add(r->roles, host);
        for (int i = 0; i < g->count; i++) {
            snprintf(r->uuids[i], sizeof r->uuids[i], "%s", g->items[i].text.uuid);
            (void)roles_add(r->roles, r->uuids[i]);
        }
        r->roled = g->count;
        r->generation = generation;
    }
    roles_step(r->roles, now);
}

void rundir_close(struct rundir *r)
{
    roles_close(r->roles);
    r->roles = NULL;
    if (r->lock >= 0)
        close(r->lock);
    r->lock = -1;
}

void rundir_remove(struct rundir *r)
{
    char file[PATH_MAX];
    roles_close(r->roles);
    r->roles = NULL;
    if (r->lock >= 0 && path_join(file, sizeof file, r->path, LOCK) == 0)
        (void)unlink(file); /* with the lock: no other monitor has it */
    rundir_close(r);
    (void)rmdir(r->path); /* stays if it is not empty */
}
