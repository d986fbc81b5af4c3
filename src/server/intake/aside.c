/* aside.c - see aside.h. */
#include "server/intake/aside.h"

#include "base/alloc.h"
#include "base/log.h"
#include "server/intake/session_frames.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WINDOWS_MAX = 1 << 16 };

/* ---- the folder ------------------------------------------------------------------------------ */

typedef int (*visit_file)(void *arg, const char *workspace, const char *session, struct err *e);

/* Finds the session whose file it is; false: it is not one. */
static bool session_of(const char *file, char id[STORE_ID_MAX])
{
    size_t len = strlen(file), suffix = strlen(".frames");
    if (len <= suffix || len - suffix >= STORE_ID_MAX ||
        strcmp(file + len - suffix, ".frames") != 0)
        return false;
    memcpy(id, file, len - suffix);
    id[len - suffix] = '\0';
    return sessions_id_ok(id, STORE_ID_MAX);
}

static int open_dir(const char *path, DIR **out, struct err *e)
{
    *out = opendir(path);
    if (*out || errno == ENOENT || errno == ENOTDIR)
        return 0;
    return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
}

static int walk_workspace(const char *folder, const char *workspace, visit_file take, void *arg,
                          struct err *e)
{
    char path[PATH_MAX], id[STORE_ID_MAX];
    const struct dirent *entry;
    DIR *d;
    if (snprintf(path, sizeof path, "%s/%s", folder, workspace) >= (int)sizeof path)
        return err_set(e, GPUFL_E_FULL, "%s: the path is too long", folder);
    int rc = open_dir(path, &d, e);
    while (!rc && d && (entry = readdir(d)))
        if (session_of(entry->d_name, id))
            rc = take(arg, workspace, id, e);
    if (d)
        closedir(d);
    return rc;
}

static int walk(const char *folder, visit_file take, void *arg, struct err *e)
{
    const struct dirent *entry;
    DIR *d;
    int rc = open_dir(folder, &d, e);
    while (!rc && d && (entry = readdir(d)))
        if (sessions_id_ok(entry->d_name, STORE_ID_MAX))
            rc = walk_workspace(folder, entry->d_name, take, arg, e);
    if (d)
        closedir(d);
    return rc;
}

static int count_file(void *arg, const char *workspace, const char *session, struct err *e)
{
    (void)workspace;
    (void)session;
    (void)e;
    ++*(uint64_t *)arg;
    return 0;
}

uint64_t aside_count(const char *folder)
{
    uint64_t n = 0;
    walk(folder, count_file, &n, NULL);
    return n;
}

/* ---- a list ---------------------------------------------------------------------------------- */

struct listing {
    const char *folder;
    int (*take)(void *arg, const struct aside_session *s);
    void *arg;
};

static int add_frame(void *arg, const struct journal_frame *f, char *payload)
{
    struct aside_session *s = arg;
    (void)payload;
    s->frames++;
    s->bytes += f->plain;
    if (f->received && (!s->received || f->received < s->received))
        s->received = f->received;
    return 0;
}

static int list_file(void *arg, const char *workspace, const char *session, struct err *e)
{
    struct listing *l = arg;
    struct session_frames *k;
    struct aside_session s = {.workspace = workspace, .session = session};
    int rc = session_frames_open(&k, l->folder, workspace, session, false, e);
    if (rc)
        return rc;
    rc = session_frames_list(k, &(struct session_frames_visitor){&s, add_frame}, e);
    session_frames_close(k);
    return rc ? rc : l->take(l->arg, &s);
}

int aside_list(const char *folder, int (*take)(void *arg, const struct aside_session *s), void *arg,
               struct err *e)
{
    struct listing l = {.folder = folder, .take = take, .arg = arg};
    return walk(folder, list_file, &l, e);
}

/* ---- the way back ---------------------------------------------------------------------------- */

/* Describes a window: the number that its pieces had, and the one that they have now. */
struct moved {
    uint64_t from, to;
    bool wanted; /* it was sealed, and the session does not have it */
};

struct returning {
    const char *folder;
    struct sessions *sessions;
    struct journal *journal;
    struct aside_loaded *out;
    struct intake_session *s; /* under way */
    struct moved *windows;    /* owned */
    size_t window_count, window_cap;
    bool gap; /* text before a frame is missing */
    struct err *err;
};

static struct moved *window_of(struct returning *r, uint64_t from)
{
    for (size_t i = 0; i < r->window_count; i++)
        if (r->windows[i].from == from)
            return &r->windows[i];
    if (mem_grow(&r->windows, &r->window_cap, r->window_count + 1, sizeof *r->windows, WINDOWS_MAX))
        return NULL;
    r->windows[r->window_count] = (struct moved){.from = from};
    return &r->windows[r->window_count++];
}

