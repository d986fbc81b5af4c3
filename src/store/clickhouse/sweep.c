/* sweep.c - removes the rows of deleted sessions.
 *
 * A deleted session has a last commit that says so, after which none of its rows counts. Its rows
 * share partitions with other sessions' rows, and to remove rows ClickHouse rewrites every part
 * that has some of them. So a thread collects deletions, and removes the rows of many sessions with
 * one statement for each table, when they are a large enough share of the rows, and at the latest a
 * day after the deletion. Then the commits of these sessions are written again, without rows, so
 * that the sessions are not searched for a second time.
 *
 * A statement removes rows only up to the session's last commit, since the session may have been
 * made again.
 *
 * Threads: one of the store's; sweep_ask from any. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GATHER INT64_C(1000000000) /* ns from the first deletion until rows are removed */
/* Says how many ns pass until the next try after a failure, or if it is too early. */
#define AGAIN  INT64_C(60000000000)
#define LOOK   INT64_C(50000000)         /* ns between checks of what ClickHouse has done */
#define WAIT   INT64_C(600000000000)     /* ns until another workspace has its turn */
#define LATEST INT64_C(86400000)         /* ms from a deletion until its rows are removed */
#define SMALL  (INT64_C(64) << 20)       /* tables of so many bytes may be rewritten each time */
enum { SHARE = 4, SESSIONS_MAX = 1000 }; /* 1/SHARE of the rows; sessions in a statement */

struct gone {
    uint64_t key[SESSIONS_MAX];
    int64_t commit[SESSIONS_MAX]; /* the last one */
    unsigned count;
    int64_t rows[TABLE_COUNT]; /* of all these sessions, by place */
    bool more;                 /* there are further sessions, or some that are being read */
};

struct sweeping {
    struct store *store;
    struct workspace *workspace;
    unsigned host;
    struct gone *gone;
    struct buf text;
};

/* ---- which ----------------------------------------------------------------------------------- */

static void put_workspace(struct buf *b, const struct store *s, const struct workspace *w)
{
    char name[2 * STORE_ID_MAX + 16];
    snprintf(name, sizeof name, "%s_%s", s->links.place.prefix, w->name);
    literal_text(b, name, strlen(name));
}

/* Returns true if a thread of this process reads or writes the session. */
static bool is_read(struct sweeping *x, uint64_t key)
{
    struct session_list *open = &x->store->open;
    bool read = false;
    pthread_mutex_lock(&open->lock);
    for (struct listed *at = open->first; at && !read; at = at->next)
        read = at->refs && ((struct store_session *)at)->key == key &&
               strcmp(at->workspace, x->workspace->name) == 0;
    pthread_mutex_unlock(&open->lock);
    return read;
}

static int take_gone(void *arg, const struct page *p)
{
    struct sweeping *x = arg;
    struct gone *g = x->gone;
    for (size_t i = 0; i < p->rows; i++) {
        uint64_t key = (uint64_t)page_int(p, 0, i);
        if (g->count == SESSIONS_MAX || is_read(x, key)) {
            g->more = true;
            continue;
        }
        struct state t;
        state_init(&t);
        state_get_counts(&t, page_text(p, 2, i));
        state_add_rows(&t, g->rows);
        g->rows[TABLE_about]++; /* of one that was small once */
        g->key[g->count] = key;
        g->commit[g->count++] = page_int(p, 1, i);
        state_fini(&t);
    }
    return 0;
}

static int find_gone(struct sweeping *x, struct err *e)
{
    struct buf *b = &x->text;
    buf_clear(b);
    buf_str(b, "SELECT session, max(commit), argMax(counts, commit) FROM ");
    place_put(b, x->store, x->workspace->name, place_name(TABLE_position));
    buf_printf(b,
               " GROUP BY session HAVING argMax(kind, commit) = %d AND argMax(counts, commit) != ''"
               " ORDER BY max(commit) LIMIT %d FORMAT Native",
               STATE_DROPPED, SESSIONS_MAX + 1);
    int rc = link_ask(&x->store->links, x->host,
                      &(struct link_question){b->data, b->len, take_gone, x, 0}, e);
    return rc == GPUFL_E_NOENT ? 0 : rc; /* the workspace has no rows yet */
}

struct size {
    int64_t rows, bytes;
};

static int take_size(void *arg, const struct page *p)
{
    *(struct size *)arg = (struct size){page_int(p, 0, 0), page_int(p, 1, 0)};
    return 0;
}

/* Decides whether the parts are rewritten now. */
static int is_worth(struct sweeping *x, bool *worth, struct err *e)
{
    struct size all = {0, 0};
    int64_t rows = 0;
    struct buf *b = &x->text;
    buf_clear(b);
    buf_str(b,
            "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = ");
    put_workspace(b, x->store, x->workspace);
    buf_str(b, " AND table NOT IN ('commits', 'history') FORMAT Native");
    int rc = link_ask(&x->store->links, x->host,
                      &(struct link_question){b->data, b->len, take_size, &all, 0}, e);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        rows += x->gone->rows[i];
    *worth = all.bytes <= SMALL || rows >= all.rows / SHARE ||
             (x->gone->commit[0] >> NUMBER_SHIFT) + LATEST <= clock_real() / 1000000;
    return rc;
}

