/* daemon.c - see daemon.h: begin, the loop, end. */
#include "agent/daemon/daemon.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ASKED_JUST_NOW = -1 };

static const int64_t SECOND = 1000000000, MILLI = 1000000;
static const int64_t TICK = 5000000000; /* ns between two reads of the brokers' reports */

/* ---- begin and end ------------------------------------------------------------------------- */

static int open_state(struct daemon *d, struct err *e)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, d->options->state, "dead"))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", d->options->state);
    int rc = cursor_open(&d->cursor, d->options->state, e);
    return rc ? rc : letters_open(&d->letters, path, e);
}

static int open_control(struct daemon *d, struct err *e)
{
    char path[PATH_MAX];
    const struct options *o = d->options;
    if (path_join(path, sizeof path, o->state, "control.sock"))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", o->state);
    int rc = control_open(&d->control, o->control ? o->control : path, publish_status, d, e);
    d->has_control = !rc;
    return rc;
}

int daemon_open(struct daemon *d, const struct options *o, const volatile sig_atomic_t *stop,
                struct err *e)
{
    *d = (struct daemon){.options = o,
                         .stop = stop,
                         .started = clock_real(),
                         .names = SPAWNED_NONE,
                         .recheck = {.due = clock_mono() + o->scan},
                         .folders = {.free = -1, .watch = {.fd = -1}}};
    pthread_mutex_init(&d->lock, NULL);
    int rc = open_state(d, e);
    if (!rc && o->kafka)
        cursor_keep_marks(d->cursor);
    if (!rc) {
        rc = courier_open(&d->courier, o, d->cursor, d->letters, stop, e);
        d->has_courier = true;
    }
    if (!rc)
        rc = keeper_open(&d->keeper, o, e);
    if (!rc)
        rc = folders_open(&d->folders, o->source.items, o->source.count, o->scan, o->no_inotify, e);
    if (!rc) {
        rc = orders_open(&d->orders, o, e);
        d->has_orders = true;
    }
    if (!rc)
        rc = open_control(d, e);
    if (!rc)
        rc = publish_open(d, e);
    if (rc)
        daemon_close(d);
    return rc;
}

void daemon_close(struct daemon *d)
{
    int status;
    publish_close(d);
    if (d->has_control) /* the control socket reports the counts of all others */
        control_close(&d->control);
    if (d->has_orders)
        orders_close(&d->orders);
    keeper_close(d->keeper);
    d->keeper = NULL;
    if (d->names.pid) {
        spawn_signal(&d->names, SIGKILL);
        (void)spawn_wait(&d->names, clock_mono() + SECOND, &status);
    }
    spawn_close(&d->names);
    for (size_t i = 0; i < d->view_count; i++)
        view_close(d->views[i], d->cursor);
    d->view_count = 0;
    folders_close(&d->folders);
    if (d->has_courier)
        courier_close(&d->courier);
    letters_close(d->letters);
    cursor_close(d->cursor);
    d->letters = NULL;
    d->cursor = NULL;
    d->has_courier = d->has_control = d->has_orders = false;
    pthread_mutex_destroy(&d->lock);
}

/* ---- tasks --------------------------------------------------------------------------------- */

struct retrying {
    struct courier *courier;
    unsigned delivered, refused;
};

static int retry_one(void *arg, const char *session, const char *channel, const struct letter *a,
                     int fd, bool *delivered)
{
    struct retrying *r = arg;
    int rc = courier_letter(r->courier, session, channel, a, fd, delivered);
    r->delivered += *delivered;
    r->refused += !rc && !*delivered;
    return rc;
}

static void retry_letters(struct daemon *d, uint64_t ticket)
{
    struct retrying r = {.courier = &d->courier};
    const struct letters_retry how = {.arg = &r, .try = retry_one};
    struct err e = {0};
    char text[CONTROL_RESULT];
    if (control_paused(&d->control)) {
        control_done(&d->control, CONTROL_RETRY, ticket, "{\"error\":\"the agent is paused\"}");
        return;
    }
    int rc = letters_retry(d->letters, &how, &e);
    snprintf(text, sizeof text, "{\"delivered\":%u,\"refused\":%u,\"kept\":%llu,\"all_tried\":%s}",
             r.delivered, r.refused, (unsigned long long)letters_count(d->letters),
             rc ? "false" : "true");
    control_done(&d->control, CONTROL_RETRY, ticket, text);
}

