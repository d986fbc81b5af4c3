/* live.c - see live.h. */
#include "monitord/live.h"

#include "base/file/file.h"
#include "monitor/steady.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING = 16, MS_PER_NS = 1000000 };

/* ---- the line ------------------------------------------------------------------------------ */

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "\"%s\":", name);
    buf_json_str(out, text);
    buf_char(out, ',');
}

static void put_cell(struct buf *out, const char *name, int64_t v)
{
    if (v != CELL_NULL)
        buf_printf(out, "\"%s\":%" PRId64 ",", name, v);
}

/* Ends an object or a list: c replaces the comma after its last member. */
static void end(struct buf *out, char c)
{
    if (out->len && out->data[out->len - 1] == ',')
        out->data[out->len - 1] = c;
    else
        buf_char(out, c);
}

static void put_gpu(const struct page *p, const struct shown_gpu *x, int64_t now, struct buf *out)
{
    const struct record *r = &records[RECORD_device_metric];
    buf_char(out, '{');
    put_cell(out, "index", x->index >= 0 ? x->index : CELL_NULL);
    buf_printf(out, "\"up\":%s,", x->index >= 0 && !x->lost ? "true" : "false");
    put_text(out, "uuid", x->uuid);
    put_text(out, "name", x->name);
    put_text(out, "pci", x->pci);
    put_text(out, "driver", x->driver);
    put_text(out, "vendor", x->vendor);
    put_cell(out, "parts", x->part_count);
    buf_str(out, "\"xids\":[");
    for (int i = 0; i < x->xid_count; i++) /* code -1: all codes without an entry of their own */
        buf_printf(out, "{\"code\":%" PRId64 ",\"count\":%" PRIu64 "},", x->xids[i].code,
                   x->xids[i].count);
    end(out, ']');
    buf_str(out, ",\"metrics\":{");
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        if (c != COL_device_metric_time && c != COL_device_metric_device &&
            now - x->at[c] <= p->stale_ns)
            put_cell(out, r->columns[c].name, x->cells[c]);
    end(out, '}');
    buf_str(out, "},");
}

/* An announcement has more than /proc, and comes sooner. */
static void put_session(struct live *l, const struct shown_process *x, int64_t reader, int64_t now,
                        struct buf *out)
{
    struct announcement said;
    bool known = announced_find(l->announced, x->now.pid, x->owner.start, now, &said);
    put_text(out, "session", known ? said.session : x->owner.session);
    if (known && *said.scope && (reader == 0 || reader == x->owner.uid))
        put_text(out, "scope", said.scope);
}

static void put_process(struct live *l, const struct shown_process *x, int64_t reader, int64_t now,
                        struct buf *out)
{
    const struct owner *o = &x->owner;
    buf_char(out, '{');
    put_cell(out, "gpu", x->gpu);
    put_cell(out, "pid", x->now.pid);
    put_text(out, "name", o->name);
    put_cell(out, "uid", o->uid);
    put_cell(out, "memory_used", x->now.memory_used);
    put_cell(out, "sm_util", x->now.sm_util);
    put_text(out, "container", o->container);
    put_text(out, "pod", o->pod);
    put_text(out, "pod_name", o->pod_name);
    put_text(out, "job", o->job);
    put_session(l, x, reader, now, out);
    end(out, '}');
    buf_char(out, ',');
}

static void put_values(struct live *l, int64_t reader, int64_t now, struct buf *out)
{
    const struct page *p = l->page;
    put_cell(out, "age_ms", p->round_at ? (now - p->round_at) / MS_PER_NS : CELL_NULL);
    put_text(out, "problem", p->problem);
    buf_str(out, "\"host_metrics\":{");
    put_cell(out, "cpu", p->host.cpu);
    put_cell(out, "memory_used", p->host.memory_used);
    put_cell(out, "memory_total", p->host.memory_total);
    end(out, '}');
    buf_str(out, ",\"gpus\":[");
    for (int i = 0; i < p->count; i++)
        put_gpu(p, &p->gpus[i], now, out);
    end(out, ']');
    buf_str(out, ",\"processes\":[");
    for (size_t i = 0; i < p->process_count; i++)
        put_process(l, &p->processes[i], reader, now, out);
    end(out, ']');
}

