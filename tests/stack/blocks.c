/* blocks.c - see blocks.h. BLOCKS is the name of the table. */
#include "tests/stack/blocks.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2]; /* a pipe into which nobody writes */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static atomic_bool over;

/* A call must not be the last one of a function, or the function has no frame. */
static inline __attribute__((always_inline)) void goes_on(void)
{
    __asm__ volatile("" ::: "memory");
}

static BLOCKS_FUNCTION void in_read(void)
{
    char byte;
    (void)!read(ends[0], &byte, 1);
    goes_on();
}

static BLOCKS_FUNCTION void in_poll(void)
{
    poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, -1);
    goes_on();
}

static BLOCKS_FUNCTION void in_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    (void)select(ends[0] + 1, &set, NULL, NULL, NULL);
    goes_on();
}

static BLOCKS_FUNCTION void in_epoll(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN};
    (void)epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e);
    (void)epoll_wait(fd, &e, 1, -1);
    close(fd);
}

static BLOCKS_FUNCTION void in_semaphore(void)
{
    while (sem_wait(&none))
        goes_on();
}

static BLOCKS_FUNCTION void in_mutex(void)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    goes_on();
}

static BLOCKS_FUNCTION void in_sleep(void)
{
    while (!atomic_load(&over))
        nanosleep(&(struct timespec){0, 200000000}, NULL);
}

static BLOCKS_FUNCTION void in_condition(void)
{
    pthread_mutex_lock(&own);
    while (!atomic_load(&over))
        pthread_cond_wait(&never, &own);
    pthread_mutex_unlock(&own);
    goes_on();
}

static void *reads(void *unused)
{
    in_read();
    return unused;
}

static BLOCKS_FUNCTION void in_join(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, reads, NULL) == 0)
        pthread_join(t, NULL);
    goes_on();
}

static BLOCKS_FUNCTION void in_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]); /* or the pipe would never end */
        in_read();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    goes_on();
}

static volatile int depth_wanted = 3;

/* Calls itself, and is blocked in the innermost call. */
static BLOCKS_FUNCTION void in_recursion(int depth)
{
    char byte;
    if (depth > 0)
        in_recursion(depth - 1);
    else
        (void)!read(ends[0], &byte, 1);
    goes_on();
}

static BLOCKS_FUNCTION void recurses(void)
{
    in_recursion(depth_wanted);
    goes_on();
}

static const struct blocks_kind kinds[] = {
    {"read", in_read},   {"poll", in_poll},           {"select", in_select},
    {"epoll", in_epoll}, {"semaphore", in_semaphore}, {"mutex", in_mutex},
    {"sleep", in_sleep}, {"condition", in_condition}, {"join", in_join},
    {"child", in_child}, {"recursion", recurses}};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static _Atomic int32_t tids[KINDS];
static pthread_t threads[KINDS];

/* Calls each function directly, as the unwinder needs it for code with frame pointers. */
static BLOCKS_FUNCTION void outer(size_t i)
{
    switch (i) {
    case 0:
        in_read();
        break;
    case 1:
        in_poll();
        break;
    case 2:
        in_select();
        break;
    case 3:
        in_epoll();
        break;
    case 4:
        in_semaphore();
        break;
    case 5:
        in_mutex();
        break;
    case 6:
        in_sleep();
        break;
    case 7:
        in_condition();
        break;
    case 8:
        in_join();
        break;
    case 9:
        in_child();
        break;
    default:
        recurses();
    }
    goes_on();
}

static void *thread_main(void *arg)
{
    size_t i = (size_t)arg;
    atomic_store(&tids[i], (int32_t)syscall(SYS_gettid));
    outer(i);
    goes_on();
    return NULL;
}

static int32_t tid(size_t i)
{
    return atomic_load(&tids[i]);
}

static bool begin(void)
{
    atomic_store(&over, false);
    if (pipe(ends) || sem_init(&none, 0, 0))
        return false;
    pthread_mutex_lock(&held);
    for (size_t i = 0; i < KINDS; i++)
        if (pthread_create(&threads[i], NULL, thread_main, (void *)i))
            return false;
    return true;
}

static void end(void)
{
    pthread_mutex_lock(&own); /* or the thread may miss the signal */
    atomic_store(&over, true);
    pthread_cond_broadcast(&never);
    pthread_mutex_unlock(&own);
    close(ends[1]);
    sem_post(&none);
    pthread_mutex_unlock(&held);
    for (size_t i = 0; i < KINDS; i++) {
        pthread_join(threads[i], NULL);
        atomic_store(&tids[i], 0);
    }
    close(ends[0]);
}

static void rest(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 300000}, NULL);
    goes_on();
}

const struct blocks BLOCKS = {kinds, KINDS, outer, in_recursion, begin, tid, rest, end};
