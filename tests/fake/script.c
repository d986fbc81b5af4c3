/* script.c - reads FAKE_CUPTI, the script of the fake profiling library: see libcupti.c.
 *
 * The first call reads it, once; the list of calls that are to fail has a lock of its own. */
#include "cupti.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS_REPORTED = 8 };

struct fake_script cupti_script;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    char function[48];
    long nth, seen; /* seen: guarded by lock */
    int result;
} failures[16];
static int failure_count;
static int called = -1; /* a file: a byte for each of the first calls of what is to fail */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void read_script(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    cupti_script.version = FAKE_CUPTI_VERSION;
    activity_begin();
    const char *text = getenv("FAKE_CUPTI"), *calls = getenv("FAKE_CALLED");
    if (calls)
        called = open(calls, O_WRONLY | O_APPEND | O_CLOEXEC);
    char copy[512], *save, *word;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char function[48];
        long nth;
        int result;
        if (sscanf(word, "fail=%47[^:]:%ld:%d", function, &nth, &result) == 3 &&
            failure_count < 16) {
            snprintf(failures[failure_count].function, sizeof failures[0].function, "%s", function);
            failures[failure_count].nth = nth;
            failures[failure_count++].result = result;
        } else if (sscanf(word, "version=%u", &cupti_script.version) != 1 &&
                   sscanf(word, "late=%d", &cupti_script.late) != 1 &&
                   sscanf(word, "drop=%d", &cupti_script.drop) != 1 &&
                   sscanf(word, "hide=%d", &cupti_script.hide) != 1 &&
                   sscanf(word, "notime=%d", &cupti_script.notime) != 1 &&
                   sscanf(word, "ends=%d", &cupti_script.ends) != 1 &&
                   sscanf(word, "fatal=%d", &cupti_script.fatal) != 1 &&
                   sscanf(word, "skew=%" SCNd64, &cupti_script.skew) != 1) {
            cupti_script.subscribed |= !strcmp(word, "subscribed");
            cupti_script.shuffle |= !strcmp(word, "shuffle");
            cupti_script.deaf |= !strcmp(word, "deaf");
            cupti_script.alien |= !strcmp(word, "alien");
            cupti_script.privileges |= !strcmp(word, "privileges");
            pc_script(word);
            pm_script(word);
            range_script(word);
            sass_script(word);
        }
    }
}

/* The part that the real library loads for hardware counters ends with the process, by an exit
 * handler of its own. */
static _Atomic bool counters_over;

static void end_counters(void)
{
    atomic_store(&counters_over, true);
}

static void load_counters(void)
{
    if (atexit(end_counters))
        abort();
}

static void counters_called(const char *function)
{
    static pthread_once_t loaded = PTHREAD_ONCE_INIT;
    static const char *const prefixes[] = {"cuptiPm", "cuptiProfiler", "cuptiRange"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(function, prefixes[i], strlen(prefixes[i])) != 0)
            continue;
        pthread_once(&loaded, load_counters);
        if (!atomic_load(&counters_over))
            continue;
        fprintf(stderr, "fake CUPTI: %s is called after the library's own end\n", function);
        abort();
    }
}

int scripted(const char *function)
{
    int result = CUPTI_OK;
    pthread_once(&once, read_script);
    library_called(function);
    counters_called(function);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < failure_count; i++) {
        if (strcmp(failures[i].function, function) != 0)
            continue;
        if (++failures[i].seen == failures[i].nth || failures[i].nth == 0)
            result = failures[i].result;
        if (called >= 0 && failures[i].seen <= CALLS_REPORTED && write(called, "x", 1) != 1)
            abort();
    }
    pthread_mutex_unlock(&lock);
    return result;
}
