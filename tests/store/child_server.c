/* child_server.c - see child_server.h. */
#include "child_server.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_user child_user_find(const char *name)
{
    const char *const names[] = {name, "nobody"};
    struct child_user u = {0, 0};
    for (size_t i = 0; i < 2 && getuid() == 0 && !u.uid; i++) {
        const struct passwd *user = getpwnam(names[i]);
        u.uid = user ? user->pw_uid : 0;
        u.gid = user ? user->pw_gid : 0;
    }
    return u;
}

static void become(struct child_user u)
{
    if (u.uid && (setgroups(0, NULL) || setgid(u.gid) || setuid(u.uid)))
        _exit(126);
}

bool child_own(struct child_user u, const char *path)
{
    return !u.uid || chown(path, u.uid, u.gid) == 0;
}

bool child_reaches(struct child_user u, const char *folder)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        become(u);
        _exit(access(folder, R_OK | W_OK | X_OK) ? 1 : 0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool child_password(char out[CHILD_PASSWORD_SIZE])
{
    unsigned char bytes[CHILD_PASSWORD_SIZE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
    return true;
}

pid_t child_start(struct child_user u, int death, const char *folder, const char *log,
                  const char *program, char *const argv[])
{
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    pid_t child = fork();
    if (child)
        close(out);
    if (child)
        return child;
    become(u);
    prctl(PR_SET_PDEATHSIG, death); /* setuid would clear it: set after it */
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (chdir(folder))
        _exit(126);
    execv(program, argv);
    _exit(127);
}

void child_end(pid_t *pid, int signal)
{
    if (*pid) {
        kill(*pid, signal);
        waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void child_remove(const char *folder)
{
    nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}
