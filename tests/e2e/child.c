/* child.c - runs processes under test. */
#include "child.h"
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MAX = 64 << 20, ARGS_MAX = 64, ENV_MAX = 512 };

/* Under a sanitizer, on a busy machine, a program takes 20 times as long. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { DEADLINE_MS = 600000 };
#else
enum { DEADLINE_MS = 120000 };
#endif

extern char **environ;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- start -------------------------------------------------------------------------------- */

/* Variables of a child's environment, NULL-terminated. The texts belong to others. */
struct environment {
    const char *at[ENV_MAX];
    size_t n;
};

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* Sets "NAME=value" in place of another value; a name alone is removed. */
static void put(struct environment *e, const char *variable)
{
    size_t i = 0;
    while (i < e->n && !same_name(e->at[i], variable))
        i++;
    if (!strchr(variable, '=')) {
        if (i < e->n)
            e->at[i] = e->at[--e->n];
    } else {
        assert_true(i < ENV_MAX - 1);
        e->at[i] = variable;
        if (i == e->n)
            e->n++;
    }
    e->at[e->n] = NULL;
}

/* Neither a variable of the tester's own nor libc's debug files may decide a test: unpacking these
 * files takes half of the time of a test that traces. A sanitizer must leave the program's signals
 * and exit code alone. Gpufl.cmake says why TSan waits for less than a second at the exit. */
static void clean_environment(struct environment *e, const char *const *env)
{
    static const char *const fixed[] = {
        "GPUFL_BACKEND=Sim",
        "GPUFL_LOG_MIN_FREE_BYTES=0",
        "LC_ALL=C",
        "TERM=xterm",
        "GPUFL_DEBUG_FILES=/nonexistent",
        "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:"
        "handle_sigill=0"};
    static char tsan[PATH_MAX + 160];
    const char *source = getenv("GPUFL_SOURCE_DIR");
    snprintf(tsan, sizeof tsan,
             "TSAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:"
             "handle_sigill=0:die_after_fork=0:atexit_sleep_ms=50%s%.*s%s",
             source ? ":suppressions=" : "", PATH_MAX, source ? source : "",
             source ? "/tests/tsan.supp" : "");
    e->n = 0;
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "GPUFL_", 6) != 0 && strncmp(*at, "CUDA_INJECTION", 14) != 0 &&
            !same_name(*at, "NO_COLOR"))
            put(e, *at);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        put(e, fixed[i]);
    put(e, tsan);
    for (; env && *env; env++)
        put(e, *env);
}

static void become(const struct child_setup *s, const struct environment *e, int err)
{
    dup2(err, STDERR_FILENO);
    signal(SIGINT, SIG_DFL); /* a shell's background jobs, and their children, ignore these two */
    signal(SIGQUIT, SIG_DFL);
    close_range(3, ~0u, 0); /* also descriptors that the tester inherited */
    if (s->nohup) {
        signal(SIGHUP, SIG_IGN);
        signal(SIGCHLD, SIG_IGN);
        close(STDIN_FILENO);
    }
    if (chdir(s->dir) == 0)
        execve(s->argv[0], (char *const *)s->argv, (char *const *)e->at);
    fprintf(stderr, "cannot run %s: %s\n", s->argv[0], strerror(errno));
    _exit(95);
}

/* Starts the process as become() would. Under AddressSanitizer a fork copies the page tables of the
 * shadow memory, which takes as long as a short program runs; posix_spawn copies nothing. */
static void spawn(struct child *c, const struct child_setup *s, const struct environment *e,
                  const int fds[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGQUIT);
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawnattr_init(&how), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(posix_spawn_file_actions_adddup2(&files, fds[i], i), 0);
    assert_int_equal(posix_spawn_file_actions_addclosefrom_np(&files, 3), 0);
    assert_int_equal(posix_spawn_file_actions_addchdir_np(&files, s->dir), 0);
    assert_int_equal(posix_spawnattr_setsigdefault(&how, &usual), 0);
    assert_int_equal(posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF), 0);
    int rc = posix_spawn(&c->pid, s->argv[0], &files, &how, (char *const *)s->argv,
                         (char *const *)e->at);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    if (rc)
        fail_msg("cannot run %s in %s: %s", s->argv[0], s->dir, strerror(rc));
}

static void start_pipes(struct child *c, const struct child_setup *s, const struct environment *e,
                        const int err[2])
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    if (!s->nohup) {
        spawn(c, s, e, (const int[]){in[0], out[1], err[1]});
    } else {
        c->pid = fork();
        assert_true(c->pid >= 0);
        if (c->pid == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            become(s, e, err[1]);
        }
    }
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->text[CHILD_OUT].fd = out[0];
}

static void start_tty(struct child *c, const struct child_setup *s, const struct environment *e,
                      const int err[2])
{
    int terminal = -1;
    c->pid = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(c->pid >= 0);
    if (c->pid == 0)
        become(s, e, err[1]);
    fcntl(terminal, F_SETFD, FD_CLOEXEC);
    c->in = fcntl(terminal, F_DUPFD_CLOEXEC, 0);
    c->text[CHILD_OUT].fd = terminal;
}

