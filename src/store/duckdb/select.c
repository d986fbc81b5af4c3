/* select.c - is the server's side of a select; see select.h.
 *
 * The writer's lock keeps files unchanged: nothing is committed and no checkpoint is made while the
 * child reads. That is for sessions that have ended; for a live session the child reads a copy,
 * since its writer must not wait. Locks are taken in the order of names, so that two selects over
 * the same sessions cannot deadlock. [any] */
#include "store/duckdb/select.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/process/spawn.h"
#include "store/duckdb/small.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPY_MOST (INT64_C(512) << 20) /* most bytes of a live session's copy */
/* Limits the bytes of the child's engine; its process may use twice that. */
#define MEMORY_MOST (INT64_C(192) << 20)

enum { ANSWER_SPARE = 4096 /* bytes around the rows */ };

/* This is the folder in the store's folder; no workspace's name has a dot. */
static const char copies[] = ".select";

struct asking {
    struct store *s;
    const char *workspace;
    const struct store_select *q;
    size_t order[STORE_SELECT_SESSIONS]; /* indexes of q->sessions, by name */
    size_t held;                         /* number of sessions whose write_lock is held */
    char folder[PATH_MAX];               /* the folder of copies; "": not made yet */
    struct store_session *history;       /* a reference; NULL: not needed, or there is none */
    struct buf request;
};

/* ---- copies ---------------------------------------------------------------------------------- */

static void remove_folder(const char *folder)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *d = opendir(folder);
    while (d && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            path_join(path, sizeof path, folder, entry->d_name) == 0)
            unlink(path);
    if (d)
        closedir(d);
    rmdir(folder);
}

void select_clean(const char *root)
{
    char all[PATH_MAX], path[PATH_MAX];
    const struct dirent *entry;
    if (path_join(all, sizeof all, root, copies))
        return;
    DIR *d = opendir(all);
    while (d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && path_join(path, sizeof path, all, entry->d_name) == 0)
            remove_folder(path);
    if (d)
        closedir(d);
}

static int make_folder(struct asking *a, struct err *e)
{
    if (*a->folder)
        return 0;
    int n = snprintf(a->folder, sizeof a->folder, "%s/%s/%u", a->s->root, copies,
                     atomic_fetch_add_explicit(&a->s->copies, 1, memory_order_relaxed));
    if (n < 0 || (size_t)n >= sizeof a->folder) {
        *a->folder = '\0';
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    }
    return file_mkdirs(a->folder, 0700, e);
}

/* Copies a session's file in the state of its last commit. file: the copy's path in the store's
 * folder; number: its number. */
static int copy(struct asking *a, struct store_session *ss, size_t number, char file[PATH_MAX],
                struct err *e)
{
    char name[32], to[PATH_MAX];
    int rc = make_folder(a, e);
    if (rc)
        return rc;
    snprintf(name, sizeof name, "%zu.duckdb", number);
    if (path_join(to, sizeof to, a->folder, name))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    if (!small_file(ss)) {
        rc = small_copy(ss, to, e);
    } else {
        pthread_mutex_lock(&ss->write_lock);
        rc = keep_copy(ss->path, to, COPY_MOST, e);
        pthread_mutex_unlock(&ss->write_lock);
    }
    snprintf(file, PATH_MAX, "%s", to + strlen(a->s->root) + 1);
    return rc;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static void put_bytes(struct buf *b, const void *data, size_t n)
{
    buf_u64(b, n);
    buf_char(b, ':');
    buf_put(b, data, n);
}

static void put_text(struct buf *b, const char *text)
{
    put_bytes(b, text ? text : "", text ? strlen(text) : 0);
}

static void put_int(struct buf *b, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, v);
    put_text(b, text);
}

static int put_session(struct asking *a, size_t place, struct err *e)
{
    const struct store_select_session *x = &a->q->sessions[a->order[place]];
    struct store_session *ss = x->columns;
    char file[PATH_MAX];
    int rc = 0;
    if (x->live || !small_file(ss))
        rc = copy(a, ss, place, file, e);
    else
        snprintf(file, sizeof file, "%s", ss->path + strlen(a->s->root) + 1);
    put_text(&a->request, file);
    put_text(&a->request, x->id);
    put_text(&a->request, x->app);
    put_text(&a->request, x->host);
    put_text(&a->request, x->engine);
    put_text(&a->request, x->state);
    put_int(&a->request, x->start);
    put_int(&a->request, x->started);
    put_int(&a->request, x->ended);
    return rc;
}

