/* rights.c - is a CUDA program over the fake driver that gives something up: after CUDA is
 * initialized its user, its root, its folder, its descriptors or its right to open files; before
 * that its environment, its memory or its threads (in this case the program starts itself again).
 *
 *   fake_rights WHAT [KERNELS]
 *
 * Prints a line of JSON: the kernels that it launched. */
#include "cuda_calls.h"
#include "life.h"
#include "pace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED_EXIT = 77, BROKEN_EXIT = 70, NOBODY = 65534, KERNELS = 20000, OWN_FILES = 64 };

static int launched;

static void launch(int count)
{
    for (int i = 0; i < count; i++) {
        pace(PACE_PER_MS);
        if (cuLaunchKernel("_Z6kernelPf", 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
            exit(BROKEN_EXIT);
    }
    launched += count;
    if (cuCtxSynchronize())
        exit(BROKEN_EXIT);
}

static int be_nobody(void)
{
    if (geteuid() != 0)
        return SKIPPED_EXIT;
    return setgid(NOBODY) || setuid(NOBODY) ? BROKEN_EXIT : 0;
}

static int change_root(void)
{
    if (geteuid() != 0)
        return SKIPPED_EXIT;
    return chroot("/proc") || chdir("/") ? BROKEN_EXIT : 0;
}

/* A root without /proc, before any stack was captured. */
static int enter_jail(void)
{
    if (geteuid() != 0)
        return SKIPPED_EXIT;
    return mkdir("jail", 0700) || chroot("jail") || chdir("/") ? BROKEN_EXIT : 0;
}

static int lose_folder(void)
{
    return mkdir("gone", 0700) || chdir("gone") || rmdir("../gone") ? BROKEN_EXIT : 0;
}

/* The program closes every descriptor, as daemons do, and its own files get their numbers. */
static int reuse_descriptors(void)
{
    char name[16];
    for (int fd = STDERR_FILENO + 1; fd < OWN_FILES; fd++)
        close(fd);
    for (int i = STDERR_FILENO + 1; i < OWN_FILES; i++) {
        snprintf(name, sizeof name, "own-%d", i);
        if (open(name, O_RDWR | O_CREAT, 0600) < 0)
            return BROKEN_EXIT;
    }
    return 0;
}

static int move_logs(void)
{
    return rename("logs", "moved") ? BROKEN_EXIT : 0;
}

static int no_descriptors(void)
{
    struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_NOFILE, &none) ? BROKEN_EXIT : 0;
}

/* From here on, this system call ends so on all threads. */
static int forbid(unsigned call, unsigned end)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, end),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        return SKIPPED_EXIT;
    return 0;
}

static int forbid_open(void)
{
    return forbid(SYS_openat, SECCOMP_RET_ERRNO | EPERM);
}

static int remove_logs(void)
{
    return system("rm -rf logs/*") ? BROKEN_EXIT : 0;
}

static int nothing(void)
{
    return 0;
}

static int crash(void)
{
    raise(SIGSEGV);
    return BROKEN_EXIT;
}

static int leave(void)
{
    launch(500);
    _exit(3);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* By flush of the collector: the number of launches whose records it is known to have. */
enum { FLUSHES = 64, BRIEF_MS = 50, DEADLINE_MS = 20000 };

/* Returns the number of kernels that are in the log by now. Records of kernels that ended before a
 * flush are in this flush or in the next one, and in the log when the third flush begins. */
static int kept(int before[FLUSHES])
{
    static uint64_t last;
    uint64_t now[LIVES];
    life(now);
    for (; last < now[5] && last + 1 < FLUSHES; last++)
        before[last + 1] = before[last]; /* no other record is known to be in it */
    before[last] = launched;
    return last < 3 ? 0 : before[last - 3];
}

/* Works for 50 ms, and on a busy machine until half of the kernels are in the log, which the 10 s
 * of flush_interval_ms alone would not bring before the deadline. */
static int brief(void)
{
    static int before[FLUSHES];
    const struct timespec pause = {.tv_nsec = 100000};
    int64_t begin = now_ms();
    int known = 0;
    while (now_ms() < begin + BRIEF_MS || 2 * known < launched) {
        if (now_ms() > begin + DEADLINE_MS) {
            fprintf(stderr, "fake_rights: of %d kernels %d are known to be in the log\n", launched,
                    known);
            exit(BROKEN_EXIT);
        }
        launch(1);
        known = kept(before);
        nanosleep(&pause, NULL);
    }
    printf("{\"launches\":%d,\"kept\":%d,\"ms\":%d}\n", launched, known, (int)(now_ms() - begin));
    fflush(stdout);
    _exit(3);
}

/* Files may not grow from here on: the log ends in the middle, the program goes on. The message
 * about that does not need the environment. */
static int limit_files(void)
{
    struct rlimit small = {8192, 8192};
    clearenv();
    return setrlimit(RLIMIT_FSIZE, &small) ? BROKEN_EXIT : 0; /* SIGXFSZ would end it */
}

static const struct {
    const char *name;
    int (*fn)(void);
} after_init[] = {
    {"user", be_nobody},
    {"root", change_root},
    {"folder", lose_folder},
    {"moved", move_logs},
    {"nofile", no_descriptors},
    {"seccomp", forbid_open},
    {"removed", remove_logs},
    {"nothing", nothing},
    {"fsize", limit_files},
    {"_exit", leave},
    {"brief", brief},
    {"jail", enter_jail},
    {"reuse", reuse_descriptors},
};

/* ---- before -------------------------------------------------------------------------------- */

/* A child that uses CUDA and ends by _exit; this process does not. */
static int run_brief_child(char **argv)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char *again[] = {argv[0], (char *)"brief", NULL};
        execv("/proc/self/exe", again);
        _exit(BROKEN_EXIT);
    }
    bool right = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 3;
    return right ? 0 : BROKEN_EXIT;
}