void child_start(struct child *c, const struct child_setup *s)
{
    int err[2];
    struct environment e;
    *c = (struct child){.in = -1};
    clean_environment(&e, s->env);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    if (s->tty)
        start_tty(c, s, &e, err);
    else
        start_pipes(c, s, &e, err);
    close(err[1]);
    c->text[CHILD_ERR].fd = err[0];
    for (int i = 0; i < CHILD_STREAMS; i++)
        c->text[i].data = calloc(1, 1);
}

/* ---- watch -------------------------------------------------------------------------------- */

static void fail_child(struct child *c, const char *what)
{
    kill(c->pid, SIGKILL);
    fail_msg("%s\n--- stdout\n%s\n--- stderr\n%s", what, c->text[CHILD_OUT].data,
             c->text[CHILD_ERR].data);
}

/* Reads what one stream has. At its end a terminal answers EIO, and a pipe 0 bytes. */
static void take(struct child_text *t)
{
    char data[65536];
    ssize_t n = read(t->fd, data, sizeof data);
    if (n <= 0) {
        close(t->fd);
        t->fd = -1;
        return;
    }
    assert_true(t->len + (size_t)n < TEXT_MAX);
    t->data = realloc(t->data, t->len + (size_t)n + 1);
    memcpy(t->data + t->len, data, (size_t)n);
    t->len += (size_t)n;
    t->data[t->len] = '\0';
}

/* Waits for output on the streams; false if the deadline has passed. */
static bool take_some(struct child *c, int64_t deadline)
{
    struct pollfd p[CHILD_STREAMS];
    int64_t left = deadline - now_ms();
    for (int i = 0; i < CHILD_STREAMS; i++)
        p[i] = (struct pollfd){.fd = c->text[i].fd, .events = POLLIN};
    if (left <= 0 || poll(p, CHILD_STREAMS, (int)left) <= 0)
        return false;
    for (int i = 0; i < CHILD_STREAMS; i++)
        if (p[i].revents)
            take(&c->text[i]);
    return true;
}

void child_expect(struct child *c, enum child_stream stream, const char *text)
{
    int64_t deadline = now_ms() + DEADLINE_MS;
    struct child_text *t = &c->text[stream];
    while (!memmem(t->data, t->len, text, strlen(text)))
        if (t->fd < 0 || !take_some(c, deadline)) {
            char what[512];
            snprintf(what, sizeof what, "never said: %s", text);
            fail_child(c, what);
        }
}

void child_expect_end(struct child *c, enum child_stream stream)
{
    int64_t deadline = now_ms() + DEADLINE_MS;
    while (c->text[stream].fd >= 0)
        if (!take_some(c, deadline))
            fail_child(c, "a stream was never closed");
}

void child_send(struct child *c, const void *data, size_t n)
{
    assert_int_equal(write(c->in, data, n), (ssize_t)n);
}

void child_close_input(struct child *c)
{
    if (c->in >= 0)
        close(c->in);
    c->in = -1;
}

int child_end(struct child *c)
{
    child_expect_end(c, CHILD_ERR);
    child_expect_end(c, CHILD_OUT);
    child_close_input(c);
    if (!c->ended) {
        assert_int_equal(waitpid(c->pid, &c->status, 0), c->pid);
        c->ended = true;
    }
    return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

bool child_alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

void child_free(struct child *c)
{
    child_close_input(c);
    for (int i = 0; i < CHILD_STREAMS; i++) {
        if (c->text[i].fd >= 0)
            close(c->text[i].fd);
        free(c->text[i].data);
        c->text[i] = (struct child_text){.fd = -1};
    }
}

/* ---- gpufl -------------------------------------------------------------------------------- */

void world_open(struct world *w)
{
    char dir[] = "/tmp/gpufl-e2e-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_non_null(realpath(dir, w->dir));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void world_close(struct world *w)
{
    nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *built(char *out, const char *name)
{
    const char *dir = getenv("GPUFL_BINARY_DIR");
    assert_non_null(dir);
    snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return out;
}

const char *path_gpufl(void)
{
    static char path[PATH_MAX];
    return built(path, "bin/gpufl");
}

const char *path_reader(void)
{
    const char *named = getenv("GPUFL_READER");
    return named && *named ? named : path_gpufl();
}

const char *path_program(void)
{
    static char path[PATH_MAX];
    return built(path, "tests/e2e-program");
}

int gpufl_run(struct world *w, struct child *c, const char *const *env, const char *input,
              const char *const *args)
{
    const char *argv[ARGS_MAX] = {path_gpufl()};
    for (int i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    child_start(c, &(struct child_setup){.dir = w->dir, .argv = argv, .env = env});
    if (input)
        child_send(c, input, strlen(input));
    child_close_input(c);
    return child_end(c);
}
