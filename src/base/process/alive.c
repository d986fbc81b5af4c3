/* alive.c - see alive.h. */
#include "base/process/alive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STAT_SIZE = 1024 };

/* Returns when a process started, ns since the machine's start; -1: there is no such process. */
static int64_t process_start(int64_t pid)
{
    char path[64], text[STAT_SIZE];
    long ticks = sysconf(_SC_CLK_TCK);
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* after the name, which may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &start) != 1 || ticks <= 0)
        return -1;
    return (int64_t)(start / (unsigned long long)ticks) * 1000000000;
}

/* A process that began after the session is another one with the same number. */
bool process_runs(int64_t pid, int64_t start)
{
    enum { SLACK_NS = 2000000000 };
    if (pid <= 0 || pid > INT_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    int64_t began = process_start(pid);
    return began < 0 || !start || began <= start + SLACK_NS;
}