static int append(struct returning *r, struct journal_frame *f, const char *payload)
{
    int rc = journal_append(r->journal, f, payload, r->err);
    if (!rc) {
        rc = sessions_note(r->s, f);
        r->out->frames++;
    }
    return rc;
}

/* Gives a piece or a seal back to the intake: the window gets the number of its first piece in this
 * journal. */
static int return_window(struct returning *r, struct journal_frame *f, const char *payload)
{
    struct moved *w = window_of(r, f->body ? f->body : f->number);
    if (!w)
        return err_nomem(r->err);
    if (!w->wanted)
        return 0;
    f->body = w->to;
    int rc = append(r, f, payload);
    w->to = f->body;
    return rc;
}

/* Gives a frame back by offset: it is skipped where the session has it, and kept where text before
 * it is missing. */
static int return_lines(struct returning *r, struct journal_frame *f, const char *payload)
{
    const struct session_channel *c = sessions_channel(r->s, f->channel);
    if (!c || f->offset > c->offset) {
        r->gap = true;
        return 0;
    }
    return f->offset + f->length <= c->offset ? 0 : append(r, f, payload);
}

static int return_frame(void *arg, const struct journal_frame *f, char *payload)
{
    struct returning *r = arg;
    struct journal_frame again = *f;
    switch (f->kind) {
    case JOURNAL_LINES:
        return return_lines(r, &again, payload);
    case JOURNAL_PIECE:
    case JOURNAL_SEAL:
        return return_window(r, &again, payload);
    default:
        return append(r, &again, payload);
    }
}

/* Finds the windows that are wanted: their seals follow their pieces in the file. */
static int find_windows(void *arg, const struct journal_frame *f, char *payload)
{
    struct returning *r = arg;
    (void)payload;
    if (f->kind != JOURNAL_SEAL)
        return 0;
    struct moved *w = window_of(r, f->body ? f->body : f->number);
    if (!w)
        return err_nomem(r->err);
    w->wanted = !sessions_has_window(r->s, f->identity);
    return 0;
}

/* Gives the frames of a session back to the intake. [s->lock held, so that the session's sender
 * does not come between] */
static int return_frames(struct returning *r, struct session_frames *k, struct err *e)
{
    int rc = sessions_take_in(r->sessions, r->s, e);
    if (rc || r->s->dropped)
        return rc;
    r->err = e;
    rc = session_frames_list(k, &(struct session_frames_visitor){r, find_windows}, e);
    if (rc == 0)
        rc = session_frames_read(k, UINT64_MAX, &(struct session_frames_visitor){r, return_frame},
                                 e);
    return rc;
}

static int return_session(struct returning *r, const char *workspace, const char *session,
                          struct err *e)
{
    struct session_frames *k;
    int rc = session_frames_open(&k, r->folder, workspace, session, false, e);
    if (rc)
        return rc;
    r->window_count = 0;
    r->gap = false;
    pthread_mutex_lock(&r->s->lock);
    rc = return_frames(r, k, e);
    pthread_mutex_unlock(&r->s->lock);
    session_frames_close(k);
    if (rc == 0)
        rc = journal_wait(r->journal, 0, e);
    if (!rc && r->gap)
        rc = err_set(e, GPUFL_E_STATE, "what came before its frames is missing");
    return rc ? rc : session_frames_remove(r->folder, workspace, session, e);
}

static int return_file(void *arg, const char *workspace, const char *session, struct err *e)
{
    struct returning *r = arg;
    struct err why = {0};
    r->s = sessions_get(r->sessions, workspace, session);
    if (!r->s)
        return err_nomem(e);
    int rc = return_session(r, workspace, session, &why);
    sessions_put(r->sessions, r->s);
    if (!rc) {
        r->out->sessions++;
        return 0;
    }
    r->out->left++;
    log_warn("session %s: its frames stay set aside: %s", session,
             *why.text ? why.text : err_text(rc));
    bool full = rc == GPUFL_E_FULL || rc == GPUFL_E_IO || rc == GPUFL_E_NOMEM;
    return full ? err_set(e, rc, "%s", *why.text ? why.text : err_text(rc)) : 0;
}

int aside_load(const char *folder, struct sessions *t, struct journal *j, struct aside_loaded *out,
               struct err *e)
{
    struct returning r = {.folder = folder, .sessions = t, .journal = j, .out = out};
    *out = (struct aside_loaded){0};
    int rc = walk(folder, return_file, &r, e);
    mem_free(r.windows);
    return rc;
}
