/* keeper_remove.c - see keeper.h: the last check of the server and the archive, and the removal.
 *
 * The folder first gets a hidden name in its parent folder, by one rename: a killed agent leaves no
 * session that lost some of its parts. The notes say which, and the next agent ends it. */
#include "agent/keep/keeper_inside.h"

#include "agent/part_stream.h"
#include "agent/send/courier.h"
#include "agent/send/folders.h"
#include "agent/upload_sessions.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

static const int64_t MOST = INT64_MAX / 4, REFUSED_WAIT = 3600000000000;

/* ---- has the server all of it? ------------------------------------------------------------- */

/* Finds where the last whole line of the channel's last part ends, in plain bytes of the
 * channel. */
static int end_of_channel(const struct ship_part *p, int64_t *end, struct err *e)
{
    static char chunk[CHUNK]; /* used by the keeper's thread only */
    struct part_stream *s;
    /* With a limit a compressed part is decompressed. */
    const struct part_range range = {.most = MOST};
    int64_t n;
    int rc = part_stream_open(&s, p->path, p->head.file, &range, e);
    if (rc)
        return rc;
    while ((n = part_stream_read(s, chunk, sizeof chunk)) > 0)
        ;
    *end = p->head.offset + part_stream_plain(s);
    if (n < 0)
        rc = err_set(e, (int)n, "%s", part_stream_error(s)->text);
    part_stream_close(s);
    return rc;
}

static int64_t position_of(const struct remote_positions *p, const char *channel)
{
    for (unsigned i = 0; i < p->count; i++)
        if (strcmp(p->items[i].channel, channel) == 0)
            return p->items[i].offset;
    return 0;
}

/* Compares the server's positions. GPUFL_E_STATE: the server lacks some of it. For windows of the
 * public client the server has no positions, so its earlier answers count. */
static int compare_positions(const struct upload_session *s, const struct remote_positions *p,
                             struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && s->ours && i < s->count; i++) {
        int64_t end = 0, there = position_of(p, s->parts[i].channel);
        if (i + 1 < s->count && strcmp(s->parts[i].channel, s->parts[i + 1].channel) == 0)
            continue;
        rc = end_of_channel(&s->parts[i], &end, e);
        if (!rc && there < end)
            rc = err_set(e, GPUFL_E_STATE, "the server has %lld of the %lld bytes of channel %s",
                         (long long)there, (long long)end, s->parts[i].channel);
    }
    return rc;
}

static int ask_server(struct keeper *k, const char *session, const struct upload_session *s,
                      struct err *e)
{
    struct remote_positions p;
    struct remote_answer a = {.retry_after = -1};
    int rc = k->remote ? 0 : courier_dial(k->options, &k->ending, &k->remote, e);
    if (!rc)
        rc = remote_ask_positions(k->remote, session, &p, &a, e);
    if (!rc && (a.status == 404 || a.status == 410))
        rc = err_set(e, GPUFL_E_STATE, "the server has no such session (any more)");
    else if (!rc && a.status != 200)
        rc = err_set(e, GPUFL_E_UNAVAILABLE, "%s answers %d%s%.200s", remote_asked(k->remote),
                     a.status, *a.detail ? ": " : "", a.detail);
    if (rc && rc != GPUFL_E_STATE) { /* the next time uses the key of that time */
        remote_close(k->remote);
        k->remote = NULL;
    }
    return rc ? rc : compare_positions(s, &p, e);
}

static int is_acknowledged(struct keeper *k, const char *path, struct err *e)
{
    struct upload_sessions u;
    if (!k->options->server)
        return 0; /* it was sent another way, which acknowledged it before it was offered */
    int rc = upload_sessions_open(&u, path, NULL, 0, e);
    if (rc)
        return rc;
    rc = u.count == 1 && strcmp(u.items[0].id, path_base(path)) == 0
             ? ask_server(k, u.items[0].id, &u.items[0], e)
             : err_set(e, GPUFL_E_STATE, "the folder has not one session of its own name");
    upload_sessions_close(&u);
    return rc;
}

/* ---- has the archive all of it? ------------------------------------------------------------ */

/* Checks that the archive has a session, if there is an archive. GPUFL_E_STATE: the archive lacks
 * it. */