/* ---- removed --------------------------------------------------------------------------------- */

int click_ask_number(struct store *s, unsigned host, const struct buf *text, int64_t *out,
                     struct err *e)
{
    struct size answer = {0, 0};
    int rc = link_ask(&s->links, host,
                      &(struct link_question){text->data, text->len, take_size, &answer, 0}, e);
    *out = answer.rows;
    return rc;
}

int sweep_pending(struct store *s, const struct workspace *w, unsigned host, int64_t *out,
                  struct err *e)
{
    struct buf text;
    buf_init(&text, 4096);
    buf_str(&text,
            "SELECT count(), count() FROM system.mutations WHERE NOT is_done AND database = ");
    put_workspace(&text, s, w);
    buf_str(&text, " FORMAT Native");
    int rc = click_ask_number(s, host, &text, out, e);
    buf_fini(&text);
    return rc;
}

static int run(struct sweeping *x, struct err *e)
{
    int rc = buf_error(&x->text) ? err_nomem(e)
                                 : link_do(&x->store->links, x->host, buf_cstr(&x->text), e);
    buf_clear(&x->text);
    return rc;
}

static void put_list(struct buf *b, const struct gone *g, bool keys)
{
    for (unsigned i = 0; i < g->count; i++)
        if (keys)
            buf_printf(b, "%s%" PRIu64, i ? "," : "", g->key[i]);
        else
            buf_printf(b, "%s%" PRId64, i ? "," : "", g->commit[i]);
}

static int remove_from(struct sweeping *x, unsigned place, struct err *e)
{
    struct buf *b = &x->text;
    buf_clear(b);
    buf_str(b, "ALTER TABLE ");
    place_put(b, x->store, x->workspace->name, place_name(place));
    buf_str(b, " DELETE WHERE session IN (");
    put_list(b, x->gone, true);
    buf_str(b, ") AND commit <= transform(session, [");
    put_list(b, x->gone, true);
    buf_str(b, "], [");
    put_list(b, x->gone, false);
    buf_str(b, "], 0)");
    int rc = run(x, e);
    return rc == GPUFL_E_NOENT ? 0 : rc; /* the table was never made */
}

/* Waits until rows are removed. GPUFL_E_BUSY: not all was removed in time, or the store is
 * closing. */
static int wait_removed(struct sweeping *x, struct err *e)
{
    struct sweep *w = &x->store->sweep;
    int64_t left = 1, end = clock_mono() + WAIT;
    int rc = sweep_pending(x->store, x->workspace, x->host, &left, e);
    while (!rc && left && clock_mono() < end && !w->stop) {
        wakeup_wait(&w->wake, LOOK); /* ClickHouse does not report when it is done */
        rc = sweep_pending(x->store, x->workspace, x->host, &left, e);
    }
    return rc || !left ? rc : GPUFL_E_BUSY;
}

/* Writes the commits of the sessions again, without rows. The new number is below all numbers of a
 * session that was made again. */
static int note_removed(struct sweeping *x, struct err *e)
{
    static const char columns[] = "session, commit, kind, name, counts, positions, ranges";
    struct buf *b = &x->text;
    buf_clear(b);
    buf_str(b, "INSERT INTO ");
    place_put(b, x->store, x->workspace->name, place_name(TABLE_position));
    buf_printf(b, " (%s) SELECT session, commit + 1, kind, name, '', '', '' FROM ", columns);
    place_put(b, x->store, x->workspace->name, place_name(TABLE_position));
    buf_str(b, " WHERE (session, commit) IN (");
    for (unsigned i = 0; i < x->gone->count; i++)
        buf_printf(b, "%s(%" PRIu64 ", %" PRId64 ")", i ? "," : "", x->gone->key[i],
                   x->gone->commit[i]);
    buf_char(b, ')');
    return run(x, e);
}

struct empties {
    char table[TABLE_COUNT][LINK_NAME_MAX];
    int64_t week[TABLE_COUNT];
    unsigned count;
};

static int take_empty(void *arg, const struct page *p)
{
    struct empties *all = arg;
    for (size_t i = 0; i < p->rows && all->count < TABLE_COUNT; i++) {
        struct store_text name = page_text(p, 0, i);
        all->week[all->count] = page_int(p, 1, i);
        snprintf(all->table[all->count++], LINK_NAME_MAX, "%.*s", (int)name.len, name.at);
    }
    return 0;
}

/* Drops empty partitions of past weeks, because ClickHouse keeps parts without rows. */
static int drop_empty(struct sweeping *x, struct err *e)
{
    struct empties all = {.count = 0};
    struct buf *b = &x->text;
    buf_clear(b);
    buf_str(b, "SELECT table, toInt64(partition) FROM system.parts WHERE active AND database = ");
    put_workspace(b, x->store, x->workspace);
    buf_printf(
        b,
        " AND table NOT IN ('commits', 'history') GROUP BY table, partition HAVING sum(rows) "
        "= 0 AND toInt64(partition) < %" PRId64 " FORMAT Native",
        clock_real() / 1000000 / (PLACE_WEEK >> NUMBER_SHIFT) - 1);
    int rc = link_ask(&x->store->links, x->host,
                      &(struct link_question){b->data, b->len, take_empty, &all, 0}, e);
    for (unsigned i = 0; !rc && i < all.count; i++) {
        buf_clear(b);
        buf_str(b, "ALTER TABLE ");
        place_put(b, x->store, x->workspace->name, all.table[i]);
        buf_printf(b, " DROP PARTITION %" PRId64, all.week[i]);
        rc = run(x, e);
    }
    return rc;
}

