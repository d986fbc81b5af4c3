/* session_files.c - handles the files of a session: their names, size and removal.
 *
 * A file that cannot be read is set aside under a name that no session has: rows that are sent from
 * then on go to a new file, and the old rows are still there for a repair. Deleting the session
 * deletes both. */
#include "store/duckdb/engine.h"

#include "base/file/file.h"
#include "store/duckdb/small.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define APART     ".damaged" /* after the name of the file */
#define APART_LOG ".damaged.wal"

int session_path(struct store *s, const char *workspace, const char *id, bool make,
                 char path[PATH_MAX], struct err *e)
{
    char folder[PATH_MAX], name[STORE_ID_MAX + 16];
    snprintf(name, sizeof name, "%s.duckdb", id);
    if (path_join(folder, sizeof folder, s->root, workspace) ||
        path_join(path, PATH_MAX, folder, name))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long: %s", s->root);
    return make ? file_mkdirs(folder, 0700, e) : 0;
}

/* Removes the write-ahead log first: a file alone is a session, but a log alone would be applied to
 * the next file of that name. */
static int remove_suffixed(const char *path, size_t count, struct err *e)
{
    static const char *const suffixes[] = {
        ".wal.checkpoint", ".wal.recovery", ".wal", "", APART_LOG, APART};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && i < count; i++) {
        char name[PATH_MAX + 32];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (unlink(name) && errno != ENOENT)
            return err_set_vendor(e, err_from_errno(errno), errno, "cannot delete %s", name);
    }
    return 0;
}

int session_remove_files(const char *path, struct err *e)
{
    return remove_suffixed(path, SIZE_MAX, e);
}

int session_remove_current(const char *path, struct err *e)
{
    return remove_suffixed(path, 4, e);
}

/* Makes the path of a session's file, and checks the ids, which come from clients. */
static int checked_path(struct store *s, const char *workspace, const char *session,
                        char path[PATH_MAX], struct err *e)
{
    int rc = session_check_ids(workspace, session, e);
    return rc ? rc : session_path(s, workspace, session, false, path, e);
}

/* ---- size, deletion, final form -------------------------------------------------------------- */

int session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                 struct err *e)
{
    char path[PATH_MAX], log[PATH_MAX + 8];
    *bytes = 0;
    int rc = checked_path(s, workspace, session, path, e);
    if (rc)
        return rc;
    struct packed_state state;
    if (packs_find(s->packs, workspace, session, &state)) {
        *bytes = state.stored;
        return 0;
    }
    int64_t size = file_size(path);
    if (size < 0)
        return session_absent(session, e);
    snprintf(log, sizeof log, "%s.wal", path);
    int64_t more = file_size(log);
    *bytes = size + (more > 0 ? more : 0);
    return 0;
}

/* Reads the image of an open small session, so that its readers have it after the deletion.
 * [store.open.lock held; released meanwhile] */
static void keep_image(struct store *s, const char *workspace, const char *session)
{
    const struct image *image;
    struct store_session *ss =
        (struct store_session *)session_list_find_settled(&s->open, workspace, session);
    if (!ss || !ss->small || ss->dropped || ss->leaving || !ss->at.refs)
        return;
    ss->at.refs++;
    pthread_mutex_unlock(&s->open.lock);
    if (!small_hold_image(ss, &image, NULL) && image)
        small_release_image(ss, image);
    pthread_mutex_lock(&s->open.lock);
    ss->at.refs--;
}

/* Removes a session from its pack, or its files. */
static int remove_all(struct store *s, const char *workspace, const char *session, const char *path,
                      struct err *e)
{
    struct packed_state state;
    bool packed = packs_find(s->packs, workspace, session, &state);
    int rc = session_remove_files(path, e);
    if (rc || !packed)
        return rc;
    rc = packs_drop(s->packs, workspace, session, e);
    /* The session got a file meanwhile. */
    return rc == GPUFL_E_NOENT ? session_remove_files(path, e) : rc;
}

/* Runs a function for a session that is not open and that no caller gets meanwhile.
 * [store.open.lock held; released meanwhile: others do not wait for the disk] */
