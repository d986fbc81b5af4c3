/* intake.c - has the order of the parts; see intake.h. */
#include "server/intake/intake.h"

#include "base/file/file.h"
#include "base/log.h"
#include "server/intake/aside.h"

#include <limits.h>
#include <string.h>

enum { OPEN_MOST = 512 /* of a store that states no room */ };

static int open_sessions(struct intake *in, const struct intake_config *c, struct err *e)
{
    char kept[PATH_MAX], aside[PATH_MAX];
    if (path_join(kept, sizeof kept, c->data, "kept") ||
        path_join(aside, sizeof aside, c->data, "aside"))
        return err_set(e, GPUFL_E_INVAL, "%s: the name of the folder is too long", c->data);
    const struct sessions_config sessions = {.ops = c->ops,
                                             .store = c->store,
                                             .meta = c->meta,
                                             .folder = kept,
                                             .shared = c->shared,
                                             .threads = c->threads};
    int rc = sessions_open(&in->sessions, &sessions, e);
    if (rc)
        return rc;
    unsigned most = c->ops->room ? c->ops->room(c->store) : OPEN_MOST;
    const struct loader_config loader = {
        .sessions = in->sessions,
        .open_most = c->open_most && c->open_most < most ? c->open_most : most,
        .aside = aside,
        .commit_ns = c->commit_ns,
        .gather_ns = c->gather_ns,
        .commit_rows = c->commit_rows,
        .quiet_ns = c->quiet_ns,
        .silence_ns = c->silence_ns,
        .idle_ns = c->idle_ns,
        .retry_ns = c->retry_ns,
        .fleet = c->fleet,
        .arg = c->arg,
        .news = c->news};
    return loader_open(&in->loader, &loader, e);
}

static int open_journal(struct intake *in, const struct intake_config *c, struct err *e)
{
    char folder[PATH_MAX];
    if (path_join(folder, sizeof folder, c->data, "journal"))
        return err_set(e, GPUFL_E_INVAL, "%s: the name of the folder is too long", c->data);
    const struct journal_config journal = {.folder = folder,
                                           .segment_bytes = c->segment_bytes,
                                           .most_bytes = c->journal_most,
                                           .keep_free = c->keep_free,
                                           .arg = in->loader,
                                           .durable = loader_take};
    int rc = journal_open(&in->journal, &journal, e);
    return rc ? rc : loader_start(in->loader, in->journal, e);
}

/* Frames that could not be loaded are tried again at each start. If the journal or the disk is
 * full, the server starts nevertheless, and the rest waits for the next start. */
static void load_aside(struct intake *in, const struct intake_config *c)
{
    char aside[PATH_MAX];
    struct aside_loaded loaded = {0};
    struct err e = {0};
    if (path_join(aside, sizeof aside, c->data, "aside"))
        return;
    if (aside_load(aside, in->sessions, in->journal, &loaded, &e))
        log_warn("frames stay set aside: %s", e.text);
    if (loaded.sessions)
        log_warn("%llu frames of %llu sessions that were set aside are loaded now",
                 (unsigned long long)loaded.frames, (unsigned long long)loaded.sessions);
}

int intake_open(struct intake *in, const struct intake_config *c, struct err *e)
{
    memset(in, 0, sizeof *in);
    int rc = file_mkdirs(c->data, 0700, e);
    if (rc == 0)
        rc = open_sessions(in, c, e);
    if (rc == 0)
        rc = open_journal(in, c, e);
    if (!rc) {
        load_aside(in, c);
        const struct ingest_config ingest = {.journal = in->journal,
                                             .sessions = in->sessions,
                                             .body_max = c->body_max,
                                             .plain_max = c->plain_max,
                                             .backlog = loader_backlog,
                                             .backlog_arg = in->loader,
                                             .backlog_sessions = c->backlog_sessions,
                                             .backlog_bytes = c->backlog_bytes,
                                             .abandon = loader_abandon,
                                             .abandon_arg = in->loader};
        rc = ingest_start(&in->ingest, &ingest, e);
    }
    if (rc)
        intake_close(in);
    return rc;
}

void intake_close(struct intake *in)
{
    ingest_stop(in->ingest);
    if (in->loader)
        loader_stop(in->loader);
    journal_close(in->journal);
    loader_close(in->loader);
    sessions_close(in->sessions);
    memset(in, 0, sizeof *in);
}
