/* control.c - see control.h. */
#include "agent/daemon/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEND_MS = 2000 };

static void bump(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) < 0)
        return; /* it is set already */
}

/* ---- answering [control thread] ------------------------------------------------------------- */

static void hang_up(struct control_client *k)
{
    close(k->fd);
    *k = (struct control_client){.fd = -1};
}

/* Sends the answer, as far as the client takes it in time. */
static void answer(struct control_client *k, const char *text, size_t len)
{
    while (len) {
        ssize_t n = send(k->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = k->fd, .events = POLLOUT};
            if (poll(&room, 1, SEND_MS) > 0)
                continue;
        }
        if (n <= 0)
            break;
        text += n;
        len -= (size_t)n;
    }
    hang_up(k);
}

static void answer_text(struct control_client *k, const char *text)
{
    answer(k, text, strlen(text));
}

static void answer_status(struct control *c, struct control_client *k)
{
    struct buf b;
    buf_init(&b, CONTROL_ANSWER);
    c->status(c->arg, &b);
    buf_char(&b, '\n');
    answer(k, buf_cstr(&b), b.len);
    buf_fini(&b);
}

static void set_paused(struct control *c, struct control_client *k, bool on)
{
    pthread_mutex_lock(&c->lock);
    c->paused = on;
    c->resumed |= !on;
    pthread_mutex_unlock(&c->lock);
    bump(c->wake);
    answer_text(k, on ? "{\"paused\":true}\n" : "{\"paused\":false}\n");
}

static void obey(struct control *c, struct control_client *k)
{
    static const char *const tasks[CONTROL_TASKS] = {"", "flush", "drain", "retry"};
    if (strcmp(k->line, "status") == 0) {
        answer_status(c, k);
        return;
    }
    if (strcmp(k->line, "pause") == 0 || strcmp(k->line, "resume") == 0) {
        set_paused(c, k, k->line[0] == 'p');
        return;
    }
    for (int t = CONTROL_FLUSH; t < CONTROL_TASKS; t++)
        if (strcmp(k->line, tasks[t]) == 0) {
            pthread_mutex_lock(&c->lock);
            k->task = (enum control_task)t;
            k->ticket = ++c->asked[t];
            pthread_mutex_unlock(&c->lock);
            bump(c->wake);
            return;
        }
    answer_text(k, "{\"error\":\"there is no such command\"}\n");
}

