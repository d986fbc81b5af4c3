/* listen.c - see listen.h. */
#include "net/server/listen.h"

#include "base/opt.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 512 };

int listen_parse(const char *text, char *address, size_t size, uint16_t *port, struct err *e)
{
    const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t value = 0;
    if (n >= 2 && *text == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    } else if (memchr(text, ':', n)) {
        return err_set(e, GPUFL_E_INVAL,
                       "'%s': write an IPv6 address in brackets, and a port after them: "
                       "[::1]:8080",
                       text);
    }
    if (opt_int(number, &value) || value < 0 || value > UINT16_MAX || *number == '+')
        return err_set(e, GPUFL_E_INVAL, "'%s' is not ADDRESS:PORT, with a port from 0 to 65535",
                       text);
    if (n >= size)
        return err_set(e, GPUFL_E_INVAL, "the address to listen on is too long");
    memcpy(address, n ? text : "127.0.0.1", n ? n : sizeof "127.0.0.1");
    if (n)
        address[n] = '\0';
    *port = (uint16_t)value;
    return 0;
}

/* Returns a descriptor, or -errno. */
static int listen_on(const struct addrinfo *a, uint16_t *port)
{
    int one = 1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {.v6 = {0}};
    socklen_t len = sizeof bound;
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, &bound.any, &len) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    *port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return fd;
}

static int refuse(int error, const char *address, uint16_t port, struct err *e)
{
    int rc = error == EADDRINUSE ? GPUFL_E_BUSY : err_from_errno(error);
    const char *why =
        error == EADDRINUSE ? "another program does; choose another port, or 0 for any free one"
        : error == EADDRNOTAVAIL ? "no interface of this machine has that address; name one that "
                                   "`ip address` shows, or 0.0.0.0 for all"
        : error == EACCES        ? "this user may not; choose a port of 1024 or above"
                                 : strerror(error);
    return err_set(e, rc, "cannot listen on %s port %u: %s", address, port, why);
}

int listen_open(const char *address, uint16_t *port, int *fd, struct err *e)
{
    char number[8];
    snprintf(number, sizeof number, "%u", *port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(address, number, &hints, &found);
    if (failed)
        return err_set(e, GPUFL_E_INVAL, "cannot listen on '%s': %s", address,
                       gai_strerror(failed));
    int got = -EADDRNOTAVAIL;
    for (const struct addrinfo *a = found; a && got < 0; a = a->ai_next)
        got = listen_on(a, port);
    freeaddrinfo(found);
    if (got >= 0) {
        *fd = got;
        return 0;
    }
    return refuse(-got, address, *port, e);
}
