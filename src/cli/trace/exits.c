/* exits.c - see exits.h.
 *
 * A descriptor is kept until its process is over: then it is asked, and closed. Where EXITS_OPEN
 * of them are kept, further processes have no status. */
#include "cli/trace/exits.h"

#include "base/alloc.h"

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
    EXITS_OPEN = 256, /* descriptors: a quarter of the usual limit */
    SESSION_MAX = 48,
};

/* Linux's struct pidfd_info, as of its first version. */
struct pidfd_info_0 {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code; /* a wait status */
};
#define PIDFD_GET_INFO_0 _IOWR(0xff, 11, struct pidfd_info_0)
#define PIDFD_INFO_EXIT  (1ull << 3)

struct exits_process {
    char session[SESSION_MAX];
    int pidfd; /* -1: status holds, or the process cannot be asked */
    int status;
    bool over;
};

void exits_listen(int socket)
{
    int on = 1;
    (void)setsockopt(socket, SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on);
}

/* True where the process of a descriptor is over and the kernel says how. */
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

void exits_keep(struct exits *x, const char *session, int pidfd)
{
    if (pidfd < 0)
        return;
    if (x->open >= EXITS_OPEN)
        settle(x);
    if (x->count == x->capacity && x->open < EXITS_OPEN) {
        size_t capacity = x->capacity ? 2 * x->capacity : 16;
        struct exits_process *more = mem_realloc(x->items, capacity * sizeof *more);
        if (more) {
            x->items = more;
            x->capacity = capacity;
        }
    }
    if (x->count == x->capacity || x->open >= EXITS_OPEN || strlen(session) >= SESSION_MAX) {
        close(pidfd);
        return;
    }
    struct exits_process *p = &x->items[x->count++];
    *p = (struct exits_process){.pidfd = pidfd};
    snprintf(p->session, sizeof p->session, "%s", session);
    x->open++;
}

bool exits_status(const struct exits *x, const char *session, int *status)
{
    for (size_t i = 0; *session && i < x->count; i++) {
        const struct exits_process *p = &x->items[i];
        if (strcmp(p->session, session) != 0)
            continue;
        *status = p->status;
        return p->over || (p->pidfd >= 0 && ask(p->pidfd, status));
    }
    return false;
}

void exits_fini(struct exits *x)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->items[i].pidfd >= 0)
            close(x->items[i].pidfd);
    mem_free(x->items);
    *x = (struct exits){0};
}
