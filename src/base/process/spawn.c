/* spawn.c - see spawn.h. */
#include "base/process/spawn.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REAP_MS = 20 }; /* between looks, on a kernel without pidfds */

static const int64_t MILLI = 1000000;

/* ---- starting ------------------------------------------------------------------------------ */

/* Returns 0 or an errno. Everything above the standard descriptors is closed. */
static int give_files(posix_spawn_file_actions_t *files, const int fds[SPAWN_STANDARD])
{
    int rc = 0;
    for (int i = 0; i < SPAWN_STANDARD && !rc; i++) {
        if (fds[i] == SPAWN_NULL)
            rc = posix_spawn_file_actions_addopen(files, i, "/dev/null", O_RDWR, 0);
        else if (fds[i] != SPAWN_KEEP)
            rc = fds[i] < SPAWN_STANDARD ? EBADF
                                         : posix_spawn_file_actions_adddup2(files, fds[i], i);
    }
    return rc ? rc : posix_spawn_file_actions_addclosefrom_np(files, SPAWN_STANDARD);
}

static int set_signals(posix_spawnattr_t *how, bool own_group)
{
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(how, &none);
    posix_spawnattr_setsigdefault(how, &all);
    posix_spawnattr_setpgroup(how, 0);
    if (own_group)
        flags |= POSIX_SPAWN_SETPGROUP;
    return posix_spawnattr_setflags(how, flags);
}

int spawn_open(struct spawned *p, const struct spawn *s)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    *p = (struct spawned)SPAWNED_NONE;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&how);
    if (rc) {
        posix_spawn_file_actions_destroy(&files);
        return rc;
    }
    rc = give_files(&files, s->fds);
    if (!rc)
        rc = set_signals(&how, s->own_group);
    if (!rc)
        rc = posix_spawnp(&p->pid, s->program, &files, &how, s->argv, s->env ? s->env : environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (rc)
        p->pid = 0;
    else
        p->process = (int)syscall(SYS_pidfd_open, p->pid, 0); /* close-on-exec by itself */
    return rc;
}

int spawn_pipe(int ends[2])
{
    int raw[2], rc = 0;
    ends[0] = ends[1] = -1;
    if (pipe2(raw, O_CLOEXEC))
        return errno;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, SPAWN_STANDARD);
        if (ends[i] < 0)
            rc = errno;
        close(raw[i]);
    }
    for (int i = 0; i < 2 && rc; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        ends[i] = -1;
    }
    return rc;
}

/* ---- ending -------------------------------------------------------------------------------- */

static int left_ms(int64_t deadline)
{
    int64_t left = deadline ? deadline - clock_mono() : 0;
    if (left <= 0)
        return 0;
    return left / MILLI >= INT_MAX ? INT_MAX : (int)(left / MILLI) + 1;
}

int spawn_wait(struct spawned *p, int64_t deadline, int *status)
{
    *status = 0;
    while (p->pid) {
        pid_t got = waitpid(p->pid, status, WNOHANG);
        if (got == p->pid)
            break;
        if (got < 0 && errno != EINTR) {
            p->pid = 0;
            return ECHILD;
        }
        int ms = left_ms(deadline);
        if (!ms)
            return ETIMEDOUT;
        struct pollfd at = {.fd = p->process, .events = POLLIN};
        (void)poll(&at, 1, p->process >= 0 || ms < REAP_MS ? ms : REAP_MS);
    }
    p->pid = 0;
    return 0;
}

void spawn_signal(const struct spawned *p, int signal)
{
    if (p->pid && p->process >= 0)
        (void)syscall(SYS_pidfd_send_signal, p->process, signal, NULL, 0);
    else if (p->pid)
        (void)kill(p->pid, signal); /* not reaped: the number is still its own */
}

void spawn_close(struct spawned *p)
{
    if (p->process >= 0)
        close(p->process);
    p->process = -1;
}