static int with_nobody(struct store *s, const char *workspace, const char *session,
                       const char *path,
                       int (*work)(struct store *s, const char *workspace, const char *session,
                                   const char *path, struct err *e),
                       struct err *e)
{
    struct store_session *ss = session_reserve(s, workspace, session, path);
    if (!ss)
        return err_nomem(e);
    pthread_mutex_unlock(&s->open.lock);
    int rc = work(s, workspace, session, path, e);
    pthread_mutex_lock(&s->open.lock);
    session_unreserve(ss);
    return rc;
}

/* Deletes an open session. [store.open.lock held; released meanwhile] */
static int drop_open(struct store_session *ss, struct err *e)
{
    struct store *s = ss->store;
    ss->at.refs++;
    ss->leaving = true;
    pthread_mutex_unlock(&s->open.lock);
    int rc = remove_all(s, ss->at.workspace, ss->at.id, ss->path, e);
    pthread_mutex_lock(&s->open.lock);
    ss->leaving = false;
    ss->dropped = !rc;
    if (!--ss->at.refs && ss->dropped)
        session_list_close(&s->open, &ss->at);
    return rc;
}

int session_drop(struct store *s, const char *workspace, const char *session, struct err *e)
{
    char path[PATH_MAX];
    int rc = checked_path(s, workspace, session, path, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&s->open.lock);
    keep_image(s, workspace, session);
    struct store_session *ss =
        (struct store_session *)session_list_find_settled(&s->open, workspace, session);
    if ((ss && (ss->dropped || ss->leaving)) || !session_exists(s, workspace, session, path))
        rc = session_absent(session, e);
    else
        rc = ss ? drop_open(ss, e) : with_nobody(s, workspace, session, path, remove_all, e);
    pthread_mutex_unlock(&s->open.lock);
    return rc;
}

int session_settle(struct store_session *ss, struct err *e)
{
    struct connection *c;
    char text[64];
    if (pthread_mutex_trylock(&ss->write_lock)) /* a copy or a select needs the file unchanged */
        return err_set(e, GPUFL_E_BUSY, "session %s is being written or copied", ss->at.id);
    int rc = engine_take(ss->store, &c, e);
    if (!rc) {
        snprintf(text, sizeof text, "CHECKPOINT %s", ss->alias);
        rc = sql_run(ss->store->duck, c->handle, text, e);
        engine_give(ss->store, c);
    }
    pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

/* Renames a session's file and its write-ahead log, as far as they exist, the log first: a log
 * alone would be applied to the next file of that name. */
int session_rename_aside(const char *path, struct err *e)
{
    static const char *const suffixes[] = {".wal", ""};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char from[PATH_MAX + 8], to[PATH_MAX + 32];
        snprintf(from, sizeof from, "%s%s", path, suffixes[i]);
        snprintf(to, sizeof to, "%s" APART "%s", path, suffixes[i]);
        if (rename(from, to) && errno != ENOENT)
            return err_set_vendor(e, err_from_errno(errno), errno, "cannot rename %s", from);
    }
    return 0;
}

void session_aside_name(const char *path, char *name, size_t room)
{
    snprintf(name, room, "%s" APART, path);
}

/* Moves the session's records or files to another name. */
static int save_aside(struct store *s, const char *workspace, const char *session, const char *path,
                      struct err *e)
{
    struct packed_state state;
    char to[PATH_MAX + 32];
    session_aside_name(path, to, sizeof to);
    if (!packs_find(s->packs, workspace, session, &state))
        return session_rename_aside(path, e);
    int rc = packs_save(s->packs, workspace, session, to, e);
    return rc ? rc : packs_drop(s->packs, workspace, session, e);
}

int session_set_aside(struct store *s, const char *workspace, const char *session, struct err *e)
{
    char path[PATH_MAX];
    int rc = checked_path(s, workspace, session, path, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&s->open.lock);
    struct store_session *ss =
        (struct store_session *)session_list_find_settled(&s->open, workspace, session);
    if (ss && ss->at.refs) {
        rc = err_set(e, GPUFL_E_BUSY, "session %s is damaged and still read; try again", session);
    } else {
        if (ss) {
            ss->broken = true; /* nothing more may be written to it */
            session_list_close(&s->open, &ss->at);
        }
        rc = with_nobody(s, workspace, session, path, save_aside, e);
    }
    pthread_mutex_unlock(&s->open.lock);
    return rc;
}
