/* exits.c - see exits.h.
 *
 * A descriptor is kept until its process is over; then the status is read, and the descriptor is
 * closed. While EXITS_OPEN descriptors are kept, the status of further processes is unknown. */
#include "cli/trace/program/exits.h"

#include "base/alloc.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

enum {
    EXITS_OPEN = 256,     /* descriptors: a quarter of the usual limit */
    EXITS_MOST = 1 << 14, /* processes */
    SESSION_MAX = 48,
};

/* Declares Linux's struct pidfd_info, as of its first version. */
struct pidfd_info_0 {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code; /* a wait status */
};
#define PIDFD_GET_INFO_0 _IOWR(0xff, 11, struct pidfd_info_0)
#define PIDFD_INFO_EXIT  (1ull << 3)

struct exits_process {
    char session[SESSION_MAX]; /* "": none has begun */
    long pid;
    int pidfd; /* -1: status holds, or the process cannot be asked */
    int status;
    bool over;
    bool answered;
    bool unwritten; /* its log could not take the session's end */
};

void exits_listen(int socket)
{
    int on = 1;
    (void)setsockopt(socket, SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on);
}

/* Returns true if the process of a descriptor is over and the kernel gives its status. */
static bool ask(int pidfd, int *status)
{
    struct pidfd_info_0 info = {.mask = PIDFD_INFO_EXIT};
    if (ioctl(pidfd, PIDFD_GET_INFO_0, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT))
        return false;
    *status = info.exit_code;
    return true;
}

static void settle(struct exits *x)
{
    for (size_t i = 0; i < x->count; i++) {
        struct exits_process *p = &x->items[i];
        if (p->pidfd < 0 || !ask(p->pidfd, &p->status))
            continue;
        p->over = true;
        close(p->pidfd);
        p->pidfd = -1;
        x->open--;
    }
}

static struct exits_process *find(const struct exits *x, const char *session)
{
    for (size_t i = 0; *session && i < x->count; i++)
        if (strcmp(x->items[i].session, session) == 0)
            return &x->items[i];
    return NULL;
}

/* Returns a new one; NULL: no room. */
static struct exits_process *add(struct exits *x, const char *session, long pid)
{
    if (x->count == x->capacity) {
        size_t capacity = x->capacity ? 2 * x->capacity : 16;
        struct exits_process *more =
            capacity > EXITS_MOST ? NULL : mem_realloc(x->items, capacity * sizeof *more);
        if (!more)
            return NULL;
        x->items = more;
        x->capacity = capacity;
    }
    if (strlen(session) >= SESSION_MAX)
        return NULL;
    struct exits_process *p = &x->items[x->count++];
    *p = (struct exits_process){.pidfd = -1, .pid = pid};
    snprintf(p->session, sizeof p->session, "%s", session);
    return p;
}

/* Returns a process in which no session has begun so far. */
static struct exits_process *find_loaded(const struct exits *x, long pid)
{
    for (size_t i = x->count; i-- > 0;)
        if (x->items[i].pid == pid && !*x->items[i].session && !x->items[i].answered)
            return &x->items[i];
    return NULL;
}

static void keep(struct exits *x, struct exits_process *p, int pidfd)
{
    if (pidfd >= 0 && x->open >= EXITS_OPEN)
        settle(x);
    if (p && x->open < EXITS_OPEN) {
        p->pidfd = pidfd;
        x->open += pidfd >= 0;
    } else if (pidfd >= 0) {
        close(pidfd);
    }
}

/* Returns true if a session has begun in the process, and the process is not known to be over: its
 * number cannot be another process's. */
static bool has_session(const struct exits *x, long pid)
{
    for (size_t i = x->count; i-- > 0;)
        if (x->items[i].pid == pid && *x->items[i].session)
            return !exits_fate(x, i).over;
    return false;
}

void exits_keep_loaded(struct exits *x, long pid, int pidfd)
{
    if (!has_session(x, pid)) {
        keep(x, add(x, "", pid), pidfd);
        return;
    }
    if (pidfd >= 0)
        close(pidfd);
}

void exits_keep_answered(struct exits *x, long pid)
{
    struct exits_process *p = find_loaded(x, pid);
    if (p)
        p->answered = true;
}

void exits_keep(struct exits *x, const char *session, long pid, int pidfd)
{
    struct exits_process *p = find_loaded(x, pid);
    if (p && strlen(session) < SESSION_MAX) {
        snprintf(p->session, sizeof p->session, "%s", session);
        if (p->pidfd >= 0 || p->over) { /* the descriptor of the same process */
            if (pidfd >= 0)
                close(pidfd);
            return;
        }
        keep(x, p, pidfd);
        return;
    }
    keep(x, add(x, session, pid), pidfd);
}

void exits_keep_unwritten(struct exits *x, const char *session)
{
    struct exits_process *p = find(x, session);
    if (p)
        p->unwritten = true;
}

bool exits_unwritten(const struct exits *x, const char *session)
{
    const struct exits_process *p = find(x, session);
    return p && p->unwritten;
}

bool exits_status(const struct exits *x, const char *session, int *status)
{
    const struct exits_process *p = find(x, session);
    if (!p)
        return false;
    *status = p->status;
    return p->over || (p->pidfd >= 0 && ask(p->pidfd, status));
}

struct exits_fate exits_fate(const struct exits *x, size_t i)
{
    const struct exits_process *p = &x->items[i];
    struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
    struct exits_fate f = {.session = p->session,
                           .pid = p->pid,
                           .answered = p->answered,
                           .over = p->over,
                           .known = p->over,
                           .status = p->status};
    if (!f.over && p->pidfd >= 0) {
        f.over = poll(&ended, 1, 0) == 1 && ended.revents;
        f.known = ask(p->pidfd, &f.status);
    }
    return f;
}

void exits_fini(struct exits *x)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->items[i].pidfd >= 0)
            close(x->items[i].pidfd);
    mem_free(x->items);
    *x = (struct exits){0};
}
