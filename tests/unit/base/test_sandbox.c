/* test_sandbox.c - tests a process that has given up what it does not need: each forbidden call is
 * tried, in a child, and fails; allowed calls still work. */
#include "base/process/sandbox.h"
#include "tests/test.h"

#include "base/err.h"

#include <stdbool.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sandbox_limits limits = {.memory = 256 << 20, .cpu = 20, .files = 64};

/* Runs fn in a child; fn returns 0, or the line that went wrong. */
static void in_child(int (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status))
        fail_msg("line %d (modulo 256) went wrong", WEXITSTATUS(status));
}

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            return __LINE__ % 256 ? __LINE__ % 256 : 1;                                            \
    } while (0)
#define REFUSED(x) CHECK((x) == -1 && errno == EPERM)

static int shut_in(void)
{
    static int zero;
    int ends[2];
    char c = 'x';
    CHECK(pipe(ends) == 0);
    CHECK(sandbox_limit(&limits) == 0);
    CHECK(sandbox_enter() == 0);
    /* A computation needs these calls, and may make them. */
    void *room = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    memset(room, 1, 1 << 20);
    CHECK(write(ends[1], &c, 1) == 1 && read(ends[0], &c, 1) == 1);
    CHECK(mprotect(room, 4096, PROT_READ) == 0);
    CHECK(munmap(room, 1 << 20) == 0);
    CHECK(close(ends[0]) == 0);
    /* Everything else is refused. The calls are made by number: a C function may avoid the call. */
    REFUSED(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0));
    REFUSED(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0));
    REFUSED(syscall(SYS_execve, "/bin/true", NULL, NULL));
    REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    REFUSED(syscall(SYS_kill, getpid(), 0));
    REFUSED(syscall(SYS_unlinkat, AT_FDCWD, "/nowhere", 0));
    REFUSED(syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0));
    REFUSED(syscall(SYS_setrlimit, RLIMIT_CORE, &(struct rlimit){0, 0}));
    REFUSED(syscall(SYS_ptrace, 0, 0, 0, 0));
    REFUSED(syscall(SYS_dup, ends[1]));
    REFUSED(syscall(SYS_ioctl, ends[1], 0, &zero));
    REFUSED(syscall(SYS_mprotect, (uintptr_t)&zero & ~(uintptr_t)4095, 4096,
                    PROT_READ | PROT_WRITE | PROT_EXEC));
    REFUSED(
        syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
#ifdef __x86_64__
    REFUSED(syscall(0x40000000 + SYS_getpid)); /* an allowed call by its number in the x32 ABI */
#endif
    return 0;
}

TEST(test_shut)
{
    in_child(shut_in);
}

static int limited(void)
{
    struct rlimit l;
    char path[] = "/tmp/gpufl-cage-XXXXXX";
    signal(SIGXFSZ, SIG_IGN);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    CHECK(sandbox_limit(&limits) == 0);
    CHECK(write(fd, "x", 1) == -1 && errno == EFBIG);
    CHECK(getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_max == 64);
    CHECK(getrlimit(RLIMIT_CPU, &l) == 0 && l.rlim_max == 20);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    void *much = mmap(NULL, 512 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(much == MAP_FAILED && errno == ENOMEM);
    void *little = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(little != MAP_FAILED);
#endif
    return 0;
}

TEST(test_limits)
{
    in_child(limited);
}

static int closed(void)
{
    int fd = open("/dev/null", O_RDONLY);
    CHECK(fd >= 3 && dup2(fd, 40) == 40);
    CHECK(sandbox_close_from(3) == 0);
    CHECK(fcntl(40, F_GETFD) == -1 && errno == EBADF);
    CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
    CHECK(fcntl(2, F_GETFD) >= 0);
    return 0;
}

TEST(test_close)
{
    in_child(closed);
}

static int locked_fd; /* a file on which the parent has a lock */

static int kept_names(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char to[64];
    CHECK(fcntl(locked_fd, F_SETLK, &lock) == -1); /* the parent has the lock */
    CHECK(readlink("/proc/self/exe", to, sizeof to) > 0);
    CHECK(sandbox_limit(&limits) == 0 && sandbox_keep_names() == 0);
    CHECK(fcntl(locked_fd, F_SETLK, &lock) == 0);
    CHECK(fcntl(locked_fd, F_SETLKW, &lock) == 0);
    CHECK(fcntl(locked_fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK); /* it still has it */
    CHECK(fcntl(locked_fd, F_GETFD) >= 0);
    CHECK(readlink("/proc/self/exe", to, sizeof to) == -1 && errno == EINVAL);
    CHECK(open("/dev/null", O_RDONLY) >= 0);
    return 0;
}

TEST(test_names_and_locks)
{
    char path[] = "/tmp/gpufl-cage-XXXXXX";
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    locked_fd = mkstemp(path);
    assert_true(locked_fd >= 0);
    unlink(path);
    assert_int_equal(fcntl(locked_fd, F_SETLK, &lock), 0);
    in_child(kept_names);
    close(locked_fd);
}

static int nobody(void)
{
    CHECK(sandbox_drop_user() == 0);
    CHECK(geteuid() != 0 && getuid() != 0 && getgid() != 0);
    CHECK(setuid(0) == -1);
    CHECK(getgroups(0, NULL) == 0);
    return 0;
}

TEST(test_user)
{
    if (geteuid() != 0)
        skip();
    in_child(nobody);
}

static int dies(void)
{
    int ends[2];
    char c;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (sandbox_limit(&limits) == 0 && write(ends[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    CHECK(read(ends[0], &c, 1) == 1); /* the child is limited now, and its parent ends */
    printf("%d", (int)pid);
    fflush(stdout);
    return 0;
}

/* The child of a process that ends is killed: its end of the pipe closes. */
TEST(test_dies_with_its_parent)
{
    int ends[2];
    char text[32] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        _exit(dies());
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0) /* until the last has ended */
        n += (size_t)got;
    assert_true(n > 0 && atoi(text) > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shut),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_close), cmocka_unit_test(test_names_and_locks),
        cmocka_unit_test(test_user),  cmocka_unit_test(test_dies_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
