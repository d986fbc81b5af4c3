/* counts.c - a session's counts in the small tables, and what is reported to pages.
 *
 * Pages of a running session show these counts: they follow a commit soon where few sessions run,
 * and later where many do, so that the small tables are not written more often for more sessions.
 * Called by the session's thread only. */
#include "server/intake/loader/inside.h"

#include "base/log.h"

#include <stdatomic.h>

static const int64_t LEAST = 500000000, MOST = 5000000000; /* ns between a session's counts */
static const int64_t EACH = 31250000; /* for each session that is open: 32 writes a second */

void loader_report(struct loader_thread *t, struct row_writer *g, struct loader_news n)
{
    const struct loader_config *c = &t->loader->config;
    n.workspace = g->s->workspace;
    n.session = g->s->session;
    n.lag = loader_thread_lag(t);
    if (c->news)
        c->news(c->arg, &n);
}

void loader_put_counts(struct loader_thread *t, struct row_writer *g)
{
    const struct sessions_config *c = sessions_config(t->loader->config.sessions);
    struct err e = {0};
    int64_t bytes = 0;
    int rc = c->ops->size(c->store, g->s->workspace, g->s->session, &bytes, &e);
    if (rc == 0)
        rc = registry_grow(&g->registry, c->meta, g->s->workspace, g->s->session, bytes, &e);
    if (rc && rc != GPUFL_E_NOENT)
        log_warn("session %s: its counts are not written: %s", g->s->session, e.text);
}

bool loader_counts_due(const struct loader_thread *t, const struct row_writer *g, int64_t now)
{
    int64_t after = EACH * (int64_t)atomic_load_explicit(&t->open, memory_order_relaxed);
    after = after < LEAST ? LEAST : after > MOST ? MOST : after;
    return g->open && g->registry.records != g->registry.grown_records &&
           now - g->registry.grown_at >= after;
}
