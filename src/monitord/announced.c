/* announced.c - see announced.h. */
#include "monitord/announced.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "wire/record.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TAKEN_AT_ONCE = 1024, MISSED_MOST = 3 };

static const int64_t LATE = 5000000000; /* ns; a busy machine delays a datagram */

void announced_init(struct announced *t)
{
    *t = (struct announced){.fd = -1};
    pthread_mutex_init(&t->lock, NULL);
}

void announced_fini(struct announced *t)
{
    if (*t->path)
        unlink(t->path);
    if (t->fd >= 0)
        close(t->fd);
    mem_free(t->items);
    pthread_mutex_destroy(&t->lock);
    *t = (struct announced){.fd = -1};
}

int announced_open(struct announced *t, const char *folder, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int on = 1;
    if (path_join(at.sun_path, sizeof at.sun_path, folder, ANNOUNCE_SOCKET))
        return err_set(e, GPUFL_E_FULL,
                       "%.200s is too long for a socket: name a shorter folder with --run-dir",
                       folder);
    /* The socket of a killed monitor: this one has the folder's lock. */
    (void)unlink(at.sun_path);
    t->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (t->fd < 0 || setsockopt(t->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ||
        bind(t->fd, (const struct sockaddr *)&at, sizeof at) || chmod(at.sun_path, 0666))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot listen at %.200s",
                              at.sun_path);
    memcpy(t->path, at.sun_path, sizeof t->path);
    return 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Returns the index of the process's entry, or t->count. The lock is held. */
static size_t find(const struct announced *t, int64_t pid)
{
    size_t i = 0;
    while (i < t->count && t->items[i].pid != pid)
        i++;
    return i;
}

/* The lock is held. */
static void drop_lapsed(struct announced *t, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].until > now)
            t->items[kept++] = t->items[i];
    t->count = kept;
}

/* Makes room for one more entry; false: there is none, which is counted. The lock is held. */
static bool has_room(struct announced *t, int64_t now)
{
    if (t->count == ANNOUNCED_MOST)
        drop_lapsed(t, now);
    if (mem_grow(&t->items, &t->cap, t->count + 1, sizeof *t->items, ANNOUNCED_MOST) == 0)
        return true;
    t->refused++;
    return false;
}

void announced_put(struct announced *t, int64_t pid, const struct announcement *said, int64_t now,
                   int64_t boot)
{
    pthread_mutex_lock(&t->lock);
    size_t i = find(t, pid);
    bool known = i < t->count;
    if (said->next && (known || has_room(t, now))) {
        i = known ? i : t->count++;
        t->items[i] =
            (struct announced_entry){pid, boot, now + MISSED_MOST * said->next + LATE, *said};
    } else if (known && !said->next && strcmp(t->items[i].said.session, said->session) == 0) {
        t->items[i].until = now; /* the announced session ends, and it is the one in the table */
    }
    drop_lapsed(t, now);
    pthread_mutex_unlock(&t->lock);
}

bool announced_find(struct announced *t, int64_t pid, int64_t start, int64_t now,
                    struct announcement *out)
{
    pthread_mutex_lock(&t->lock);
    size_t i = find(t, pid);
    bool found =
        i < t->count && t->items[i].until > now && (start == CELL_NULL || t->items[i].at >= start);
    if (found)
        *out = t->items[i].said;
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* ---- the socket ---------------------------------------------------------------------------- */

/* Returns the sending process, as the kernel names it; 0: it is in another namespace. */
static int64_t sender(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct ucred who;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&who, CMSG_DATA(c), sizeof who);
        return who.pid;
    }
    return 0;
}

static int64_t boot_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void announced_take(struct announced *t, int64_t now)
{
    for (int i = 0; t->fd >= 0 && i < TAKEN_AT_ONCE; i++) {
        char text[ANNOUNCE_MOST], control[CMSG_SPACE(sizeof(struct ucred))];
        struct iovec part = {text, sizeof text};
        struct msghdr m = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
        struct announcement said;
        ssize_t n = recvmsg(t->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0)
            return; /* there is none, or the next call has the same error */
        int64_t pid = sender(&m);
        if (pid > 0 && !(m.msg_flags & MSG_TRUNC) && announce_read(&said, text, (size_t)n)) {
            announced_put(t, pid, &said, now, boot_ns());
            continue;
        }
        pthread_mutex_lock(&t->lock);
        t->refused++;
        pthread_mutex_unlock(&t->lock);
    }
}