/* Reads the client's line, or a piece of it. */
static void receive(struct control *c, struct control_client *k)
{
    ssize_t n = recv(k->fd, k->line + k->len, sizeof k->line - 1 - k->len, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    k->len += n > 0 ? (size_t)n : 0;
    k->line[k->len] = '\0';
    char *lf = strchr(k->line, '\n');
    if (k->task || n <= 0 || (!lf && k->len == sizeof k->line - 1)) {
        hang_up(k); /* the client has gone, or its line is too long */
        return;
    }
    if (lf) {
        *lf = '\0';
        obey(c, k);
    }
}

static void answer_done(struct control *c, struct control_client *k)
{
    char text[CONTROL_RESULT] = "";
    pthread_mutex_lock(&c->lock);
    if (c->done[k->task] >= k->ticket)
        snprintf(text, sizeof text, "%s", c->answers[k->task]);
    else if (c->ending)
        snprintf(text, sizeof text, "{\"error\":\"the agent ends before it is done\"}");
    pthread_mutex_unlock(&c->lock);
    if (*text) {
        strcat(text, "\n");
        answer_text(k, text);
    }
}

static void take_client(struct control *c)
{
    int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (int i = 0; fd >= 0 && i < CONTROL_CLIENTS; i++)
        if (c->clients[i].fd < 0) {
            c->clients[i] = (struct control_client){.fd = fd};
            return;
        }
    if (fd >= 0)
        close(fd);
}

static void *serve(void *arg)
{
    struct control *c = arg;
    struct pollfd fds[CONTROL_CLIENTS + 2];
    bool ending = false;
    while (!ending) {
        fds[0] = (struct pollfd){.fd = c->listener, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = c->notify, .events = POLLIN};
        for (int i = 0; i < CONTROL_CLIENTS; i++)
            fds[i + 2] = (struct pollfd){.fd = c->clients[i].fd, .events = POLLIN};
        if (poll(fds, CONTROL_CLIENTS + 2, -1) < 0)
            continue;
        uint64_t count;
        if (fds[1].revents && read(c->notify, &count, sizeof count) < 0)
            continue;
        pthread_mutex_lock(&c->lock);
        ending = c->ending;
        pthread_mutex_unlock(&c->lock);
        for (int i = 0; i < CONTROL_CLIENTS; i++) {
            struct control_client *k = &c->clients[i];
            if (k->fd >= 0 && fds[i + 2].revents)
                receive(c, k);
            if (k->fd >= 0 && k->task)
                answer_done(c, k);
        }
        if (fds[0].revents)
            take_client(c);
    }
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (c->clients[i].fd >= 0)
            hang_up(&c->clients[i]);
    return NULL;
}

/* ---- the agent's side ----------------------------------------------------------------------- */

static int make_address(const char *path, struct sockaddr_un *out, struct err *e)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return err_set(e, GPUFL_E_INVAL,
                       "the control socket's path has more than %zu bytes: name a shorter one with "
                       "--control",
                       sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Returns true if a program listens at the socket. */
static bool is_served(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool served = fd >= 0 && (connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 ||
                              (errno != ECONNREFUSED && errno != ENOENT));
    if (fd >= 0)
        close(fd);
    return served;
}

/* Refuses a path of anything but a socket. *there: the path exists. */
static int look_at_place(const struct sockaddr_un *at, bool *there, struct err *e)
{
    struct stat st;
    *there = lstat(at->sun_path, &st) == 0;
    if (!*there && errno != ENOENT)
        return err_set_vendor(e, err_from_errno(errno), errno, "the control socket %s",
                              at->sun_path);
    if (*there && !S_ISSOCK(st.st_mode))
        return err_set(e, GPUFL_E_INVAL,
                       "%s is no socket: name another path for the control socket with --control",
                       at->sun_path);
    return 0;
}

int control_check(const char *path, struct err *e)
{
    struct sockaddr_un to;
    bool there;
    int rc = make_address(path, &to, e);
    return rc ? rc : look_at_place(&to, &there, e);
}

/* Removes the socket of an agent that was killed, and nothing else. */
static int clear_place(const struct sockaddr_un *at, struct err *e)
{
    bool there;
    int rc = look_at_place(at, &there, e);
    if (!rc && there && is_served(at))
        rc = err_set(e, GPUFL_E_STATE,
                     "another program listens at the control socket %s: name another one with "
                     "--control",
                     at->sun_path);
    if (!rc && there)
        (void)unlink(at->sun_path);
    return rc;
}

static int listen_at(struct control *c, const char *path, struct err *e)
{
    struct sockaddr_un to;
    struct stat st;
    int rc = make_address(path, &to, e);
    if (!rc)
        rc = clear_place(&to, e);
    if (rc)
        return rc;
    c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool failed = c->listener < 0 || bind(c->listener, (struct sockaddr *)&to, sizeof to) ||
                  lstat(path, &st) || listen(c->listener, CONTROL_CLIENTS);
    umask(mask);
    if (failed)
        return err_set_vendor(e, err_from_errno(errno), errno, "the control socket %s", path);
    snprintf(c->path, sizeof c->path, "%s", path);
    c->inode = st.st_ino;
    return 0;
}

/* Removes the agent's socket, unless another agent has the path by now. */
static void leave_place(const struct control *c)
{
    struct stat st;
    if (*c->path && lstat(c->path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == c->inode)
        (void)unlink(c->path);
}

int control_open(struct control *c, const char *path, void (*status)(void *arg, struct buf *out),
                 void *arg, struct err *e)
{
    *c = (struct control){.listener = -1, .status = status, .arg = arg};
    pthread_mutex_init(&c->lock, NULL);
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        c->clients[i].fd = -1;
    c->notify = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = c->notify < 0 || c->wake < 0 ? err_nomem(e) : listen_at(c, path, e);
    if (!rc && thread_start(&c->thread, "gpufl-control", 0, serve, c))
        rc = err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal());
    if (rc)
        control_close(c);
    return rc;
}

void control_close(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_mutex_unlock(&c->lock);
    bump(c->notify);
    if (c->thread.running)
        thread_join(&c->thread);
    if (c->listener >= 0) {
        close(c->listener);
        leave_place(c);
    }
    if (c->notify >= 0)
        close(c->notify);
    if (c->wake >= 0)
        close(c->wake);
    c->listener = c->notify = c->wake = -1;
    pthread_mutex_destroy(&c->lock);
}

bool control_paused(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    bool paused = c->paused;
    pthread_mutex_unlock(&c->lock);
    return paused;
}

bool control_resumed(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    bool resumed = c->resumed;
    c->resumed = false;
    pthread_mutex_unlock(&c->lock);
    return resumed;
}

uint64_t control_task(struct control *c, enum control_task t)
{
    pthread_mutex_lock(&c->lock);
    uint64_t ticket = c->asked[t] > c->done[t] ? c->asked[t] : 0;
    pthread_mutex_unlock(&c->lock);
    return ticket;
}

void control_done(struct control *c, enum control_task t, uint64_t ticket, const char *text)
{
    pthread_mutex_lock(&c->lock);
    c->done[t] = ticket;
    snprintf(c->answers[t], sizeof c->answers[t] - 1, "%s", text);
    pthread_mutex_unlock(&c->lock);
    bump(c->notify);
}

/* ---- the command's side --------------------------------------------------------------------- */

int control_ask(const char *path, const char *command, struct buf *out, struct err *e)
{
    struct sockaddr_un to;
    char room[4096];
    ssize_t n;
    int rc = make_address(path, &to, e);
    if (rc)
        return rc;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
        rc = errno == ENOENT || errno == ECONNREFUSED
                 ? err_set(e, GPUFL_E_NOENT,
                           "no gpufl-agent listens at %s: --state or --control says where the one "
                           "that is "
                           "meant listens",
                           path)
                 : err_set_vendor(e, err_from_errno(errno), errno, "cannot reach the agent at %s",
                                  path);
    } else {
        int len = snprintf(room, sizeof room, "%s\n", command);
        if (send(fd, room, (size_t)len, MSG_NOSIGNAL) != len)
            rc = err_set_vendor(e, GPUFL_E_IO, errno, "cannot reach the agent at %s", path);
    }
    while (!rc && (n = recv(fd, room, sizeof room, 0)) > 0)
        buf_put(out, room, (size_t)n);
    if (!rc && !out->len)
        rc = err_set(e, GPUFL_E_UNAVAILABLE, "the agent at %s ended before it answered", path);
    if (fd >= 0)
        close(fd);
    return rc;
}
