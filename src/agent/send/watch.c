/* watch.c - see watch.h. */
#include "agent/send/watch.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { WATCHES_MAX = 1 << 26, ROOM = 16 << 10 };

static const uint32_t EVENTS = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                               IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;

void watch_open(struct watch *w, bool off)
{
    *w = (struct watch){.fd = off ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

void watch_close(struct watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    mem_free(w->tags);
    *w = (struct watch){.fd = -1};
}

int watch_add(struct watch *w, const char *path, int32_t tag)
{
    if (w->fd < 0)
        return -1;
    size_t before = w->cap;
    int watch = inotify_add_watch(w->fd, path, EVENTS);
    if (watch >= 0 &&
        mem_grow(&w->tags, &w->cap, (size_t)watch + 1, sizeof *w->tags, WATCHES_MAX)) {
        inotify_rm_watch(w->fd, watch);
        watch = -1;
    }
    w->refused += watch < 0;
    for (size_t i = before; i < w->cap; i++)
        w->tags[i] = -1;
    if (watch >= 0)
        w->tags[watch] = tag;
    return watch;
}

void watch_remove(struct watch *w, int watch)
{
    if (watch < 0 || (size_t)watch >= w->cap)
        return;
    w->tags[watch] = -1;
    inotify_rm_watch(w->fd, watch);
}

void watch_take(struct watch *w, void (*touched)(void *arg, int32_t tag), void *arg, bool *missed)
{
    alignas(struct inotify_event) char room[ROOM];
    ssize_t n;
    *missed = false;
    while (w->fd >= 0 && (n = read(w->fd, room, sizeof room)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(room + at);
            at += (ssize_t)(sizeof *event + event->len);
            *missed |= (event->mask & IN_Q_OVERFLOW) != 0;
            if (event->wd >= 0 && (size_t)event->wd < w->cap && w->tags[event->wd] >= 0)
                touched(arg, w->tags[event->wd]);
        }
}