/* Gives the answer to a flush or a drain that cannot be done now. */
static void cannot_send(struct daemon *d, enum control_task t, uint64_t ticket, bool paused)
{
    struct buf b;
    char why[CONTROL_RESULT];
    snprintf(why, sizeof why, "%s%.420s",
             paused ? "the agent is paused" : "the agent waits: ", paused ? "" : d->courier.why);
    buf_init(&b, CONTROL_RESULT);
    buf_str(&b, "{\"sent\":false,\"why\":");
    buf_json_str(&b, why);
    buf_char(&b, '}');
    control_done(&d->control, t, ticket,
                 buf_error(&b) ? "{\"sent\":false,\"why\":\"the agent waits\"}" : buf_cstr(&b));
    buf_fini(&b);
}

/* Handles the requested tasks. True: a drain is done. */
static bool do_tasks(struct daemon *d, int64_t now)
{
    uint64_t retry = control_task(&d->control, CONTROL_RETRY);
    if (retry)
        retry_letters(d, retry);
    if (control_resumed(&d->control) && d->courier.hold != HOLD_NONE)
        courier_hold_no_longer(&d->courier);
    bool drained = false;
    for (int t = CONTROL_FLUSH; t <= CONTROL_DRAIN; t++) {
        uint64_t ticket = control_task(&d->control, (enum control_task)t);
        /* Reports from before the command are taken in the turn after the command was seen. */
        d->asked[t] = !ticket            ? 0
                      : d->asked[t] == 0 ? ASKED_JUST_NOW
                      : d->asked[t] < 0  ? now
                                         : d->asked[t];
        bool paused = control_paused(&d->control), held = d->courier.hold != HOLD_NONE;
        if (!ticket || d->asked[t] < 0)
            continue;
        if (d->asked[t] < now && sessions_idle(d, d->asked[t])) {
            control_done(&d->control, (enum control_task)t, ticket, "{\"sent\":true}");
            drained |= t == CONTROL_DRAIN;
        } else if (paused || (t == CONTROL_FLUSH && held)) {
            cannot_send(d, (enum control_task)t, ticket, paused);
        }
    }
    return drained;
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* Waits for an event, or until something is due. */
static void wait_for_news(struct daemon *d, int64_t until)
{
    struct pollfd fds[] = {{.fd = d->control.wake, .events = POLLIN},
                           {.fd = d->folders.watch.fd, .events = POLLIN}};
    int64_t left = until - clock_mono(), ms = left <= 0 ? 0 : left / MILLI + 1;
    uint64_t count;
    remote_tick(d->courier.remote);
    publish_take(d);
    if (poll(fds, 2, ms > INT_MAX ? INT_MAX : (int)ms) > 0 && fds[0].revents &&
        read(d->control.wake, &count, sizeof count) < 0)
        log_debug("the wake-up was taken already");
}

/* Ends a pause that the key caused, or that a person had to end, with the present key. */
static bool may_send(struct daemon *d, int64_t now)
{
    struct err e = {0};
    if (control_paused(&d->control) || now < d->courier.held)
        return false;
    if (d->courier.hold == HOLD_KEY && courier_connect(&d->courier, &e)) {
        courier_hold_until(&d->courier, HOLD_KEY, now + d->options->wait_most, e.text);
        return false;
    }
    return true;
}

static int64_t until_when(const struct daemon *d, int64_t now, bool held)
{
    int64_t until = folders_next(&d->folders, d->options->delay);
    if (held && d->courier.held > now && d->courier.held < until)
        until = d->courier.held;
    if (!held && d->recheck.due < until)
        until = d->recheck.due;
    if (d->names.pid && until > now + SECOND / 10)
        until = now + SECOND / 10;
    bool task = d->asked[CONTROL_FLUSH] || d->asked[CONTROL_DRAIN];
    bool fresh = d->asked[CONTROL_FLUSH] < 0 || d->asked[CONTROL_DRAIN] < 0;
    if (fresh || (task && !held))
        until = now; /* a task is at work, or is answered in the next turn */
    if (remote_is_blind(d->courier.remote) && until > now + TICK)
        until = now + TICK;
    return until;
}

int daemon_run(struct daemon *d, struct err *e)
{
    int64_t published = 0;
    while (!*d->stop) {
        int64_t now = clock_mono();
        int rc = folders_look(&d->folders, now, e);
        if (rc)
            return rc;
        sessions_look(d, now);
        if (do_tasks(d, now))
            break;
        enum courier_step step = may_send(d, now) ? sessions_step(d) : COURIER_HELD;
        if (step != COURIER_HELD)
            recheck_step(d, now);
        if (step == COURIER_HELD || step == COURIER_CAUGHT ||
            (step == COURIER_LEFT && d->names.pid)) {
            wait_for_news(d, until_when(d, now, step == COURIER_HELD));
        } else if (now - published > SECOND / 2) {
            publish_take(d);
            published = now;
        }
    }
    publish_take(d);
    return 0;
}
