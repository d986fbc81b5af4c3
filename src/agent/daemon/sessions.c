/* sessions.c - keeps the open sessions: each is opened when it changes, sends in its turn (live
 * ones first), and is closed when nothing is left to do. */
#include "agent/daemon/daemon.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <string.h>

static const int64_t LATER = 500000000; /* ns, until there may be room for another session */

/* ---- views --------------------------------------------------------------------------------- */

struct view *sessions_find_view(const struct daemon *d, int32_t folder)
{
    for (size_t i = 0; i < d->view_count; i++)
        if (d->views[i]->folder == folder)
            return d->views[i];
    return NULL;
}

static void drop_view(struct daemon *d, struct view *v)
{
    size_t i = 0;
    while (d->views[i] != v)
        i++;
    d->views[i] = d->views[--d->view_count];
    view_close(v, d->cursor);
}

/* Makes room: closes, of the sessions with nothing to send, the one that had nothing for
 * longest. */
static bool make_room(struct daemon *d)
{
    struct view *oldest = NULL;
    for (size_t i = 0; i < d->view_count; i++) {
        struct view *v = d->views[i];
        if (!v->pending && !v->naming && (!oldest || v->caught < oldest->caught))
            oldest = v;
    }
    if (d->view_count < DAEMON_VIEWS)
        return true;
    if (!oldest)
        return false;
    drop_view(d, oldest);
    return true;
}

/* ---- looking ------------------------------------------------------------------------------- */

/* Returns true if a folder without a view needs none: all of it was handled, and it has not changed
 * since. */
static bool is_settled(const struct daemon *d, struct folder *at, int64_t stamp)
{
    bool deaf = at->watch < 0;
    if (at->touched)
        return false;
    if (cursor_is_done(d->cursor, path_base(at->path), stamp)) {
        at->stamp = stamp;
        if (at->kept != stamp)
            keeper_offer(d->keeper, at->path, stamp);
        at->kept = stamp;
        return true;
    }
    return at->done && at->stamp == stamp && !deaf;
}

/* Handles a folder that has no session any more, or never had one. */
static void look_failed(struct daemon *d, int32_t index, struct view *v, const struct err *e)
{
    struct folder *at = &d->folders.items[index];
    bool gone = folders_time(at->path) < 0;
    if (!gone)
        log_each(LOG_WARN, "%s", e->text);
    else
        cursor_forget(d->cursor, path_base(at->path));
    drop_view(d, v);
    if (gone)
        folders_remove(&d->folders, index);
}

static void look_session(struct daemon *d, int32_t index, int64_t now)
{
    const struct view_context x = {
        .cursor = d->cursor, .letters = d->letters, .batch = d->options->batch};
    struct folder *at = &d->folders.items[index];
    struct view *v = sessions_find_view(d, index);
    struct err e = {0};
    if (!v) {
        int64_t stamp = folders_time(at->path);
        if (stamp < 0) {
            cursor_forget(d->cursor, path_base(at->path));
            folders_remove(&d->folders, index);
            return;
        }
        at->done = is_settled(d, at, stamp);
        if (at->done) {
            folders_plan(&d->folders, at, now);
            return;
        }
        if (!make_room(d) || view_open(&v, index, at->path, &e)) {
            at->due = now + LATER;
            at->touched = at->touched ? now : 0;
            return;
        }
        d->views[d->view_count++] = v;
    } else if (!at->touched) {
        for (size_t i = 0; i < v->work_count; i++)
            for (size_t k = 0; k < v->works[i].course_count; k++)
                v->fresh |= v->works[i].courses[k].blocked; /* perhaps it can continue */
    }
    folders_plan(&d->folders, at, now);
    if (view_refresh(v, &x, &e))
        look_failed(d, index, v, &e);
}

void sessions_look(struct daemon *d, int64_t now)
{
    bool hurry = d->asked[CONTROL_FLUSH] || d->asked[CONTROL_DRAIN];
    for (size_t i = 0; i < d->folders.count; i++) {
        struct folder *at = &d->folders.items[i];
        int64_t delay = hurry ? 0 : d->options->delay;
        bool ripe = at->touched && now >= at->touched + delay;
        if (at->kind == FOLDER_SESSION && (ripe || now >= at->due))
            look_session(d, (int32_t)i, now);
    }
    const struct view_context x = {
        .cursor = d->cursor, .letters = d->letters, .batch = d->options->batch};
    for (size_t i = 0; i < d->view_count; i++) {
        struct view *v = d->views[i];
        struct err e = {0};
        if (v->fresh && v->pending && view_refresh(v, &x, &e)) {
            look_failed(d, v->folder, v, &e);
            return;
        }
    }
}

/* ---- sending ------------------------------------------------------------------------------- */

/* Returns the view whose turn it is: live sessions come first, each in its turn. */
static struct view *pick(struct daemon *d)
{
    for (int live = 1; live >= 0; live--)
        for (size_t n = 0; n < d->view_count; n++) {
            size_t i = (d->turn + n) % d->view_count;
            struct view *v = d->views[i];
            if (v->pending && !v->fresh && (!live || view_is_live(v))) {
                d->turn = i + 1;
                return v;
            }
        }
    return NULL;
}

