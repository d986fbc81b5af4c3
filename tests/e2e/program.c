/* program.c - is the program that the tests trace: for a tracer it uses the GPU like a CUDA
 * program, and then behaves as its first
 * argument says.
 *
 * What the CUDA driver does inside cuInit is done here by hand: the library named
 * by CUDA_INJECTION64_PATH is loaded and InitializeInjection called. With
 * GPUFL_BACKEND=Sim the capture library then finds a GPU with work on it, so that
 * everything runs without a device. The program knows nothing of GPUFlight except
 * the place of its log, which shows when work has been captured. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILDREN = 3,
    THREADS = 4,
    BINARY_BYTES = 1 << 20,
    WAIT_S = 20,
    FDS = 256,
    FILES = 40,
    OBSERVED_NS = 400000000
};

/* Does what the driver does in cuInit. */
static void gpu_init(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
}

/* Holds what a capture has left below dir. */
struct trail {
    bool sessions; /* there are some */
    bool kernels;  /* and one has kernels on disk */
};

static struct trail look(const char *dir)
{
    struct trail t = {0};
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[2 * PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s/device.log", dir, f->d_name);
        t.sessions = t.sessions || f->d_name[0] != '.';
        t.kernels = t.kernels || (stat(path, &st) == 0 && st.st_size > 0);
    }
    if (d)
        closedir(d);
    return t;
}

/* Uses the GPU until some work has been captured; returns at once if nothing captures. */
static void gpu_work(void)
{
    const char *options = getenv("GPUFL_TRACE_OPTIONS");
    const char *at = options ? strstr(options, "log_path=") : NULL;
    char dir[PATH_MAX];
    gpu_init();
    if (!at || sscanf(at, "log_path=%4095[^\n]", dir) != 1)
        return;
    time_t end = time(NULL) + WAIT_S;
    for (struct trail t = look(dir); t.sessions && !t.kernels && time(NULL) < end; t = look(dir))
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void say(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void say_ready(void)
{
    char line[64];
    snprintf(line, sizeof line, "ready %d\n", (int)getpid());
    say(line);
}

/* ---- ways to end ------------------------------------------------------------------------- */

static int mode_exit(int value)
{
    gpu_work();
    return value;
}

static int mode_plain(int value)
{
    return value;
}

static int mode_quick_exit(int value)
{
    gpu_work();
    _exit(value);
}

static int mode_abort(int value)
{
    (void)value;
    gpu_work();
    abort();
}

static int mode_raise(int value)
{
    gpu_work();
    raise(value);
    return 1;
}

/* ---- processes and threads --------------------------------------------------------------- */

/* Children that use the GPU, as a data loader or a launcher of workers starts them. */
static int mode_fork(int value)
{
    int failed = 0;
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            gpu_work();
            exit(0);
        }
    for (int status; wait(&status) > 0;)
        failed += status != 0;
    gpu_work();
    return failed ? 99 : value;
}

/* A child forked after the GPU was used, which must touch neither the GPU nor the log. */
static int mode_fork_after(int value)
{
    gpu_work();
    pid_t pid = fork();
    if (pid == 0)
        exit(value);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int mode_exec(int value)
{
    char digits[16];
    gpu_work();
    snprintf(digits, sizeof digits, "%d", value);
    execl("/proc/self/exe", "program", "exit", digits, (char *)NULL);
    return 98;
}

static void *spin(void *arg)
{
    for (volatile int *stop = arg; !*stop;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return NULL;
}

/* main returns while threads still run. */
static int mode_threads(int value)
{
    static volatile int never;
    pthread_t t;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t, NULL, spin, (void *)&never) == 0)
            pthread_detach(t);
    gpu_work();
    return value;
}

/* ---- streams and directories ------------------------------------------------------------- */

static int mode_cat(int value)
{
    char data[4096];
    gpu_work();
    for (ssize_t n; (n = read(STDIN_FILENO, data, sizeof data)) > 0;)
        if (write(STDOUT_FILENO, data, (size_t)n) != n)
            return 97;
    return value;
}

/* Bytes of every value, in an order that the test can make again. */
static int mode_binary(int value)
{
    static unsigned char data[BINARY_BYTES];
    unsigned x = 1;
    gpu_work();
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)((x = x * 1103515245u + 12345u) >> 16);
    return fwrite(data, 1, sizeof data, stdout) == sizeof data ? value : 97;
}

