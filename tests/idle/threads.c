/* threads.c - is a "CUDA program" over the fake driver whose threads do one thing each. It knows
 * nothing of profilers. At its end it prints a line of JSON: what its threads did, by thread id,
 * from when to when, and how many threads of gpufl there are.
 *
 *   idle_threads ROLE... [option]...
 *     compute      computes; notes when it had no core
 *     pinned       the same, on the last core that the process may use
 *     pipe         blocks in read(2) of a pipe that nobody fills
 *     lock         blocks in a lock that another thread holds
 *     sleep        sleeps half a second again and again
 *     wait         blocks in cuStreamSynchronize again and again
 *     many=N       N threads that block in read(2)
 *     ms=T         all this for T ms (1000)
 *     churn=N      meanwhile N threads begin and end, 20 at a time
 *     fork         meanwhile a child is forked, which prints a line of its own
 *     exit=N       a thread ends the process with that code, while the others run
 *     first-ends   the first thread ends, another one ends the process
 *     close        closes all descriptors of the process that it did not open
 *     proc=none    first puts an empty folder in place of /proc
 *     proc=bare    first puts a folder in place of /proc/self/task, in which threads have no
 *                  files; if mounting is not permitted, both print only that, and end */
#include "tests/fake/hooks.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuStreamCreate(cuda_stream *stream, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cuda_stream stream, void **arguments,
                   void **extra);
int cuStreamSynchronize(cuda_stream stream);

enum { ROLES = 512, GAPS = 20000, AT_ONCE = 20, GAP_NS = 150000, MS = 1000000, BROKEN = 99 };

/* Describes a time in which a thread that computes had no core. */
struct gap {
    int64_t from, to;
};

struct role {
    const char *name;
    void (*fn)(struct role *r);
    pthread_t thread;
    int tid;
    int gap_count;
    struct gap *gaps; /* owned */
};

static struct role roles[ROLES];
static int role_count, milliseconds = 1000, churn, exit_code = -1;
static bool forks, first_ends, closes, no_proc;
static char task_folder[64]; /* the folder in place of /proc/self/task; "": none */
static _Atomic bool over;
static sem_t ready;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];
static int64_t from, to;
static cuda_stream stream;

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void pause_ns(int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    nanosleep(&ts, NULL);
}

/* The fake GPU takes 10 ns a block. */
static void launch_blocks(unsigned blocks)
{
    if (cuLaunchKernel("_Z4idlePf", blocks, 1, 1, 64, 1, 1, 0, stream, NULL, NULL))
        _Exit(BROKEN);
}

static void launch(void)
{
    launch_blocks(1);
}

/* ---- roles ------------------------------------------------------------------------------- */

static void compute(struct role *r)
{
    int64_t last = now_ns();
    r->gaps = calloc(GAPS, sizeof *r->gaps);
    while (!over) {
        int64_t now = now_ns();
        if (now - last > GAP_NS && r->gap_count < GAPS)
            r->gaps[r->gap_count++] = (struct gap){last, now};
        last = now;
    }
}

static void pinned(struct role *r)
{
    cpu_set_t all, one;
    int last = CPU_SETSIZE - 1;
    sched_getaffinity(0, sizeof all, &all);
    while (last > 0 && !CPU_ISSET(last, &all))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
    compute(r);
}

static void block_in_pipe(struct role *r)
{
    char c;
    (void)r;
    if (read(pipe_ends[0], &c, 1) != 0)
        _Exit(BROKEN);
}

static void block_in_lock(struct role *r)
{
    (void)r;
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

static void sleep_often(struct role *r)
{
    (void)r;
    while (!over)
        pause_ns(500 * MS);
}

static void wait_often(struct role *r)
{
    (void)r;
    while (!over) {
        launch_blocks(2 * MS); /* 20 ms */
        if (cuStreamSynchronize(stream))
            _Exit(BROKEN);
    }
}

/* Makes a folder for the calling thread, if /proc/self/task is ours. */
static void thread_folder(void)
{
    char path[sizeof task_folder + 16];
    snprintf(path, sizeof path, "%s/%d", task_folder, (int)syscall(SYS_gettid));
    if (*task_folder && mkdir(path, 0700))
        _Exit(BROKEN);
}

static void *role_main(void *arg)
{
    struct role *r = arg;
    r->tid = (int)syscall(SYS_gettid);
    thread_folder();
    launch();
    sem_post(&ready);
    r->fn(r);
    return NULL;
}

/* ---- what happens meanwhile -------------------------------------------------------------- */

static void *brief_main(void *unused)
{
    (void)unused;
    launch();
    pause_ns(3 * MS);
    return NULL;
}

static void come_and_go(int n)
{
    pthread_t threads[AT_ONCE];
    for (int done = 0; done < n; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, brief_main, NULL))
                _Exit(BROKEN);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
}