/* Returns true for files without a whole line yet, which may be those of a session that begins:
 * their session is unknown, and nothing of them was sent. */
static bool is_blank(const struct work *w)
{
    bool dealt = w->session->ours;
    for (size_t i = 0; i < w->course_count; i++)
        dealt |= w->courses[i].mark >= 0;
    return !dealt;
}

/* Finishes a session that is over: looks up names, sends them, and reports the end to the
 * server. */
static enum courier_step end_work(struct daemon *d, struct view *v, struct work *w)
{
    const struct upload_session *s = w->session;
    if (!s || w->closed || !upload_state_over(s->state) || s->waiting || is_blank(w))
        return COURIER_CAUGHT;
    for (size_t i = 0; i < w->course_count; i++)
        if (w->courses[i].blocked && w->courses[i].count)
            return COURIER_CAUGHT; /* the missing parts may still come */
    if (!names_step(d, v, w))
        return COURIER_LEFT;
    return courier_complete(&d->courier, v, w);
}

/* Returns true if the folder has not changed since it was read; else it is read once more. */
static bool is_as_read(struct daemon *d, struct view *v)
{
    struct folder *at = &d->folders.items[v->folder];
    int64_t asked = d->asked[CONTROL_DRAIN] ? d->asked[CONTROL_DRAIN] : d->asked[CONTROL_FLUSH];
    if (!at->touched && v->stamp >= 0 && folders_time(v->path) == v->stamp)
        return true;
    if (!at->touched)
        at->touched = asked > 0 ? asked : clock_mono();
    v->fresh |= v->stamp < 0;
    v->pending = false;
    return false;
}

/* Returns the number of uncompressed bytes of the session; -1: unknown, as for windows. */
static int64_t sum_of(const struct work *w)
{
    int64_t sum = 0;
    if (w->session && !w->session->ours)
        return -1;
    for (size_t i = 0; i < w->course_count; i++)
        sum += w->courses[i].at > 0 ? w->courses[i].at : 0;
    return sum;
}

/* Notes that all of the folder is on the server. */
static enum courier_step settle(struct daemon *d, struct view *v)
{
    struct folder *at = &d->folders.items[v->folder];
    bool done = view_is_done(v), live = view_is_live(v), blocked = false;
    struct err e = {0};
    for (size_t i = 0; i < v->work_count; i++)
        for (size_t k = 0; k < v->works[i].course_count; k++)
            blocked |= v->works[i].courses[k].blocked;
    v->pending = false;
    v->caught = clock_mono();
    if (live || blocked)
        return COURIER_ON;
    int64_t stamp = v->stamp;
    bool named = v->work_count == 1 && strcmp(v->works[0].id, path_base(v->path)) == 0;
    char id[PART_ID_MAX];
    int64_t sum = v->work_count ? sum_of(&v->works[0]) : -1;
    snprintf(id, sizeof id, "%s", v->work_count ? v->works[0].id : "");
    v->settled = done && named;
    at->done = true;
    at->stamp = stamp;
    folders_plan(&d->folders, at, clock_mono());
    drop_view(d, v);
    if (!done || !named)
        return COURIER_ON;
    if (cursor_set_done(d->cursor, id, stamp, sum, &e))
        return courier_disk(&d->courier, &e);
    keeper_offer(d->keeper, at->path, stamp);
    at->kept = stamp;
    return COURIER_ON;
}

enum courier_step sessions_step(struct daemon *d)
{
    struct view *v = pick(d);
    bool all = true;
    if (!v)
        return COURIER_CAUGHT;
    for (size_t i = 0; i < v->work_count; i++) {
        enum courier_step step = courier_step(&d->courier, v, &v->works[i]);
        if (step == COURIER_HELD)
            return step;
        all &= step != COURIER_ON && step != COURIER_LEFT;
    }
    if (v->fresh || !(all || view_caught_up(v)))
        return COURIER_ON;
    if (!view_is_live(v) && !is_as_read(d, v))
        return COURIER_ON;
    for (size_t i = 0; i < v->work_count; i++) {
        enum courier_step step = end_work(d, v, &v->works[i]);
        if (step != COURIER_CAUGHT)
            return step == COURIER_HELD ? step : COURIER_LEFT; /* names are looked up */
    }
    return v->fresh ? COURIER_ON : settle(d, v);
}

bool sessions_idle(const struct daemon *d, int64_t asked)
{
    for (size_t i = 0; i < d->folders.count; i++) {
        const struct folder *at = &d->folders.items[i];
        if (at->kind == FOLDER_SESSION &&
            ((at->touched && at->touched <= asked) || at->due <= asked))
            return false;
    }
    for (size_t i = 0; i < d->view_count; i++)
        if (d->views[i]->pending && d->views[i]->caught <= asked)
            return false;
    return true;
}
