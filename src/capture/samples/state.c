/* state.c - see state.h. */
#include "capture/samples/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A switch of threads and a timer's interrupt, before the looking thread knows that it is awake. */
#define SWITCH_NS 50000

enum { TEXT = 256 }; /* of a file, with NUL: 9 numbers */

static bool text_copy(char out[TEXT], const char *text, size_t length)
{
    if (length == 0 || length >= TEXT)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

enum call_said state_call(const char *text, size_t length, int64_t *number)
{
    char line[TEXT];
    uint64_t sp, pc;
    int64_t n, ignored;
    if (!text_copy(line, text, length))
        return CALL_UNREADABLE;
    if (strcmp(line, "running\n") == 0)
        return CALL_NONE;
    int read = sscanf(line, "%" SCNd64 " %" SCNi64, &n, &ignored);
    if (read < 2)
        return CALL_UNREADABLE;
    if (n >= 0) {
        *number = n;
        return CALL_BLOCKED;
    }
    if (sscanf(line, "-1 %" SCNx64 " %" SCNx64, &sp, &pc) != 2)
        return CALL_UNREADABLE;
    return sp || pc ? CALL_FAULT : CALL_ENDED;
}

bool state_schedstat(const char *text, size_t length, int64_t *run, int64_t *delayed)
{
    char line[TEXT];
    return text_copy(line, text, length) &&
           sscanf(line, "%" SCNd64 " %" SCNd64, run, delayed) == 2 && *run > 0 && *delayed >= 0;
}

/* For how long the thread has been off its core. All time since the look before is time on a core,
 * waits that are over (delayed), this wait, or time in which the thread was blocked: the last
 * counts as wait here, so that the result is never too short. */
static int64_t waits_for(const struct run_track *t, const struct run_look *l)
{
    int64_t over = l->delayed - t->delayed;
    int64_t waits = t->waits + (l->at - t->at) - (l->run - t->run) - over;
    return waits > 0 ? waits : 0;
}

enum host_state state_run(struct run_track *t, const struct run_look *l)
{
    bool on_core = l->after > l->run, counted = l->delayed >= 0;
    int64_t waits = 0;
    enum host_state state = HOST_RUNS;
    if (!on_core && t->known && counted)
        waits = waits_for(t, l);
    if (!on_core && (!t->known || !counted || waits > l->at - l->woke + SWITCH_NS))
        state = HOST_READY;
    *t = (struct run_track){
        .known = counted, .at = l->at, .run = l->after, .delayed = l->delayed, .waits = waits};
    return state;
}