/* Counts the process's threads with that name; *descriptors: how many the last of them has. */
static int threads_named(const char *name, int *descriptors)
{
    char path[320], text[32];
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "re");
        bool is = f && fgets(text, sizeof text, f) && !strncmp(text, name, strlen(name));
        if (f)
            fclose(f);
        if (!is)
            continue;
        n++;
        *descriptors = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/fd", e->d_name);
        DIR *fds = opendir(path);
        while (fds && readdir(fds))
            ++*descriptors;
        if (fds)
            closedir(fds);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

static void fork_child(void)
{
    int descriptors = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pause_ns(50 * MS);
        printf("{\"child\":true,\"samplers\":%d}\n", threads_named("gpufl-stacks", &descriptors));
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        _Exit(BROKEN);
}

static void print_roles(void)
{
    int descriptors = 0, samplers = threads_named("gpufl-stacks", &descriptors);
    printf("{\"from\":%lld,\"to\":%lld,\"pid\":%d,\"samplers\":%d,\"descriptors\":%d,\"roles\":[",
           (long long)from, (long long)to, (int)getpid(), samplers, descriptors);
    for (int i = 0; i < role_count; i++) {
        printf("%s{\"name\":\"%s\",\"tid\":%d,\"gaps\":[", i ? "," : "", roles[i].name,
               roles[i].tid);
        for (int g = 0; over && g < roles[i].gap_count; g++) /* else threads still write them */
            printf("%s[%lld,%lld]", g ? "," : "", (long long)roles[i].gaps[g].from,
                   (long long)roles[i].gaps[g].to);
        printf("]}");
    }
    printf("]}\n");
    fflush(stdout);
}

/* ---- the whole --------------------------------------------------------------------------- */

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&held);
    for (int i = 0; i < role_count; i++)
        if (pthread_create(&roles[i].thread, NULL, role_main, &roles[i]))
            _Exit(BROKEN);
    for (int i = 0; i < role_count; i++)
        sem_wait(&ready);
    pause_ns(30 * MS); /* until each thread is in its role: later samples count */
    from = now_ns();
    come_and_go(churn);
    if (forks)
        fork_child();
    int64_t end = from + (int64_t)milliseconds * MS;
    if (now_ns() < end)
        pause_ns(end - now_ns());
    to = now_ns();
    if (exit_code >= 0) {
        print_roles();
        exit(exit_code);
    }
    over = true;
    close(pipe_ends[1]);
    pthread_mutex_unlock(&held);
    for (int i = 0; i < role_count; i++)
        pthread_join(roles[i].thread, NULL);
    print_roles();
    if (first_ends)
        exit(0);
    return NULL;
}

static const struct {
    const char *name;
    void (*fn)(struct role *r);
} known[] = {{"compute", compute},    {"pinned", pinned},     {"pipe", block_in_pipe},
             {"lock", block_in_lock}, {"sleep", sleep_often}, {"wait", wait_often}};

static void take(const char *arg)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(arg, known[i].name) && role_count < ROLES)
            roles[role_count++] = (struct role){.name = known[i].name, .fn = known[i].fn};
    int many = strncmp(arg, "many=", 5) ? 0 : atoi(arg + 5);
    for (; many > 0 && role_count < ROLES; many--)
        roles[role_count++] = (struct role){.name = "pipe", .fn = block_in_pipe};
    if (!strncmp(arg, "ms=", 3))
        milliseconds = atoi(arg + 3);
    if (!strncmp(arg, "churn=", 6))
        churn = atoi(arg + 6);
    if (!strncmp(arg, "exit=", 5))
        exit_code = atoi(arg + 5);
    forks |= !strcmp(arg, "fork");
    first_ends |= !strcmp(arg, "first-ends");
    closes |= !strcmp(arg, "close");
    no_proc |= !strcmp(arg, "proc=none");
    if (!strcmp(arg, "proc=bare"))
        snprintf(task_folder, sizeof task_folder, "/proc/%d/task", (int)getpid());
}

/* Hides the kernel's files about threads. Only this process sees the mount. */
static void proc_hide(void)
{
    const char *place = *task_folder ? task_folder : "/proc";
    int spaces = geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS;
    if (unshare(spaces) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", place, "tmpfs", 0, NULL)) {
        printf("{\"mounts\":false}\n");
        exit(0);
    }
    thread_folder();
}

int main(int argc, char **argv)
{
    pthread_t thread;
    for (int i = 1; i < argc; i++)
        take(argv[i]);
    if (no_proc || *task_folder)
        proc_hide();
    if (sem_init(&ready, 0, 0) || cuInit(0) || cuStreamCreate(&stream, 0))
        return BROKEN;
    for (int fd = STDERR_FILENO + 1; closes && fd < 1024; fd++)
        close(fd);
    if (pipe(pipe_ends))
        return BROKEN;
    if (!first_ends) {
        run(NULL);
        return 0;
    }
    if (pthread_create(&thread, NULL, run, NULL))
        return BROKEN;
    pthread_exit(NULL);
}
