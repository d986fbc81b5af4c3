/* names.c - looks up the names of stacks before a session is reported complete, since the server
 * does not have the program's files, but this machine may.
 *
 * The lookup runs in a process of its own, so that its memory is freed when that process ends, and
 * damaged debug information cannot end the agent. */
#include "agent/daemon/daemon.h"

#include "base/clock.h"
#include "base/log.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const int64_t NAMES_MOST = 600000000000; /* ns */

int names_child(const char *folder)
{
    struct gpufl_symbolized r = {.size = sizeof r};
    char error[384] = "";
    int rc = gpufl_symbolize(folder, GPUFL_SYMBOLIZE_ENDED, &r, error, sizeof error);
    if (rc || *error)
        log_warn("names of %s: %s", folder, error);
    return rc ? 1 : 0;
}

static bool has_names(const struct work *w)
{
    for (size_t i = 0; i < w->course_count; i++)
        if (strcmp(w->courses[i].channel, "code") == 0 && w->courses[i].count)
            return true;
    return false;
}

static void start(struct daemon *d, struct view *v, struct work *w)
{
    char program[] = "/proc/self/exe", command[] = "names";
    char *const argv[] = {program, command, v->path, NULL};
    const struct spawn s = {.program = program,
                            .argv = argv,
                            .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_KEEP},
                            .own_group = true};
    if (spawn_open(&d->names, &s)) {
        w->named = true;
        return;
    }
    d->names_folder = v->folder;
    d->names_until = clock_mono() + NAMES_MOST;
    v->naming = true;
}

bool names_step(struct daemon *d, struct view *v, struct work *w)
{
    int status;
    if (w->named || d->options->no_names || !w->session->ours || (!v->naming && has_names(w)))
        return true;
    if (!v->naming && !d->names.pid)
        start(d, v, w);
    if (!v->naming)
        return w->named;
    int rc = spawn_wait(&d->names, 0, &status);
    if (rc == ETIMEDOUT && clock_mono() < d->names_until)
        return false;
    if (rc == ETIMEDOUT) {
        log_warn("names of %s: not found within %lld s", v->path,
                 (long long)(NAMES_MOST / 1000000000));
        spawn_signal(&d->names, SIGKILL);
        (void)spawn_wait(&d->names, clock_mono() + NAMES_MOST, &status);
    }
    spawn_close(&d->names);
    d->names = (struct spawned)SPAWNED_NONE;
    v->naming = false;
    w->named = true;
    v->fresh = v->pending = true; /* to find the part with the names */
    return false;
}
