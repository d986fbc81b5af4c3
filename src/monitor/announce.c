/* announce.c - see announce.h. */
#include "monitor/announce.h"

#include "base/printable.h"
#include "base/process/fd_thread.h"
#include "monitor/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char FIRST[] = "gpufl-session 1 ";

/* A new scope is announced after 5 s at the earliest, since each datagram wakes the monitor; it
 * lists processes as often. */
static const int64_t SCOPE_EVERY = 5000000000, NEXT_MOST = 86400000000000;

/* ---- the text ------------------------------------------------------------------------------ */

size_t announce_write(const struct announcement *a, char out[ANNOUNCE_MOST])
{
    int n =
        snprintf(out, ANNOUNCE_MOST, "%s%s %" PRId64 " %s", FIRST, a->session, a->next, a->scope);
    return n < ANNOUNCE_MOST ? (size_t)n : ANNOUNCE_MOST - 1;
}

bool announce_read(struct announcement *a, const char *text, size_t len)
{
    const size_t first = sizeof FIRST - 1, id = TRACED_SESSION - 1;
    char copy[ANNOUNCE_MOST], *end;
    *a = (struct announcement){.next = 0};
    if (len >= sizeof copy || len < first + id + 2 || memchr(text, '\0', len) ||
        memcmp(text, FIRST, first) != 0 || !traced_is_session(text + first, id))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    const char *number = copy + first + id;
    if (number[0] != ' ' || number[1] < '0' || number[1] > '9')
        return false;
    a->next = strtoll(number, &end, 10);
    if (*end != ' ' || a->next > NEXT_MOST)
        return false;
    memcpy(a->session, text + first, id);
    (void)printable_copy(a->scope, sizeof a->scope, end + 1, strlen(end + 1));
    return true;
}

/* ---- sending ------------------------------------------------------------------------------- */

struct sending {
    const char *user, *text;
    size_t len;
    bool received;
};

/* Returns true if a monitor's socket is there, which is not reached through a symbolic link. */
static bool is_socket(int place, const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && places_is_trusted(place, &st);
}

/* Runs on the files' thread. */
static void send_to_monitor(void *arg)
{
    struct sending *s = arg;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    for (int i = 0; i < PLACES && !s->received; i++) {
        if (!places_path(i, s->user, ANNOUNCE_SOCKET, at.sun_path, sizeof at.sun_path) ||
            !is_socket(i, at.sun_path))
            continue;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            return;
        s->received = sendto(fd, s->text, s->len, MSG_DONTWAIT | MSG_NOSIGNAL,
                             (const struct sockaddr *)&at, sizeof at) == (ssize_t)s->len;
        close(fd);
    }
}

static bool announce(const struct announcer *a, const char *scope, int64_t next)
{
    char text[ANNOUNCE_MOST];
    struct announcement x = {.next = next};
    memcpy(x.session, a->session, sizeof x.session);
    memcpy(x.scope, scope, printable_cut(scope, strlen(scope), sizeof x.scope - 1));
    struct sending s = {.user = *a->user ? a->user : NULL, .text = text};
    s.len = announce_write(&x, text);
    fd_thread_run(send_to_monitor, &s);
    return s.received;
}

void announce_begin(struct announcer *a, const char *session, int64_t every)
{
    const char *user = getenv("XDG_RUNTIME_DIR");
    *a = (struct announcer){.every = every > ANNOUNCE_EVERY ? every : ANNOUNCE_EVERY};
    if (session && strlen(session) < sizeof a->session)
        memcpy(a->session, session, strlen(session));
    if (user && strlen(user) < sizeof a->user)
        memcpy(a->user, user, strlen(user));
}

void announce_step(struct announcer *a, const char *scope, int64_t now)
{
    bool changed = a->received && strncmp(a->scope, scope, sizeof a->scope - 1) != 0;
    if (!*a->session || now < (changed ? a->changed_due : a->due))
        return;
    a->received = announce(a, scope, a->every);
    a->due = now + a->every;
    a->changed_due = now + SCOPE_EVERY;
    snprintf(a->scope, sizeof a->scope, "%.*s", ANNOUNCE_SCOPE - 1, scope);
}

void announce_end(struct announcer *a)
{
    if (a->received)
        (void)announce(a, "", 0);
    a->received = false;
    a->session[0] = '\0';
}
