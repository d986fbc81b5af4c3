/* recheck.c - checks whether the server still has the sessions that it acknowledged.
 *
 * A server that lost its disk, or that got a backup of earlier, knows less than it acknowledged.
 * The agent asks for sessions that are done from time to time, with one request for each scan:
 * alternately for the newest one, which an earlier state of the server lacks first, and for the
 * next one in the order of the folders. If one is missing, all folders are checked without a pause.
 * Missing sessions are sent again in the usual way, if their files still exist. Called by the
 * loop's thread only. */
#include "agent/daemon/daemon.h"

#include "base/file/file.h"
#include "base/log.h"

static bool is_done(const struct folder *at)
{
    return at->kind == FOLDER_SESSION && at->done;
}

/* Returns the folder of the session that was done last, by its files; -1: none. */
static int32_t newest(const struct folders *f)
{
    int32_t found = -1;
    for (size_t i = 0; i < f->count; i++)
        if (is_done(&f->items[i]) && (found < 0 || f->items[i].stamp > f->items[found].stamp))
            found = (int32_t)i;
    return found;
}

/* Returns the next folder that has a session; -1: none. */
static int32_t next_in_turn(struct daemon *d)
{
    const struct folders *f = &d->folders;
    for (size_t n = 0; n < f->count; n++) {
        d->recheck.at = (d->recheck.at + 1) % f->count;
        d->recheck.left -= d->recheck.left > 0;
        if (f->items[d->recheck.at].kind == FOLDER_SESSION)
            return (int32_t)d->recheck.at;
    }
    return -1;
}

/* An open session: its positions are asked for again. The server cannot say which windows it has,
 * so all of them are sent again if something was lost. */
static void look_at_work(struct view *v, bool lost)
{
    for (size_t i = 0; i < v->work_count; i++) {
        struct work *w = &v->works[i];
        w->asked = false;
        for (size_t k = 0; lost && w->session && !w->session->ours && k < w->course_count; k++) {
            w->courses[k].at = -1;
            w->courses[k].caught = false;
        }
    }
    v->pending = true;
}

static void send_again(struct daemon *d, struct folder *at, int64_t now)
{
    log_each(LOG_WARN, "session %s is sent again: the server has lost it, or a part of it",
             path_base(at->path));
    COURIER_COUNT(&d->courier, lost, 1);
    cursor_forget(d->cursor, path_base(at->path));
    at->done = false;
    at->stamp = -1;
    at->kept = 0;
    at->due = now;
}

void recheck_step(struct daemon *d, int64_t now)
{
    struct recheck *r = &d->recheck;
    if (now < r->due && !r->left && !d->courier.doubt)
        return;
    bool lost = r->left > 0;
    int32_t index =
        lost || (r->in_turn && !d->courier.doubt) ? next_in_turn(d) : newest(&d->folders);
    d->courier.doubt = false;
    r->in_turn = !r->in_turn;
    r->due = now + d->options->scan;
    if (index < 0 || remote_is_blind(d->courier.remote))
        return;
    struct folder *at = &d->folders.items[index];
    struct view *v = sessions_find_view(d, index);
    if (v)
        look_at_work(v, lost);
    if (v || !is_done(at))
        return;
    int64_t sum = cursor_done_sum(d->cursor, path_base(at->path));
    int64_t there =
        sum < 0 && !lost ? COURIER_UNWANTED : courier_has(&d->courier, path_base(at->path));
    if (there < 0 || there == COURIER_UNWANTED || (sum >= 0 && there >= sum))
        return;
    send_again(d, at, now);
    r->left = lost ? r->left : d->folders.count;
}