static int is_archived(struct keeper *k, const char *path, struct err *e)
{
    struct manifest m;
    struct s3_answer why;
    if (!k->s3)
        return 0;
    manifest_init(&m);
    int rc = archive_manifest(k->s3, path_base(path), &m, &why, e);
    if (rc == GPUFL_E_INVAL || rc == GPUFL_E_NOENT)
        rc = GPUFL_E_STATE;
    else if (!rc && !archive_is_same(path, &m))
        rc = err_set(e, GPUFL_E_STATE, "the archive's files are others");
    manifest_fini(&m);
    return rc;
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Removes the session's files of a folder, and the folder if that leaves it empty. */
static int empty_folder(const char *path)
{
    struct dirent *entry;
    int error = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : errno;
    while ((entry = readdir(dir)))
        if (manifest_takes(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) && !error)
            error = errno;
    closedir(dir);
    return rmdir(path) && !error ? errno : error;
}

/* Makes the hidden name, next to the folder's, under which the folder is emptied. */
static bool hidden_name(const char *path, char out[PATH_MAX])
{
    const char *name = path_base(path);
    int n = snprintf(out, PATH_MAX, "%.*s.gpufl-removed.%s", (int)(name - path), path, name);
    return n > 0 && n < PATH_MAX && !strchr(path, '\n');
}

/* If the folder has files of others, it gets its name back with them. */
static void end_removal(struct keeper *k, const char *session, const char *hidden)
{
    char path[PATH_MAX];
    const char *name = path_base(hidden);
    struct err e = {0};
    int error = empty_folder(hidden);
    snprintf(path, sizeof path, "%.*s%s", (int)(name - hidden), hidden, session);
    if (error && rename(hidden, path)) {
        log_each(LOG_WARN, "%s cannot be removed: %s", hidden, strerror(error));
        return;
    }
    if (keeper_notes_removed(k->notes, session, &e))
        log_each(LOG_WARN, "%s", e.text);
}

struct leftovers {
    struct {
        char session[PART_ID_MAX], hidden[PATH_MAX];
    } items[8];
    size_t count;
};

static void take_leftover(void *arg, const char *session, const char *hidden)
{
    struct leftovers *l = arg;
    if (l->count == sizeof l->items / sizeof *l->items)
        return;
    snprintf(l->items[l->count].session, sizeof l->items->session, "%s", session);
    snprintf(l->items[l->count++].hidden, sizeof l->items->hidden, "%s", hidden);
}

void keeper_end_removals(struct keeper *k)
{
    struct leftovers l = {.count = 0};
    keeper_notes_unended(k->notes, take_leftover, &l); /* one at most, of one run */
    for (size_t i = 0; i < l.count; i++)
        end_removal(k, l.items[i].session, l.items[i].hidden);
}

static enum keeper_fate refused(struct keeper *k, struct keeper_item *it, int rc,
                                const struct err *e)
{
    if (keeper_is_ending(k))
        return KEEPER_LATER;
    if (rc == GPUFL_E_STATE || rc == GPUFL_E_INVAL || rc == GPUFL_E_NOENT) {
        log_each(LOG_WARN, "session %s stays here: %s", path_base(it->path), e->text);
        KEEPER_COUNT(k, removal_refused, 1);
        it->due = clock_mono() + REFUSED_WAIT;
        return KEEPER_LATER;
    }
    log_each(LOG_WARN, "sessions are removed later: %s", e->text);
    k->held_removal = clock_mono() + k->options->wait_most;
    return KEEPER_LATER;
}

enum keeper_fate keeper_remove(struct keeper *k, struct keeper_item *it)
{
    char hidden[PATH_MAX];
    struct manifest m;
    struct err e = {0};
    const char *session = path_base(it->path);
    if (folders_time(it->path) != it->stamp)
        return KEEPER_DROP;
    manifest_init(&m);
    int rc = archive_list(it->path, &m, &e);
    if (!rc && !hidden_name(it->path, hidden))
        rc = err_set(&e, GPUFL_E_INVAL, "its path is too long, or has a line break");
    if (!rc)
        rc = is_archived(k, it->path, &e);
    if (rc == GPUFL_E_STATE) {
        log_each(LOG_WARN, "session %s is archived once more: %s", session, e.text);
        manifest_fini(&m);
        it->archived = false;
        return KEEPER_LATER;
    }
    if (!rc)
        rc = is_acknowledged(k, it->path, &e);
    if (!rc)
        rc = keeper_notes_removing(k->notes, session, hidden, &e);
    if (!rc && rename(it->path, hidden))
        rc = err_set(&e, GPUFL_E_STATE, "it cannot be removed: %s", strerror(errno));
    bool same = !rc && archive_is_same(hidden, &m);
    if (!rc && !same) /* a line was added in the last moment */
        (void)rename(hidden, it->path);
    manifest_fini(&m);
    if (rc)
        return refused(k, it, rc, &e);
    if (!same) {
        (void)keeper_notes_removed(k->notes, session, NULL);
        return KEEPER_DROP;
    }
    end_removal(k, session, hidden);
    KEEPER_COUNT(k, removed, 1);
    KEEPER_COUNT(k, removed_bytes, it->bytes);
    return KEEPER_DONE;
}
