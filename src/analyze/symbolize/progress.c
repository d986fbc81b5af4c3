/* progress.c - shows on a terminal how many names have been looked up, if that takes over a
 * second. */
#include "analyze/symbolize/inside.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST 1000000000ll /* ns before the first message */
#define EVERY 200000000ll

/* Reads the system's clock, since a simulated clock may be set in this process. */
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void symbolize_progress(struct symbolize *z)
{
    z->progress.on = isatty(STDERR_FILENO);
}

void symbolize_progress_begin(struct symbolize *z)
{
    z->progress.begun = now();
}

void symbolize_progress_say(struct symbolize *z, const char *what, size_t done, size_t all)
{
    if (!z->progress.on)
        return;
    int64_t t = now(), *said = &z->progress.said;
    if (t < (*said ? *said + EVERY : z->progress.begun + FIRST))
        return;
    *said = t;
    fprintf(stderr, "\r\033[Kgpufl: looking up names, %s %zu of %zu", what, done, all);
}

void symbolize_progress_end(struct symbolize *z)
{
    if (z->progress.said)
        fprintf(stderr, "\r\033[K");
    z->progress.said = 0;
}
