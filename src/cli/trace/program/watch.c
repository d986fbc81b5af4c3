/* watch.c - uses inotify over the sessions' directory and each session in it.
 *
 * A session that appears between the listing and the watch is not lost: the watch on the directory
 * is set before it is listed. If the machine's limits of inotify (fs.inotify) are reached,
 * watch_open fails and the caller reports it. */
#include "cli/trace/program/watch.h"

#include "base/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Watches one session's directory: its system log is created, written and renamed there. */
static void follow(struct watch *w, const char *name)
{
    char path[PATH_MAX];
    if (name[0] != '.' && path_join(path, sizeof path, w->dir, name) == 0)
        inotify_add_watch(w->fd, path, IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_ONLYDIR);
}

int watch_open(struct watch *w, const char *dir, struct err *e)
{
    *w = (struct watch){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .top = -1, .dir = dir};
    if (w->fd >= 0)
        w->top = inotify_add_watch(w->fd, dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    if (w->top < 0) {
        int error = errno;
        watch_close(w);
        return err_set_vendor(e, GPUFL_E_IO, error,
                              "cannot watch %s: the report comes at the program's end", dir);
    }
    DIR *d = opendir(dir);
    if (d) {
        for (struct dirent *f; (f = readdir(d));)
            follow(w, f->d_name);
        closedir(d);
    }
    return GPUFL_OK;
}

void watch_close(struct watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

bool watch_take(struct watch *w)
{
    _Alignas(struct inotify_event) char data[16384];
    bool changed = false;
    for (;;) {
        ssize_t n = read(w->fd, data, sizeof data);
        if (n <= 0)
            return changed;
        const struct inotify_event *ev;
        for (char *at = data; at < data + n; at += sizeof *ev + ev->len) {
            ev = (const struct inotify_event *)at;
            if (ev->wd == w->top && ev->len)
                follow(w, ev->name);
            if (ev->wd == w->top || (ev->len && strcmp(ev->name, "system.log") == 0) ||
                (ev->mask & IN_Q_OVERFLOW))
                changed = true;
        }
    }
}
