/* session.c - what a thread of the loader does with one session: give, commit, try
 * again, set aside, end, close; see loader.h. */
#include "server/intake/loader/inside.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "meta/together.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define RETRY_MOST 60000000000
#define RETRY_SOON 5000000000    /* where the reason is temporary */
#define HOPE_NS    3600000000000 /* after which frames that still fail are set aside */
#define TURN_NS    100000000     /* between looks whether another server is done */

enum {
    FIRST_ROWS = 65536,
    RETRIES_AT_ONCE = 4,
    ENDS_AT_ONCE = 32,
    TURNS_SAID = 50 /* unsuccessful looks until the wait is logged */
};

struct row_writer *loader_session(struct loader_thread *t, struct intake_session *s)
{
    if (s->writer)
        return s->writer;
    struct loader *l = t->loader;
    struct row_writer *g = mem_alloc(sizeof *g);
    if (!g)
        return NULL;
    row_writer_init(g, sessions_get(l->config.sessions, s->workspace, s->session), &t->tools);
    g->next = t->list;
    g->used = clock_mono();
    t->list = g;
    s->writer = g;
    atomic_store_explicit(&s->loading, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->open, 1, memory_order_relaxed);
    return g;
}

void loader_session_free(struct loader_thread *t, struct row_writer *g)
{
    struct intake_session *s = g->s;
    row_writer_fini(g);
    mem_free(g);
    s->writer = NULL;
    atomic_store_explicit(&s->loading, false, memory_order_relaxed);
    sessions_put(t->loader->config.sessions, s);
    atomic_fetch_sub_explicit(&t->open, 1, memory_order_relaxed);
}

bool loader_is_dropped(const struct row_writer *g)
{
    pthread_mutex_lock(&g->s->lock);
    bool dropped = g->s->dropped;
    pthread_mutex_unlock(&g->s->lock);
    return dropped;
}

