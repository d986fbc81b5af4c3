/* together.c - commits transactions of several sessions that end at about the same time: their
 * entries are one transaction of the small tables, and their rows go to the store together where it
 * gains by that. */
#include "server/intake/loader/inside.h"

#include "base/clock.h"
#include "meta/together.h"

enum { WAITING = 5 /* times the usual time of a transaction */ };

static bool are_enough(const struct loader_thread *t)
{
    return t->due >= STORE_COMMITS_MAX || t->due >= t->open_most;
}

/* Sessions that have ended gather for a while where the store gains by it: each insert of
 * ClickHouse makes a part of many files, and parts are merged. Else they do so between looks. */
static bool gathers(const struct loader_thread *t, int64_t now)
{
    const struct store_ops *ops = sessions_config(t->loader->config.sessions)->ops;
    return ops->commit_all && t->due && !are_enough(t) &&
           now - t->due_since < t->loader->config.gather_ns;
}

/* A transaction ends after a while; where more is waiting to be loaded, later: large ones go to the
 * disk once, small ones twice. */
bool loader_is_due(const struct loader_thread *t, const struct row_writer *g, int64_t now)
{
    int64_t age = now - g->begun_at, after = t->loader->config.commit_ns;
    bool ended = g->complete && !gathers(t, now);
    return g->begun && (ended || age >= (t->waiting ? WAITING * after : after));
}

/* Holds a session's transaction and its result. */
struct committing {
    struct row_writer *g;
    bool entry; /* of the session is new */
    struct registry_written before;
    struct store_commit commit;
    int rc;
    struct err why;
};

struct together {
    struct meta *meta;
    const struct store_ops *ops;
    struct committing *items;
    size_t count;
};

/* This function may be called again, since the first transaction may have been rolled back. */
static int put_entries(void *arg, struct err *e)
{
    const struct together *all = arg;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        const struct committing *c = &all->items[i];
        struct row_writer *g = c->g;
        if (!c->entry)
            continue;
        registry_take_back(&g->registry, &c->before);
        rc = registry_put(&g->registry, all->meta, g->s->workspace, g->s->session, e);
    }
    return rc;
}

/* Writes the entries that are new in one transaction, except where several servers would lock each
 * other's rows in different orders. Where it fails all are left to be written one by one, so that a
 * session that was deleted keeps no other one out. */
static void enter_together(struct together *all)
{
    size_t new = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct committing *c = &all->items[i];
        c->entry = !c->rc && loading_has_entry(c->g);
        c->before = registry_written(&c->g->registry);
        new += c->entry;
    }
    if (new < 2 || !all->meta || !meta_one_writer(all->meta) ||
        meta_together(all->meta, put_entries, all, NULL) == 0)
        return;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].entry)
            registry_take_back(&all->items[i].g->registry, &all->items[i].before);
}

static void commit_to_store(struct together *all)
{
    struct store_commit commits[STORE_COMMITS_MAX];
    struct committing *of[STORE_COMMITS_MAX];
    size_t ready = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct committing *c = &all->items[i];
        c->rc = c->rc ? c->rc : row_writer_enter(c->g, &c->why);
        if (c->rc)
            continue;
        row_writer_ready(c->g, &commits[ready]);
        of[ready++] = c;
    }
    if (all->ops->commit_all)
        all->ops->commit_all(commits, ready);
    for (size_t i = 0; i < ready; i++) {
        struct store_commit *c = &commits[i];
        if (!all->ops->commit_all)
            c->rc = all->ops->commit(c->session, c->positions, c->count, &c->err);
        of[i]->commit = *c;
    }
}

/* Failures are noted when all are through: one may have others committed. */
static void commit_together(struct loader_thread *t, struct committing *items, size_t n)
{
    const struct sessions_config *c = sessions_config(t->loader->config.sessions);
    struct together all = {c->meta, c->ops, items, n};
    for (size_t i = 0; i < n; i++)
        items[i].rc = row_writer_prepare(items[i].g, &items[i].why);
    enter_together(&all);
    commit_to_store(&all);
    for (size_t i = 0; i < n; i++) {
        struct committing *one = &items[i];
        uint64_t rows = one->g->rows, kernels = one->g->kernels;
        if (one->rc)
            continue;
        one->why = one->commit.err;
        one->rc = row_writer_conclude(one->g, one->commit.rc, &one->why);
        if (one->rc == 0)
            loader_note_commit(t, one->g, rows, kernels);
    }
    for (size_t i = 0; i < n; i++)
        if (items[i].rc)
            loader_note_failure(t, items[i].g, items[i].rc, &items[i].why);
}

void loader_commit_due(struct loader_thread *t, int64_t now)
{
    struct committing some[STORE_COMMITS_MAX];
    size_t n = 0;
    for (struct row_writer *g = t->list; g; g = g->next) {
        if (loader_is_due(t, g, now) && !loader_is_dropped(g))
            some[n++] = (struct committing){.g = g};
        if (n && (n == STORE_COMMITS_MAX || !g->next)) {
            commit_together(t, some, n);
            n = 0;
        }
    }
    t->due = gathers(t, now) ? t->due : 0;
}

void loader_commit_ended(struct loader_thread *t)
{
    int64_t now = clock_mono();
    t->due_since = t->due ? t->due_since : now;
    t->due++;
    if (are_enough(t))
        loader_commit_due(t, now);
}