/* Runs this program again in a child; true if the child ended with that status. */
static bool child_ends(char **argv, const char *what, int status)
{
    int got = 0;
    pid_t child = fork();
    if (child == 0) {
        char *again[] = {argv[0], (char *)(uintptr_t)what, (char *)"100", NULL};
        execv("/proc/self/exe", again);
        _exit(BROKEN_EXIT);
    }
    return child > 0 && waitpid(child, &got, 0) == child && (got & 0x7f) == (status & 0x7f);
}

/* Runs a child that works, if wanted, one that crashes after cuInit, and one that is killed
 * inside. */
static int run_others(char **argv, bool works)
{
    bool right = (!works || child_ends(argv, "nothing", 0)) &&
                 child_ends(argv, "silent", SIGSEGV) && child_ends(argv, "killed", SIGSYS);
    printf("{\"launches\":0}\n");
    return right ? 0 : BROKEN_EXIT;
}

/* The system call ends its caller; this program's first thread ends by SIGSEGV after cuInit. */
static int end_inside(unsigned call, unsigned end)
{
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) || forbid(call, end))
        return SKIPPED_EXIT;
    return cuInit(0) ? BROKEN_EXIT : crash();
}

/* Runs this program again with less; returns only an exit code, if that is not possible. */
static int start_again(const char *how, char **argv)
{
    static char keep[4200];
    char *none[] = {keep, NULL};
    extern char **environ;
    struct rlimit limit = {48 << 20, 48 << 20};
    const char *libraries = getenv("LD_LIBRARY_PATH");
    snprintf(keep, sizeof keep, "LD_LIBRARY_PATH=%s", libraries ? libraries : "");
    bool clear = strcmp(how, "environment") == 0, threads = strcmp(how, "threads") == 0;
    if (strcmp(how, "memory") == 0 && setrlimit(RLIMIT_AS, &limit))
        return BROKEN_EXIT;
    limit = (struct rlimit){1, 1};
    if (threads && geteuid() != 0)
        return SKIPPED_EXIT;
    /* The limit counts all threads of a user: this one is a user that nobody else on this host
     * is. */
    if (threads && (chmod(".", 0711) || chmod("logs", 0777) || setrlimit(RLIMIT_NPROC, &limit) ||
                    setgid(NOBODY) || setuid(20000 + (uid_t)getpid() % 40000)))
        return BROKEN_EXIT;
    char *again[] = {argv[0], (char *)"nothing", (char *)"100", NULL};
    execve("/proc/self/exe", again, clear ? none : environ);
    return BROKEN_EXIT;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nothing";
    int (*fn)(void) = NULL;
    if (strcmp(what, "unused") == 0)
        return 0;
    if (strcmp(what, "127") == 0)
        return 127;
    if (strcmp(what, "others") == 0 || strcmp(what, "lost") == 0)
        return run_others(argv, strcmp(what, "others") == 0);
    /* Locking a log ends the process: a session has its folder then, and no record. */
    if (strcmp(what, "killed") == 0)
        return end_inside(SYS_flock, SECCOMP_RET_KILL_PROCESS);
    /* The thread that writes a log ends before its first record, however late this one runs. */
    if (strcmp(what, "silent") == 0)
        return end_inside(SYS_write, SECCOMP_RET_KILL_THREAD);
    if (strcmp(what, "child") == 0)
        return run_brief_child(argv);
    for (size_t i = 0; i < sizeof after_init / sizeof after_init[0]; i++)
        if (strcmp(what, after_init[i].name) == 0)
            fn = after_init[i].fn;
    if (!fn)
        return start_again(what, argv);
    if (cuInit(0))
        return BROKEN_EXIT;
    if (strcmp(what, "_exit") != 0 && strcmp(what, "jail") != 0)
        launch(20);
    int rc = fn();
    if (rc)
        return rc;
    launch(argc > 2 ? atoi(argv[2]) : KERNELS);
    printf("{\"launches\":%d}\n", launched);
    return 0;
}