/* Race detectors do not see these calls: other threads use the descriptors, which is the point. */
static int mode_close_fds(int value)
{
    gpu_work();
    for (int fd = 0; fd < FDS; fd++)
        syscall(SYS_close, fd);
    return value;
}

/* Closes every descriptor, as daemons do, and gets the numbers for files of its own,
 * in which nobody else may write and which nobody else may close. */
static int mode_reuse_fds(int value)
{
    char name[32];
    struct stat st;
    long own[FILES]; /* other threads may get some of the numbers in between */
    gpu_work();
    for (int fd = 3; fd < FDS; fd++)
        syscall(SYS_close, fd);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "own-%d", i);
        own[i] = syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_RDWR | O_TRUNC, 0600);
        if (own[i] < 0)
            return 97;
    }
    nanosleep(&(struct timespec){.tv_nsec = OBSERVED_NS}, NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "own-%d", i);
        if (stat(name, &st) != 0 || st.st_size != 0 || syscall(SYS_fcntl, own[i], F_GETFD) < 0)
            return 95;
    }
    return value;
}

static int mode_chdir(int value)
{
    if (chdir("/") != 0)
        return 97;
    gpu_work();
    return value;
}

static int mode_lose_cwd(int value)
{
    if (mkdir("gone", 0700) || chdir("gone") || rmdir("../gone"))
        return 97;
    gpu_work();
    return value;
}

/* Prints what the program sees of its environment and signal state. */
static int mode_show(int value)
{
    sigset_t mask;
    struct sigaction a;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < 32; s++) {
        sigaction(s, NULL, &a);
        if (sigismember(&mask, s) == 1 || a.sa_handler != SIG_DFL)
            printf("signal %d%s%s\n", s, sigismember(&mask, s) == 1 ? " blocked" : "",
                   a.sa_handler == SIG_IGN ? " ignored" : "");
    }
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d\n", fd);
    printf("injection %s\n", getenv("CUDA_INJECTION64_PATH") ? "set" : "unset");
    return value;
}

/* ---- signals ------------------------------------------------------------------------------ */

/* Prints each signal that arrives; SIGTERM ends the program. */
static int mode_signals(int value)
{
    static const int counted[] = {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        sigaddset(&set, counted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    gpu_work();
    say_ready();
    for (;;) {
        char line[32];
        int signal = sigwaitinfo(&set, NULL);
        if (signal < 0)
            continue;
        snprintf(line, sizeof line, "got %d\n", signal);
        say(line);
        if (signal == SIGTERM)
            return value;
    }
}

/* Waits for a signal that ends the program; SIGINT is ignored. */
static int mode_stubborn(int value)
{
    signal(SIGINT, SIG_IGN);
    gpu_work();
    say_ready();
    for (;;)
        pause();
    return value;
}

/* Ignores every signal that can be ignored. */
static int mode_immortal(int value)
{
    signal(SIGTERM, SIG_IGN);
    return mode_stubborn(value);
}

/* Gives up its stdout and goes on, like a server that has started. */
static int mode_detach_stdout(int value)
{
    say_ready();
    close(STDOUT_FILENO);
    return mode_signals(value);
}

static const struct {
    const char *name;
    int (*run)(int value);
} modes[] = {
    {"exit", mode_exit},
    {"plain", mode_plain},
    {"quick-exit", mode_quick_exit},
    {"abort", mode_abort},
    {"raise", mode_raise},
    {"fork", mode_fork},
    {"fork-after", mode_fork_after},
    {"exec", mode_exec},
    {"threads", mode_threads},
    {"cat", mode_cat},
    {"binary", mode_binary},
    {"close-fds", mode_close_fds},
    {"reuse-fds", mode_reuse_fds},
    {"chdir", mode_chdir},
    {"lose-cwd", mode_lose_cwd},
    {"show", mode_show},
    {"signals", mode_signals},
    {"stubborn", mode_stubborn},
    {"immortal", mode_immortal},
    {"detach-stdout", mode_detach_stdout},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(atoi(argv[2]));
    fprintf(stderr, "usage: program MODE NUMBER\n");
    return 96;
}
