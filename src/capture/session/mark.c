/* mark.c - see mark.h; src/cli/trace/program/marks.c receives the marks. */
#include "capture/session/mark.h"

#include "capture/options/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Writes the id of the launcher's run; "" if there is none. */
static void run_id(char *out, size_t size)
{
    static const char key[] = "run_id=";
    const char *at = getenv(OPTIONS_TRACE_VARIABLE);
    out[0] = '\0';
    while (at && strncmp(at, key, sizeof key - 1) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + sizeof key - 1, "\n"), at + sizeof key - 1);
}

bool mark_send(enum mark mark, const char *text)
{
    char id[64];
    run_id(id, sizeof id);
    return mark_send_of(id, mark, text);
}

bool mark_send_of(const char *id, enum mark mark, const char *text)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char message[512];
    if (!id || !*id)
        return false;
    int name = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, OPTIONS_MARK_SOCKET, id);
    int n = snprintf(message, sizeof message, "%c %ld %s", mark, (long)getpid(), text);
    size_t len = n < (int)sizeof message ? (size_t)n : sizeof message - 1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
    bool sent = sendto(fd, message, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
                       size) == (ssize_t)len;
    close(fd);
    return sent;
}
