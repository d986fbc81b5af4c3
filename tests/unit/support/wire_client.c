/* wire_client.c - sends and receives bytes over a plain socket. */
#include "tests/unit/support/wire_client.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

int client_open(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

bool client_send(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool client_say(int fd, const char *text)
{
    return client_send(fd, text, strlen(text));
}

/* Reads one byte; false at the end, or if none comes in time. */
static bool take(int fd, char *c)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, PATIENCE_MS) <= 0)
        return false;
    return recv(fd, c, 1, 0) == 1;
}

static bool take_all(int fd, char *out, size_t n)
{
    while (n) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&p, 1, PATIENCE_MS) > 0 ? recv(fd, out, n, 0) : 0;
        if (got <= 0)
            return false;
        out += got;
        n -= (size_t)got;
    }
    return true;
}

void client_head(int fd, struct answer *a)
{
    size_t n = 0;
    *a = (struct answer){0};
    while (n + 1 < sizeof a->head && take(fd, &a->head[n])) {
        n++;
        if (n >= 4 && memcmp(a->head + n - 4, "\r\n\r\n", 4) == 0) {
            a->head[n] = '\0';
            sscanf(a->head, "HTTP/1.%*d %d", &a->status);
            return;
        }
    }
    a->head[n] = '\0';
}

static void take_chunks(int fd, struct answer *a)
{
    for (;;) {
        char line[32] = "", c = 0;
        size_t n = 0;
        while (n + 1 < sizeof line && c != '\n') {
            if (!take(fd, &c))
                return;
            line[n++] = c;
        }
        size_t size = strtoul(line, NULL, 16);
        a->body = realloc(a->body, a->len + size + 1);
        if (!take_all(fd, a->body + a->len, size) || !take_all(fd, line, 2))
            return;
        a->len += size;
        a->body[a->len] = '\0';
        if (size == 0) {
            a->whole = true;
            return;
        }
    }
}

void client_answer(int fd, struct answer *a, bool head)
{
    client_head(fd, a);
    if (!a->status)
        return;
    if (strcasecmp(answer_field(a, "Transfer-Encoding"), "chunked") == 0 && !head) {
        take_chunks(fd, a);
        return;
    }
    size_t size = head ? 0 : strtoul(answer_field(a, "Content-Length"), NULL, 10);
    a->body = malloc(size + 1);
    a->whole = take_all(fd, a->body, size);
    a->len = a->whole ? size : 0;
    a->body[a->len] = '\0';
}

void answer_free(struct answer *a)
{
    free(a->body);
    a->body = NULL;
}

const char *answer_field(const struct answer *a, const char *name)
{
    static char out[1024];
    size_t want = strlen(name);
    out[0] = '\0';
    for (const char *s = strchr(a->head, '\n'); s; s = strchr(s + 1, '\n'))
        if (strncasecmp(s + 1, name, want) == 0 && s[1 + want] == ':')
            snprintf(out, sizeof out, "%.*s", (int)strcspn(s + want + 3, "\r"), s + want + 3);
    return out;
}

bool client_until(int fd, const char *text)
{
    size_t want = strlen(text), have = 0;
    char seen[256];
    while (have < want) {
        if (have == sizeof seen || !take(fd, &seen[have]))
            return false;
        have++;
        while (have && memcmp(seen, text, have) != 0)
            memmove(seen, seen + 1, --have);
    }
    return true;
}

bool client_closed(int fd, int timeout_ms)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, timeout_ms) > 0)
        if (recv(fd, &c, 1, 0) <= 0)
            return true;
    return false;
}