void live_put(struct live *l, int64_t reader, struct buf *out)
{
    char session[37] = "", dir[PATH_MAX] = "", host[65] = "";
    (void)gethostname(host, sizeof host - 1);
    (void)journal_session(l->journal, session, dir, sizeof dir);
    buf_char(out, '{');
    put_text(out, "monitor", GPUFL_VERSION);
    put_text(out, "host", host);
    put_text(out, "session", *dir ? session : "");
    put_text(out, "log", dir);
    put_cell(out, "interval_ms", l->options->interval / MS_PER_NS);
    pthread_mutex_lock(&l->page->lock);
    put_values(l, reader, steady_ns(), out);
    pthread_mutex_unlock(&l->page->lock);
    buf_char(out, '}');
}

/* ---- the socket ---------------------------------------------------------------------------- */

static void send_all(int fd, const char *data, size_t n)
{
    int64_t until = steady_ns() + LIVE_PATIENCE * 1000000000LL;
    while (n && steady_ns() < until) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        if (poll(&p, 1, LIVE_PATIENCE * 1000) <= 0)
            return;
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return;
        data += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
}

/* Returns the user at the other end; -1: unknown. */
static int64_t reader_of(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) ? -1 : (int64_t)who.uid;
}

static void answer(struct live *l, int fd)
{
    buf_clear(&l->text);
    live_put(l, reader_of(fd), &l->text);
    buf_char(&l->text, '\n');
    if (!buf_error(&l->text))
        send_all(fd, l->text.data, l->text.len);
    close(fd);
}

/* Ends the monitor like a signal: the program that started it has the other end of its input. */
static void take_input(void)
{
    char ignored[256];
    ssize_t n = read(STDIN_FILENO, ignored, sizeof ignored);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        kill(getpid(), SIGTERM);
}

static void *live_main(void *arg)
{
    struct live *l = arg;
    enum { STOP, LISTENER, INPUT, ANNOUNCED, COUNT };
    struct pollfd p[COUNT] = {
        [STOP] = {.fd = l->stop[0], .events = POLLIN},
        [LISTENER] = {.fd = l->listener, .events = POLLIN},
        [INPUT] = {.fd = l->options->until_eof ? STDIN_FILENO : -1, .events = POLLIN},
        [ANNOUNCED] = {.fd = l->announced->fd, .events = POLLIN}};
    while (poll(p, COUNT, -1) >= 0 || errno == EINTR) {
        if (p[STOP].revents)
            break;
        if (p[INPUT].revents) {
            take_input();
            p[INPUT].fd = p[INPUT].revents & POLLIN ? p[INPUT].fd : -1;
        }
        if (p[ANNOUNCED].revents)
            announced_take(l->announced, steady_ns());
        int fd = p[LISTENER].revents
                     ? accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
                     : -1;
        if (fd >= 0)
            answer(l, fd);
    }
    return NULL;
}

static int listen_at(struct live *l, const char *folder, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (path_join(at.sun_path, sizeof at.sun_path, folder, LIVE_SOCKET))
        return err_set(e, GPUFL_E_FULL,
                       "%.200s is too long for a socket: name a shorter folder with --run-dir",
                       folder);
    /* The socket of a killed monitor: this one has the folder's lock. */
    (void)unlink(at.sun_path);
    l->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->listener < 0 || bind(l->listener, (const struct sockaddr *)&at, sizeof at) ||
        chmod(at.sun_path, 0666) || listen(l->listener, WAITING))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot listen at %.200s",
                              at.sun_path);
    memcpy(l->path, at.sun_path, sizeof l->path);
    return 0;
}

int live_open(struct live *l, const char *folder, struct page *page, struct journal *journal,
              struct announced *announced, const struct monitor_options *o, struct err *e)
{
    *l = (struct live){.page = page,
                       .journal = journal,
                       .announced = announced,
                       .options = o,
                       .listener = -1,
                       .stop = {-1, -1}};
    buf_init(&l->text, LIVE_MOST);
    int rc = listen_at(l, folder, e);
    if (!rc && pipe2(l->stop, O_CLOEXEC))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "no pipe for the live view");
    if (!rc)
        rc = thread_start(&l->thread, "gpufl-live", 0, live_main, l)
                 ? err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal())
                 : 0;
    if (rc)
        live_close(l);
    return rc;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void live_close(struct live *l)
{
    close_fd(&l->stop[1]); /* the thread sees the end of the pipe */
    thread_join(&l->thread);
    if (*l->path)
        unlink(l->path);
    close_fd(&l->listener);
    close_fd(&l->stop[0]);
    buf_fini(&l->text);
}