/* Returns true if the statement may use the view; a wrong yes does no harm. */
static bool names_history(struct store_text sql)
{
    static const char word[] = "history";
    for (size_t i = 0; i + sizeof word - 1 <= sql.len; i++)
        if (strncasecmp(sql.at + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

/* Adds the workspace's history, always as a copy, since the analysis may write it at any time. */
static int put_history(struct asking *a, struct err *e)
{
    char file[PATH_MAX] = "";
    int rc = names_history(a->q->sql)
                 ? session_get_history(a->s, a->workspace, false, &a->history, e)
                 : 0;
    if (rc == GPUFL_E_NOENT)
        rc = 0;
    if (!rc && a->history)
        rc = copy(a, a->history, STORE_SELECT_SESSIONS, file, e);
    put_text(&a->request, file);
    return rc;
}

static int put_request(struct asking *a, struct err *e)
{
    struct buf *b = &a->request;
    put_text(b, a->s->root);
    put_int(b, MEMORY_MOST);
    put_int(b, a->q->time_most / 1000000000 + 1);
    put_int(b, a->q->rows_most);
    put_int(b, a->q->bytes_most);
    int rc = put_history(a, e);
    put_int(b, (int64_t)a->q->session_count);
    for (size_t i = 0; !rc && i < a->q->session_count; i++)
        rc = put_session(a, i, e);
    put_bytes(b, a->q->sql.at, a->q->sql.len);
    if (!rc && buf_error(b))
        rc = err_set(e, GPUFL_E_INVAL, "the question is too long");
    return rc;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Returns the environment of the child: the variables that find its libraries, those of sanitizers,
 * and UTC as the time zone. */
static char **environment(char *room[8])
{
    static const char *const names[] = {
        "DUCKDB_ROOT=", "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS="};
    static char zone[] = "TZ=UTC0";
    size_t n = 0;
    for (char **v = environ; *v; v++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(*v, names[i], strlen(names[i])) == 0 && n < 6)
                room[n++] = *v;
    room[n++] = zone;
    room[n] = NULL;
    return room;
}

static int start(const char *program, int fd, struct spawned *p, struct err *e)
{
    char word[] = STORE_SELECT_WORD, name[] = "gpufl-select", *argv[] = {name, word, NULL};
    char *room[8];
    const struct spawn s = {.program = program,
                            .argv = argv,
                            .env = environment(room),
                            .fds = {fd, SPAWN_NULL, SPAWN_NULL},
                            .own_group = true};
    int why = spawn_open(p, &s);
    return why ? err_set_vendor(e, GPUFL_E_UNAVAILABLE, why, "%s cannot be started again", program)
               : 0;
}

/* Sends the request. A child that ends meanwhile is noticed when the answer is read. */
static void say(int fd, const struct buf *request, int64_t until)
{
    size_t at = 0;
    while (at < request->len) {
        int64_t left = until - clock_mono();
        struct pollfd p = {fd, POLLOUT, 0};
        if (left <= 0 || poll(&p, 1, (int)(left / 1000000 + 1)) < 0)
            break;
        ssize_t n = send(fd, request->data + at, request->len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    shutdown(fd, SHUT_WR);
}

/* Reads until the child closes the socket. GPUFL_E_FULL: the answer is too long. */
static int receive(int fd, struct buf *out, int64_t until)
{
    for (;;) {
        int64_t left = until - clock_mono();
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0)
            return GPUFL_E_TIMEOUT;
        if (buf_reserve(out, 1 << 16))
            return buf_error(out);
        if (poll(&p, 1, (int)(left / 1000000 + 1)) <= 0)
            continue;
        ssize_t n = recv(fd, out->data + out->len, 1 << 16, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

static int how_it_ended(int status, struct err *e)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return err_set(e, GPUFL_E_TIMEOUT, "the statement took too long");
    if (WIFSIGNALED(status))
        return err_set(e, GPUFL_E_IO, "the process that ran the statement ended by signal %d",
                       WTERMSIG(status));
    return err_set(e, GPUFL_E_IO, "the process that ran the statement ended without an answer");
}

/* Reads an answer: "+…" becomes the answer, "-<code> …" the error. */
static int read_answer(struct buf *received, int status, struct buf *answer, struct err *e)
{
    const char *text = buf_cstr(received);
    char *end;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && received->len > 2 && *text == '+') {
        buf_put(answer, text + 1, received->len - 1);
        return buf_error(answer);
    }
    if (received->len > 2 && *text == '-') {
        long code = strtol(text, &end, 10);
        if (code < 0 && code > -64 && *end == ' ')
            return err_set(e, (int)code, "%.360s", end + 1);
    }
    return how_it_ended(status, e);
}

static int talk(struct asking *a, struct buf *answer, struct err *e)
{
    int ends[2], status = 0;
    struct spawned p = SPAWNED_NONE;
    int64_t until = clock_mono() + a->q->time_most;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return err_set_vendor(e, err_from_errno(errno), errno, "no socket");
    int rc = start(a->s->program, ends[1], &p, e);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return rc;
    }
    struct buf received;
    buf_init(&received, (size_t)a->q->bytes_most + ANSWER_SPARE + (1 << 17));
    say(ends[0], &a->request, until);
    rc = receive(ends[0], &received, until);
    close(ends[0]);
    /* A child that has answered ends at once, or is killed. */
    if (rc || spawn_wait(&p, until, &status) == ETIMEDOUT)
        spawn_signal(&p, SIGKILL);
    if (p.pid)
        spawn_wait(&p, INT64_MAX, &status);
    spawn_close(&p);
    if (rc == GPUFL_E_TIMEOUT)
        err_set(e, rc, "the statement took longer than %" PRId64 " ms", a->q->time_most / 1000000);
    else if (rc)
        err_set(e, rc, "%s", err_text(rc));
    else
        rc = read_answer(&received, status, answer, e);
    buf_fini(&received);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Sorts the sessions by name. A session that is named twice is refused. */
static int sort_sessions(struct asking *a, struct err *e)
{
    const struct store_select *q = a->q;
    if (q->session_count > STORE_SELECT_SESSIONS)
        return err_set(e, GPUFL_E_INVAL, "a statement can read %d sessions at most",
                       STORE_SELECT_SESSIONS);
    for (size_t i = 0; i < q->session_count; i++) {
        size_t at = i;
        for (; at > 0 && strcmp(q->sessions[a->order[at - 1]].id, q->sessions[i].id) > 0; at--)
            a->order[at] = a->order[at - 1];
        a->order[at] = i;
        if (at > 0 && q->sessions[a->order[at - 1]].columns == q->sessions[i].columns)
            return err_set(e, GPUFL_E_INVAL, "session %s is named twice", q->sessions[i].id);
    }
    return 0;
}

static void hold(struct asking *a)
{
    for (; a->held < a->q->session_count; a->held++) {
        const struct store_select_session *x = &a->q->sessions[a->order[a->held]];
        if (!x->live)
            pthread_mutex_lock(&x->columns->write_lock);
    }
}

static void release(struct asking *a)
{
    while (a->held > 0) {
        const struct store_select_session *x = &a->q->sessions[a->order[--a->held]];
        if (!x->live)
            pthread_mutex_unlock(&x->columns->write_lock);
    }
    if (a->history)
        session_put(a->history);
    if (*a->folder)
        remove_folder(a->folder);
}

int select_ask(struct store *s, const char *workspace, const struct store_select *q,
               struct buf *answer, struct err *e)
{
    struct asking *a;
    if (!s->program)
        return err_set(e, GPUFL_E_UNAVAILABLE, "this program cannot run clients' statements");
    if (!(a = mem_zalloc(sizeof *a)))
        return err_nomem(e);
    a->s = s;
    a->workspace = workspace;
    a->q = q;
    buf_init(&a->request, SELECT_REQUEST_MAX);
    int rc = sort_sessions(a, e);
    if (!rc) {
        hold(a);
        rc = put_request(a, e);
        if (rc == 0)
            rc = talk(a, answer, e);
    }
    release(a);
    buf_fini(&a->request);
    mem_free(a);
    return rc;
}
