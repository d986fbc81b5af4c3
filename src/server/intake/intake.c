/* intake.c - the order of the parts; see intake.h. */
#include "server/intake/intake.h"

#include "base/file.h"

#include <limits.h>
#include <string.h>

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
    const struct loader_config loader = {.sessions = in->sessions,
                                         .aside = aside,
                                         .commit_ns = c->commit_ns,
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

int intake_open(struct intake *in, const struct intake_config *c, struct err *e)
{
    memset(in, 0, sizeof *in);
    int rc = file_mkdirs(c->data, 0700, e);
    if (rc == 0)
        rc = open_sessions(in, c, e);
    if (rc == 0)
        rc = open_journal(in, c, e);
    if (!rc) {
        const struct ingest_config ingest = {.journal = in->journal,
                                             .sessions = in->sessions,
                                             .body_max = c->body_max,
                                             .plain_max = c->plain_max,
                                             .lag = loader_lag,
                                             .lag_arg = in->loader,
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