/* Removes what is due. *later: something is left. */
static int sweep_host(struct sweeping *x, bool *later, struct err *e)
{
    bool worth = false;
    int64_t pending = 0;
    int rc = sweep_pending(x->store, x->workspace, x->host, &pending, e);
    if (rc == 0)
        rc = find_gone(x, e);
    if (!rc && x->gone->count)
        rc = is_worth(x, &worth, e);
    *later |= pending || (x->gone->count && !worth) || x->gone->more;
    if (rc || pending || !worth)
        return rc;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (x->gone->rows[i])
            rc = remove_from(x, i, e);
    if (rc == 0)
        rc = wait_removed(x, e);
    if (rc == 0)
        rc = note_removed(x, e);
    return rc ? rc : drop_empty(x, e);
}

static void sweep_workspace(struct store *s, struct workspace *w)
{
    struct sweeping x = {.store = s, .workspace = w};
    bool later = false;
    int rc = 0;
    atomic_store_explicit(&w->dirty, SWEEP_NOTHING, memory_order_relaxed);
    x.gone = mem_alloc(sizeof *x.gone);
    buf_init(&x.text, 1 << 20);
    for (; x.gone && !rc && x.host < s->links.place.host_count; x.host++) {
        memset(x.gone, 0, sizeof *x.gone);
        rc = sweep_host(&x, &later, NULL);
    }
    int nothing = SWEEP_NOTHING; /* unless more was deleted meanwhile */
    if (!x.gone || rc || later)
        atomic_compare_exchange_strong_explicit(&w->dirty, &nothing, SWEEP_LATER,
                                                memory_order_relaxed, memory_order_relaxed);
    buf_fini(&x.text);
    mem_free(x.gone);
}

int sweep_session(const struct store_session *ss, const struct state *t, struct err *e)
{
    struct gone one = {.key = {ss->key}, .commit = {t->commit}, .count = 1};
    struct sweeping x = {ss->store, ss->workspace, ss->host, &one, {0}};
    int rc = 0;
    state_add_rows(t, one.rows);
    one.rows[TABLE_about]++; /* of one that was small once */
    buf_init(&x.text, 4096);
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (one.rows[i])
            rc = remove_from(&x, i, e);
    buf_fini(&x.text);
    return rc;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct workspace *next_workspace(struct store *s, struct workspace *w)
{
    pthread_mutex_lock(&s->open.lock);
    w = w ? w->next : s->workspaces;
    pthread_mutex_unlock(&s->open.lock);
    return w;
}

/* Returns when to call it again, CLOCK_MONOTONIC ns. */
static int64_t sweep_all(struct store *s)
{
    bool asked = false, later = false;
    for (struct workspace *w = NULL; (w = next_workspace(s, w)) && !s->sweep.stop;) {
        if (atomic_load_explicit(&w->dirty, memory_order_relaxed))
            sweep_workspace(s, w);
        int left = atomic_load_explicit(&w->dirty, memory_order_relaxed);
        asked |= left == SWEEP_ASKED;
        later |= left == SWEEP_LATER;
    }
    return asked ? clock_mono() + GATHER : later ? clock_mono() + AGAIN : INT64_MAX;
}

static void *sweep_run(void *arg)
{
    struct store *s = arg;
    struct sweep *w = &s->sweep;
    int64_t due = INT64_MAX;
    while (!w->stop) {
        int64_t now = clock_mono();
        if (due <= now)
            due = sweep_all(s);
        else if (wakeup_wait(&w->wake, due == INT64_MAX ? -1 : due - now) && due > now + GATHER)
            due = clock_mono() + GATHER;
    }
    return NULL;
}

int sweep_start(struct store *s, struct err *e)
{
    struct sweep *w = &s->sweep;
    int rc = wakeup_init(&w->wake);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    rc = thread_start(&w->thread, "gpufl-sweep", 0, sweep_run, s);
    if (rc)
        wakeup_fini(&w->wake);
    return rc ? err_set(e, rc, "no thread for deleted sessions: %s", thread_refusal()) : 0;
}

void sweep_stop(struct store *s)
{
    struct sweep *w = &s->sweep;
    if (!w->thread.running)
        return;
    w->stop = true;
    wakeup_signal(&w->wake);
    thread_join(&w->thread);
    wakeup_fini(&w->wake);
}

void sweep_ask(struct store *s, struct workspace *w)
{
    atomic_store_explicit(&w->dirty, SWEEP_ASKED, memory_order_relaxed);
    wakeup_signal(&s->sweep.wake);
}
