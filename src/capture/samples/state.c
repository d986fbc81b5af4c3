/* state.c - see state.h. */
#include "capture/samples/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* This is the time of a thread switch and a timer interrupt, which pass before the looking thread
 * reads a clock. */
#define SWITCH_NS 50000

enum {
    TEXT = 256,    /* bytes of a file with its NUL: 9 numbers */
    UNCOUNTED = 50 /* no CPU clock counts up to one part in so many of a thread's run */
};

static bool text_copy(char out[TEXT], const char *text, size_t length)
{
    if (length == 0 || length >= TEXT)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

enum call_said state_call(const char *text, size_t length, struct call_at *at)
{
    char line[TEXT];
    struct call_at a = {.number = -1};
    if (!text_copy(line, text, length))
        return CALL_UNREADABLE;
    if (strcmp(line, "running\n") == 0)
        return CALL_NONE;
    int read = sscanf(line, "%" SCNd64 " %" SCNx64 " %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64,
                      &a.number, &a.first, &a.sp, &a.pc);
    if (read < 2)
        return CALL_UNREADABLE;
    if (a.number >= 0) {
        *at = a;
        return CALL_BLOCKED;
    }
    a = (struct call_at){.number = -1};
    if (sscanf(line, "-1 %" SCNx64 " %" SCNx64, &a.sp, &a.pc) != 2)
        return CALL_UNREADABLE;
    *at = a;
    return a.sp || a.pc ? CALL_FAULT : CALL_ENDED;
}

bool state_schedstat(const char *text, size_t length, struct sched_said *out)
{
    char line[TEXT];
    return text_copy(line, text, length) &&
           sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64, &out->run, &out->delayed,
                  &out->times) == 3 &&
           out->run > 0 && out->delayed >= 0 && out->times > 0;
}

/* Returns how long the thread has been off its core. The time since the look before consists of
 * time on a core, of waits that are over, of the present wait, and of time in which the thread was
 * blocked. Blocked time counts as a wait here, so the result is never too short. If the look before
 * found the thread waiting, and it got a core since then, that wait is over and was no longer than
 * all waits that are over. */
static int64_t waits_for(const struct run_track *t, const struct run_look *l)
{
    int64_t over = l->first.delayed - t->delayed, before = t->waits;
    if (l->first.times != t->times && before > over)
        before = over;
    int64_t waits = before + (l->at - t->at) - (l->first.run - t->run) - over;
    return waits > 0 ? waits : 0;
}

/* A wait up to this length may have begun with the round. Interrupts, and a hypervisor that takes
 * the machine's core, are time on a core that no CPU clock counts; it is estimated as a part of the
 * thread's run. */
static int64_t waits_none(const struct run_track *t, const struct run_look *l)
{
    return l->at - l->woke + SWITCH_NS + (l->first.run - t->run) / UNCOUNTED;
}

enum host_state state_run(struct run_track *t, const struct run_look *l)
{
    bool on_core = l->clock > l->first.run && (!l->counted || l->last.times == l->first.times);
    bool known = t->known && l->counted;
    int64_t waits = known ? waits_for(t, l) : 0;
    bool just_lost = known && waits <= waits_none(t, l);
    if (on_core) {
        *t = (struct run_track){
            .known = l->counted, .at = l->clock_at, .run = l->clock, .delayed = l->last.delayed};
        return HOST_RUNS;
    }
    *t = (struct run_track){.known = l->counted,
                            .at = l->at,
                            .run = l->first.run,
                            .delayed = l->first.delayed,
                            .times = l->first.times,
                            .waits = waits};
    return just_lost ? HOST_RUNS : HOST_READY;
}
