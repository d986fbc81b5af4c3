/* marks.c - see marks.h.
 *
 * Any user of the host can send to the socket, since the program may have become another user.
 * Marks are shown without control characters. Their only effect beyond sentences is that an empty
 * folder of this run may be removed. */
#include "cli/trace/program/marks.h"

#include "capture/options/options.h"
#include "capture/session/mark.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

void marks_open(struct marks *m, const char *run)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *m = (struct marks){.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    int name = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, OPTIONS_MARK_SOCKET, run);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
    if (m->fd >= 0)
        exits_listen(m->fd);
    if (m->fd >= 0 && bind(m->fd, (struct sockaddr *)&at, size) != 0)
        marks_close(m);
}

void marks_close(struct marks *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    exits_fini(&m->exits);
}

void marks_forget(struct marks *m)
{
    marks_take(m);
    exits_fini(&m->exits);
    *m = (struct marks){.fd = m->fd};
}

static void keep(char to[MARK_TEXT], const char *text)
{
    if (*to)
        return;
    snprintf(to, MARK_TEXT, "%.*s", MARK_TEXT - 1, text);
    for (char *c = to; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
}

/* Returns the id of the session in a directory. */
static const char *base_of(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash ? slash + 1 : dir;
}

/* The descriptor of the sender is closed, or kept. */
static void take_one(struct marks *m, const char *message, int sender)
{
    char *text;
    long pid = strtol(message + 1, &text, 10);
    text += *text == ' ';
    switch (message[0]) {
    case MARK_LOADED:
        m->loaded++;
        exits_keep_loaded(&m->exits, pid, sender);
        sender = -1;
        break;
    case MARK_BEGAN:
        m->began_pid = m->began++ ? m->began_pid : pid;
        keep(m->dir, text);
        exits_keep(&m->exits, base_of(text), pid, sender);
        sender = -1;
        break;
    case MARK_UNWRITTEN:
        m->unwritten++;
        exits_keep_unwritten(&m->exits, base_of(text));
        break;
    case MARK_FAILED:
        m->failed_pid = m->failed++ ? m->failed_pid : pid;
        keep(m->why, text);
        exits_keep_answered(&m->exits, pid);
        break;
    case MARK_DISABLED:
        m->disabled++;
        keep(m->disabler, text);
        exits_keep_answered(&m->exits, pid);
        break;
    default:
        break;
    }
    if (sender >= 0)
        close(sender);
}

/* Returns the descriptor that came with a message; -1: none. */
static int sender_of(struct msghdr *h)
{
    int fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_PIDFD &&
            c->cmsg_len == CMSG_LEN(sizeof fd))
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

void marks_take(struct marks *m)
{
    char message[513];
    ssize_t n;
    while (m->fd >= 0) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec v = {.iov_base = message, .iov_len = sizeof message - 1};
        struct msghdr h = {.msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
        n = recvmsg(m->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n <= 0)
            break;
        message[n] = '\0';
        take_one(m, message, sender_of(&h));
    }
}