/* Drops all of a deleted session. */
static void discard(struct row_writer *g)
{
    pthread_mutex_lock(&g->s->lock);
    g->s->dropped = true;
    pthread_mutex_unlock(&g->s->lock);
    row_writer_abandon(g, 0);
    row_writer_release(g, &g->backlog);
    row_writer_release(g, &g->ends);
    g->failures = 0;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Returns the open session that was used longest ago, those that have ended first; NULL: none but
 * g. */
static struct row_writer *longest_ago(struct loader_thread *t, const struct row_writer *g)
{
    struct row_writer *found = NULL;
    for (struct row_writer *at = t->list; at; at = at->next) {
        if (!at->open || at == g)
            continue;
        bool ended = at->complete && !at->begun;
        bool found_ended = found && found->complete && !found->begun;
        if (!found || (ended && !found_ended) || (ended == found_ended && at->used < found->used))
            found = at;
    }
    return found;
}

/* Commits and closes open sessions until no more than `most` are left. */
static void close_down_to(struct loader_thread *t, const struct row_writer *g, unsigned most)
{
    unsigned open = 0;
    struct row_writer *last;
    for (const struct row_writer *at = t->list; at; at = at->next)
        open += at->open;
    if (open > most && t->due && !t->shedding)
        loader_commit_due(t, clock_mono());
    for (; open > most && (last = longest_ago(t, g)); open--) {
        loader_commit(t, last); /* one whose commit fails is closed by the failure */
        loader_end(t, last);
        row_writer_shut(last);
    }
}

/* Memory was short: fewer sessions are open until commits succeed again. */
static void shed(struct loader_thread *t, const struct row_writer *g)
{
    if (t->shedding) /* a commit of those that are closed failed as well: it is closed by that */
        return;
    t->shedding = true;
    t->open_most = t->open_most > 3 ? t->open_most / 2 : t->open_most;
    close_down_to(t, g, t->open_most);
    t->shedding = false;
}

static void grow(struct loader_thread *t)
{
    const struct loader *l = t->loader;
    t->open_most += t->open_most < l->config.open_most / l->thread_count;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Other tries would end the same: the session's columns or frames are not what they should be. */
static bool is_damage(int rc)
{
    return rc == GPUFL_E_CORRUPT || rc == GPUFL_E_STATE || rc == GPUFL_E_INVAL;
}

/* Returns true if the cause is temporary: a lack of room, or a store that cannot be reached. */
static bool goes_by(int rc, const struct err *e)
{
    return rc == GPUFL_E_FULL || rc == GPUFL_E_NOMEM || rc == GPUFL_E_BUSY ||
           rc == GPUFL_E_TIMEOUT || rc == GPUFL_E_UNAVAILABLE ||
           (rc == GPUFL_E_IO && e->vendor == ENOSPC);
}

static int copy_aside(struct row_writer *g, struct session_frames *k, const struct frame_list *list,
                      struct err *e)
{
    struct journal_frame f;
    char *payload;
    int rc = 0;
    for (size_t i = 0; !rc && i < list->count; i++) {
        rc = journal_read(g->tools->reader, list->items[i].place, &f, &payload, e);
        rc = rc == GPUFL_E_CORRUPT ? 0 : rc ? rc : session_frames_append(k, &f, payload, e);
    }
    return rc;
}

/* Puts frames that wait for the thread after those that are set aside. */
static void take_waiting(struct loader_thread *t, struct row_writer *g)
{
    struct item item;
    bool some = true;
    while (some) {
        pthread_mutex_lock(&t->lock);
        some = loader_queue_pop_of(&t->queue, g->s, &item);
        pthread_mutex_unlock(&t->lock);
        if (!some)
            return;
        int rc = 0;
        if (item.kind == ITEM_ABANDON)
            row_writer_abandon(g, item.frame.body);
        else if (item.frame.kind == JOURNAL_PIECE)
            rc = row_writer_piece(g, &item.frame);
        else
            rc = frame_list_push(&g->backlog, &item.frame);
        if (rc)
            sessions_withhold(t->loader->config.sessions, g->s, item.frame.number);
        sessions_put(t->loader->config.sessions, item.s);
    }
}

/* The sender is expected to send again what was accepted and is set aside. Frames up to here
 * follow; frames after them are the sender's next try. */
static void expect_again(struct loader_thread *t, struct row_writer *g, bool damaged)
{
    pthread_mutex_lock(&g->s->lock);
    g->aside_upto = journal_last(t->loader->journal);
    g->s->damaged |= damaged;
    sessions_forget(g->s);
    pthread_mutex_unlock(&g->s->lock);
}

static void set_aside(struct loader_thread *t, struct row_writer *g, const char *why)
{
    struct session_frames *k;
    struct err e = {0};
    take_waiting(t, g);
    size_t n = g->backlog.count;
    int rc = session_frames_open(&k, t->loader->aside, g->s->workspace, g->s->session, true, &e);
    for (size_t i = 0; !rc && i < g->window_count; i++)
        rc = copy_aside(g, k, &g->windows[i].pieces, &e);
    if (rc == 0)
        rc = copy_aside(g, k, &g->backlog, &e);
    if (rc == 0)
        rc = session_frames_sync(k, &e);
    session_frames_close(k);
    if (rc) {
        log_error("session %s cannot be loaded, nor its frames set aside: %s", g->s->session,
                  e.text);
        return;
    }
    log_error("session %s cannot be loaded: %s; %zu frames of it were set aside in %s",
              g->s->session, why, n, t->loader->aside);
    atomic_fetch_add_explicit(&t->set_aside, n, memory_order_relaxed);
    row_writer_abandon(g, 0);
    row_writer_release(g, &g->backlog);
    g->failures = 0;
}

static int64_t wait_after(const struct loader_thread *t, const struct row_writer *g, bool soon)
{
    int64_t wait = t->loader->config.retry_ns << (g->failures < 7 ? g->failures : 7);
    int64_t most = g->turn ? TURN_NS : soon ? RETRY_SOON : RETRY_MOST;
    return wait < most ? wait : most;
}

void loader_note_failure(struct loader_thread *t, struct row_writer *g, int rc, const struct err *e)
{
    if (rc == GPUFL_E_NOENT || loader_is_dropped(g)) {
        discard(g);
        return;
    }
    int64_t now = clock_mono();
    g->turn = rc == GPUFL_E_BUSY && !e->vendor;
    g->lacks_memory = rc == GPUFL_E_NOMEM;
    g->own_failure = !goes_by(rc, e);
    g->retry_at = now + wait_after(t, g, goes_by(rc, e));
    g->failing_since = g->failures ? g->failing_since : now;
    g->failures++;
    atomic_fetch_add_explicit(&t->retries, 1, memory_order_relaxed);
    if (rc == GPUFL_E_NOMEM)
        shed(t, g);
    if (!g->turn || g->failures % TURNS_SAID == 0)
        log_warn("session %s cannot be loaded now, and will be tried again: %s", g->s->session,
                 e->text);
    bool hopeless = is_damage(rc) || (!goes_by(rc, e) && now - g->failing_since > HOPE_NS);
    if (g->failures >= LOADER_TRIES && hopeless) {
        expect_again(t, g, rc == GPUFL_E_CORRUPT);
        set_aside(t, g, e->text);
    }
}

void loader_note_commit(struct loader_thread *t, struct row_writer *g, uint64_t rows,
                        uint64_t kernels)
{
    g->failures = 0;
    atomic_store_explicit(&t->loader->committed, clock_mono(), memory_order_relaxed);
    grow(t);
    if (!g->announce_end && loader_counts_due(t, g, clock_mono())) /* else with its end */
        loader_put_counts(t, g);
    newest_samples_report(&g->samples, &g->registry, t->loader->config.fleet, g->s->workspace,
                          g->s->session, clock_real());
    loader_report(t, g, (struct loader_news){.rows = rows, .kernels = kernels});
}

void loader_commit(struct loader_thread *t, struct row_writer *g)
{
    struct err e = {0};
    uint64_t rows = g->rows, kernels = g->kernels;
    bool begun = g->begun;
    int rc = row_writer_commit(g, &e);
    if (rc)
        loader_note_failure(t, g, rc, &e);
    else if (begun)
        loader_note_commit(t, g, rows, kernels);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Holds the end of a session, and its counts where they are known. */
struct ending {
    struct row_writer *g;
    int64_t bytes;
    bool counted;
};

/* Holds the ends that are written in one transaction. */
struct endings {
    struct meta *meta;
    const struct ending *items;
    size_t count;
};

static int put_ends(void *arg, struct err *e)
{
    const struct endings *all = arg;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        const struct ending *end = &all->items[i];
        struct row_writer *g = end->g;
        const char *workspace = g->s->workspace, *session = g->s->session;
        if (end->counted)
            rc = registry_grow(&g->registry, all->meta, workspace, session, end->bytes, e);
        if (rc == 0)
            rc = registry_end(&g->registry, all->meta, workspace, session, !g->silent, e);
    }
    return rc;
}

static int write_ends(const struct loader_thread *t, const struct ending *items, size_t count,
                      struct err *e)
{
    struct endings some = {sessions_config(t->loader->config.sessions)->meta, items, count};
    return some.meta ? meta_together(some.meta, put_ends, &some, e) : 0;
}

static bool can_end(const struct row_writer *g)
{
    return g->announce_end && !g->begun && !g->failures;
}

static struct ending ending_of(const struct loader_thread *t, struct row_writer *g)
{
    const struct sessions_config *c = sessions_config(t->loader->config.sessions);
    struct ending end = {.g = g};
    struct err e = {0};
    int rc = c->ops->size(c->store, g->s->workspace, g->s->session, &end.bytes, &e);
    end.counted = rc == 0;
    if (rc && rc != GPUFL_E_NOENT)
        log_warn("session %s: its counts are not written: %s", g->s->session, e.text);
    return end;
}

/* Reports that a session's end is written, or is not. rc, e: of writing the end. */
static void ended(struct loader_thread *t, struct row_writer *g, int rc, const struct err *e)
{
    if (rc && rc != GPUFL_E_NOENT)
        log_warn("session %s: its end is not written before the next start: %s", g->s->session,
                 e->text);
    else
        row_writer_release(g, &g->ends);
    g->announce_end = false;
    loader_report(t, g, (struct loader_news){.ended = true});
}

void loader_end(struct loader_thread *t, struct row_writer *g)
{
    struct err e = {0};
    if (!can_end(g))
        return;
    const struct ending end = ending_of(t, g);
    int rc = write_ends(t, &end, 1, &e);
    ended(t, g, rc, &e);
}

/* Where the transaction fails, each session's end is written alone: one that was deleted keeps no
 * other one live. */
static void end_some(struct loader_thread *t, const struct ending *items, size_t count)
{
    const bool alone = count < 2 || write_ends(t, items, count, NULL);
    for (size_t i = 0; i < count; i++) {
        struct err e = {0};
        int rc = alone ? write_ends(t, &items[i], 1, &e) : 0;
        ended(t, items[i].g, rc, &e);
    }
}

void loader_end_all(struct loader_thread *t)
{
    struct ending some[ENDS_AT_ONCE];
    size_t count = 0;
    for (struct row_writer *g = t->list; g; g = g->next) {
        if (!can_end(g) || loader_is_dropped(g))
            continue;
        some[count++] = ending_of(t, g);
        if (count == ENDS_AT_ONCE) {
            end_some(t, some, count);
            count = 0;
        }
    }
    end_some(t, some, count);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Returns the number of rows of a transaction. A session's first rows are stored soon, so that they
 * can be viewed; the more rows it has, the more are stored at once. */
static uint64_t rows_at_once(const struct loader_thread *t, const struct row_writer *g)
{
    uint64_t rows = g->registry.records > FIRST_ROWS ? g->registry.records : FIRST_ROWS;
    return rows < t->loader->config.commit_rows ? rows : t->loader->config.commit_rows;
}

/* Returns true if the frame, or the window that it seals, came before the session's frames were set
 * aside. */
static bool follows_aside(const struct row_writer *g, const struct queued_frame *f)
{
    return f->number <= g->aside_upto ||
           (f->kind == JOURNAL_SEAL && f->body && f->body <= g->aside_upto);
}

void loader_give(struct loader_thread *t, struct row_writer *g, const struct queued_frame *f)
{
    struct err e = {0};
    bool aside = g->aside_upto && f->kind != JOURNAL_PIECE && follows_aside(g, f);
    if (g->failures || aside) {
        if (frame_list_push(&g->backlog, f))
            sessions_withhold(t->loader->config.sessions, g->s, f->number);
        if (aside)
            set_aside(t, g, "earlier ones of it were set aside");
        return;
    }
    if (!g->open && f->kind != JOURNAL_PIECE)
        close_down_to(t, g, t->open_most - 1);
    int rc = row_writer_give(g, f, &e);
    if (rc)
        loader_note_failure(t, g, rc, &e);
    else if (g->rows >= rows_at_once(t, g))
        loader_commit(t, g);
    else if (g->begun && f->kind == JOURNAL_END)
        loader_commit_ended(t);
}

static void retry(struct loader_thread *t, struct row_writer *g)
{
    struct frame_list again = g->backlog;
    struct err e = {0};
    int rc = 0;
    close_down_to(t, g, t->open_most - 1);
    g->backlog = (struct frame_list){0};
    for (size_t i = 0; i < again.count; i++) {
        if (!rc)
            rc = row_writer_give(g, &again.items[i], &e);
        else if (frame_list_push(&g->backlog, &again.items[i]))
            sessions_withhold(t->loader->config.sessions, g->s, again.items[i].number);
    }
    mem_free(again.items);
    if (rc)
        loader_note_failure(t, g, rc, &e);
    else
        loader_commit(t, g);
}

void loader_ask_end(struct loader *l, const char *workspace, const char *session, bool silent)
{
    struct journal_frame f = {.kind = JOURNAL_END, .offset = silent};
    struct err e = {0};
    snprintf(f.workspace, sizeof f.workspace, "%s", workspace);
    snprintf(f.session, sizeof f.session, "%s", session);
    if (journal_append(l->journal, &f, "", &e))
        log_warn("session %s: its end waits: %s", session, e.text);
}

/* Returns true if nothing of a session is left to do. */
static bool is_idle(const struct row_writer *g)
{
    return !g->begun && !g->failures && !g->window_count && !g->backlog.count && !g->announce_end;
}

static void shut_session(struct loader_thread *t, struct row_writer *g)
{
    struct err e = {0};
    if (g->frames && g->finished && session_frames_shrink(g->frames, &e))
        log_warn("session %s: %s", g->s->session, e.text);
    loader_session_free(t, g);
}

/* Releases a deleted session at once: its columns take room as long as they are open. */
static void release(struct loader_thread *t, struct row_writer *g)
{
    if (g->begun)
        loader_commit(t, g); /* which the store refuses: what it held is released */
    discard(g);
    loader_session_free(t, g);
}

bool loader_fails_alone(const struct loader_thread *t, const struct row_writer *g)
{
    int64_t committed = atomic_load_explicit(&t->loader->committed, memory_order_relaxed);
    return g->failures && (g->own_failure || committed > g->failing_since);
}

void loader_hold(const struct row_writer *g, struct loader_queue_load *sum)
{
    const struct frame_list *lists[] = {&g->taken, &g->backlog};
    bool some = false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t k = 0; k < lists[i]->count; k++) {
            const struct queued_frame *f = &lists[i]->items[k];
            sum->bytes += f->place.size;
            sum->since = f->queued < sum->since ? f->queued : sum->since;
            some = true;
        }
    sum->sessions += some || g->announce_end;
}

bool loader_look_at(struct loader_thread *t, struct row_writer *g, int64_t now)
{
    const struct loader_config *c = &t->loader->config;
    if (loader_is_dropped(g)) {
        release(t, g);
        return true;
    }
    if (loader_is_due(t, g, now))
        loader_commit(t, g);
    if (g->failures && now >= g->retry_at && t->retried++ < RETRIES_AT_ONCE)
        retry(t, g);
    loader_end(t, g);
    if (g->registry.ended && !g->complete && !g->end_asked && is_idle(g) &&
        now - g->used >= c->quiet_ns) {
        g->end_asked = true;
        loader_ask_end(t->loader, g->s->workspace, g->s->session, false);
    }
    if (loader_counts_due(t, g, now)) {
        loader_put_counts(t, g);
        /* Followers of the session ask for its counts. */
        loader_report(t, g, (struct loader_news){.counts_only = true});
    }
    /* Others want the room of what has ended; the public client may still send a late window, and
     * then its decoder must know the names. */
    bool done = g->complete && !g->aside_upto && !g->frames;
    if (!is_idle(g) || (!done && now - g->used < c->idle_ns))
        return false;
    shut_session(t, g);
    return true;
}
