/* marks.c - see marks.h.
 *
 * Any user of the host can send to the socket, since the program may have become another user.
 * Marks are shown without control characters, and lead to no action except that an empty folder of
 * this run may be removed. */
#include "cli/trace/marks.h"

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

void marks_open(struct marks *m, const char *run)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *m = (struct marks){.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    int name = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, OPTIONS_MARK_SOCKET, run);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
    if (m->fd >= 0 && bind(m->fd, (struct sockaddr *)&at, size) != 0)
        marks_close(m);
}

void marks_close(struct marks *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
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

static void take_one(struct marks *m, const char *message)
{
    char *text;
    long pid = strtol(message + 1, &text, 10);
    text += *text == ' ';
    switch (message[0]) {
    case MARK_LOADED:
        m->loaded++;
        break;
    case MARK_BEGAN:
        m->began_pid = m->began++ ? m->began_pid : pid;
        keep(m->dir, text);
        break;
    case MARK_FAILED:
        m->failed_pid = m->failed++ ? m->failed_pid : pid;
        keep(m->why, text);
        break;
    case MARK_DISABLED:
        m->disabled++;
        keep(m->disabler, text);
        break;
    default:
        break;
    }
}

void marks_take(struct marks *m)
{
    char message[513];
    ssize_t n;
    while (m->fd >= 0 && (n = recv(m->fd, message, sizeof message - 1, MSG_DONTWAIT)) > 0) {
        message[n] = '\0';
        take_one(m, message);
    }
}
