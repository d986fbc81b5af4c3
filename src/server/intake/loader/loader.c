/* loader.c - runs the threads that load: which session is next, when to commit, what to try again.
 *
 * A queue a thread (loader/queue.h), which keeps the order of the journal within a session. A
 * thread looks at all its sessions a few dozen times a second: commits those that are due, retries
 * a few that failed, ends, closes. A session that fails costs others only the time of its retries.
 */
#include "server/intake/loader/loader.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/intake/aside.h"
#include "server/intake/loader/inside.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COMMIT_NS  400000000
#define GATHER_NS  100000000
#define QUIET_NS   3000000000
#define SILENCE_NS 600000000000
#define RETRY_NS   500000000
#define IDLE_NS    30000000000
#define TICK_NS    40000000
#define SLOW_NS    30000000000 /* between looks at the small tables */

enum { COMMIT_ROWS = 500000, LIST_MEMORY = 1 << 24, OPEN_MOST = 64, OPEN_LEAST = 2 };

/* ---- queues ---------------------------------------------------------------------------------- */

static void queue_push(struct loader_thread *t, const struct item *item)
{
    pthread_mutex_lock(&t->lock);
    bool room = !loader_queue_push(&t->queue, item);
    pthread_cond_signal(&t->some);
    pthread_mutex_unlock(&t->lock);
    if (room)
        return;
    if (item->kind == ITEM_FRAME)
        sessions_withhold(t->loader->config.sessions, item->s, item->frame.number);
    sessions_put(t->loader->config.sessions, item->s);
}

void loader_take(void *arg, const struct journal_frame *f, struct journal_place p)
{
    struct loader *l = arg;
    struct intake_session *s = sessions_get(l->config.sessions, f->workspace, f->session);
    bool started = atomic_load_explicit(&l->started, memory_order_acquire);
    if (!s) { /* a sender holds its session: this is the replay, or the end of an idle session */
        l->no_memory |= !started;
        log_error("loader: out of memory: a frame waits in the journal for the next start");
        return;
    }
    if (!started) {
        pthread_mutex_lock(&s->lock);
        if (sessions_note(s, f))
            log_error("loader: out of memory: a window may be taken twice");
        pthread_mutex_unlock(&s->lock);
    }
    atomic_fetch_add_explicit(&l->frames, 1, memory_order_relaxed);
    queue_push(&l->threads[s->thread % l->thread_count],
               &(struct item){ITEM_FRAME,
                              s,
                              {.number = f->number,
                               .kind = f->kind,
                               .body = f->body,
                               .queued = clock_mono(),
                               .place = p,
                               .lines = f->lines + f->damaged}});
}

void loader_abandon(void *arg, struct intake_session *s, uint64_t body)
{
    struct loader *l = arg;
    struct intake_session *held = sessions_get(l->config.sessions, s->workspace, s->session);
    if (held)
        queue_push(&l->threads[s->thread % l->thread_count],
                   &(struct item){ITEM_ABANDON, held, {.body = body, .queued = clock_mono()}});
}

/* Takes the next item; false: none until `until`, or the thread is to stop. */
static bool queue_pop(struct loader_thread *t, int64_t until, struct item *out, bool *stop)
{
    struct timespec at = {until / 1000000000, until % 1000000000};
    pthread_mutex_lock(&t->lock);
    while (!t->queue.items && !t->stop && (t->drain_asked == t->drain_done || t->drain_waits))
        if (pthread_cond_timedwait(&t->some, &t->lock, &at) == ETIMEDOUT)
            break;
    *stop = t->stop;
    t->waiting = t->queue.items > 1;
    bool some = !t->stop && loader_queue_pop(&t->queue, clock_mono(), out);
    if (some && atomic_load_explicit(&t->held.taken, memory_order_relaxed) == INT64_MAX)
        atomic_store_explicit(&t->held.taken, out->frame.queued, memory_order_relaxed);
    pthread_mutex_unlock(&t->lock);
    return some;
}

static struct loader_queue_load queue_load(struct loader_thread *t, const char *workspace)
{
    struct loader_queue_load load = {.since = INT64_MAX};
    pthread_mutex_lock(&t->lock);
    loader_queue_load(&t->queue, workspace, &load);
    pthread_mutex_unlock(&t->lock);
    return load;
}

static int64_t age_of(int64_t since)
{
    return since == INT64_MAX ? 0 : clock_mono() - since;
}

int64_t loader_thread_lag(struct loader_thread *t)
{
    return age_of(queue_load(t, NULL).since);
}

/* Returns true if the session is being loaded, or frames of it wait for that. */
static bool waits(struct loader *l, const char *workspace, const char *session)
{
    struct intake_session *s = sessions_find(l->config.sessions, workspace, session);
    if (!s)
        return false;
    struct loader_thread *t = &l->threads[s->thread % l->thread_count];
    pthread_mutex_lock(&t->lock);
    bool waiting = s->waiting || atomic_load_explicit(&s->loading, memory_order_relaxed);
    pthread_mutex_unlock(&t->lock);
    sessions_put(l->config.sessions, s);
    return waiting;
}

void loader_backlog(void *arg, const char *workspace, const char *session,
                    struct ingest_backlog *out)
{
    struct loader *l = arg;
    *out = (struct ingest_backlog){.waits = session && waits(l, workspace, session)};
    for (unsigned i = 0; i < l->thread_count; i++) {
        struct loader_thread *t = &l->threads[i];
        struct loader_queue_load all = queue_load(t, NULL), own = queue_load(t, workspace);
        int64_t lag = age_of(own.since);
        out->sessions +=
            all.sessions + atomic_load_explicit(&t->held.failing, memory_order_relaxed);
        out->bytes += all.bytes + atomic_load_explicit(&t->held.bytes, memory_order_relaxed);
        out->own_sessions += own.sessions;
        out->own_bytes += own.bytes;
        out->own_lag = lag > out->own_lag ? lag : out->own_lag;
        loader_failing_add(t, workspace, out);
    }
}

int64_t loader_lag(struct loader *l)
{
    int64_t most = 0;
    for (unsigned i = 0; i < l->thread_count; i++) {
        int64_t lag = loader_thread_lag(&l->threads[i]);
        most = lag > most ? lag : most;
    }
    return most;
}

/* ---- all sessions of a thread ---------------------------------------------------------------- */

static void look_at_all(struct loader_thread *t)
{
    int64_t now = clock_mono();
    struct loader_queue_load held = {.since = INT64_MAX}, alone = held;
    uint64_t failing = 0, columns = 0;
    t->retried = 0;
    loader_commit_due(t, now);
    loader_end_all(t);
    for (struct row_writer **at = &t->list; *at;) {
        struct row_writer *g = *at, *next = g->next;
        if (loader_look_at(t, g, now)) {
            *at = next;
            continue;
        }
        loader_hold(g, loader_fails_alone(t, g) ? &alone : &held);
        failing += g->failures > 0;
        columns += g->open;
        at = &g->next;
    }
    loader_failing_note(t);
    atomic_store_explicit(&t->held.together, held.since, memory_order_relaxed);
    held.since = alone.since < held.since ? alone.since : held.since;
    held.sessions += alone.sessions;
    held.bytes += alone.bytes;
    atomic_store_explicit(&t->held.sessions, held.sessions, memory_order_relaxed);
    atomic_store_explicit(&t->held.failing, failing, memory_order_relaxed);
    atomic_store_explicit(&t->held.columns, columns, memory_order_relaxed);
    atomic_store_explicit(&t->held.bytes, held.bytes, memory_order_relaxed);
    atomic_store_explicit(&t->held.since, held.since, memory_order_relaxed);
    atomic_store_explicit(&t->held.taken, INT64_MAX, memory_order_release);
    t->looked = clock_mono();
}

/* Ends sessions that were silent for long, of those that the small tables call live. */
static void end_silent(struct loader *l)
{
    struct meta *m = sessions_config(l->config.sessions)->meta;
    struct region memory;
    struct meta_workspace *workspaces;
    struct meta_session *silent;
    struct timespec real;
    size_t n, count;
    clock_gettime(CLOCK_REALTIME, &real);
    int64_t since = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - l->config.silence_ns;
    region_init(&memory, LIST_MEMORY);
    const struct meta_ask ask = {m, NULL, &memory, NULL};
    int rc = meta_workspace_list(&ask, &workspaces, &n);
    for (size_t i = 0; !rc && i < n; i++) {
        rc = meta_session_silent(&(struct meta_ask){m, workspaces[i].id, &memory, NULL}, since,
                                 &silent, &count);
        for (size_t k = 0; !rc && k < count; k++)
            loader_ask_end(l, workspaces[i].id, silent[k].id, true);
    }
    region_fini(&memory);
    if (rc && rc != GPUFL_E_FULL)
        log_warn("loader: silent sessions cannot be listed: %s", err_text(rc));
}

static void slow_work(struct loader *l)
{
    int64_t now = clock_mono(), every = l->config.silence_ns / 4;
    if (now < l->slow_at)
        return;
    l->slow_at = now + (every < SLOW_NS ? every : SLOW_NS);
    if (sessions_config(l->config.sessions)->meta)
        end_silent(l);
    sessions_sweep(l->config.sessions, 2 * l->config.idle_ns);
}

static void handle(struct loader_thread *t, const struct item *i)
{
    struct row_writer *g = loader_session(t, i->s);
    if (!g && i->kind == ITEM_FRAME) {
        sessions_withhold(t->loader->config.sessions, i->s, i->frame.number);
    } else if (!g) {
        log_warn("loader: out of memory: pieces of a window wait for the next start");
    } else if (i->kind == ITEM_ABANDON) {
        row_writer_abandon(g, i->frame.body);
    } else {
        g->used = clock_mono();
        g->end_asked = false;
        loader_give(t, g, &i->frame);
    }
    sessions_put(t->loader->config.sessions, i->s);
}

static void commit_all(struct loader_thread *t)
{
    for (struct row_writer *g = t->list; g; g = g->next) {
        loader_commit(t, g);
        loader_end(t, g);
    }
}

/* A session's frames wait for another server that writes it. */
static bool waits_for_turn(const struct loader_thread *t)
{
    const struct row_writer *g = t->list;
    while (g && !(g->failures && g->turn))
        g = g->next;
    return g != NULL;
}

static void answer_drain(struct loader_thread *t)
{
    pthread_mutex_lock(&t->lock);
    bool asked = t->drain_asked != t->drain_done && !t->queue.items;
    uint64_t upto = t->drain_asked;
    pthread_mutex_unlock(&t->lock);
    if (!asked)
        return;
    commit_all(t);
    look_at_all(t);
    t->drain_waits = waits_for_turn(t);
    if (t->drain_waits)
        return;
    pthread_mutex_lock(&t->lock);
    t->drain_done = upto;
    pthread_cond_broadcast(&t->drained);
    pthread_mutex_unlock(&t->lock);
}

static void *loader_main(void *arg)
{
    struct loader_thread *t = arg;
    struct item i;
    bool stop = false;
    while (!stop) {
        if (queue_pop(t, t->looked + TICK_NS, &i, &stop))
            handle(t, &i);
        if (clock_mono() - t->looked >= TICK_NS)
            look_at_all(t);
        if (t == t->loader->threads)
            slow_work(t->loader);
        answer_drain(t);
    }
    commit_all(t);
    while (t->list) {
        struct row_writer *g = t->list;
        t->list = g->next;
        loader_session_free(t, g);
    }
    return NULL;
}

/* ---- opening, closing ------------------------------------------------------------------------ */

static int thread_init(struct loader_thread *t, struct loader *l)
{
    pthread_condattr_t attr;
    t->loader = l;
    pthread_mutex_init(&t->lock, NULL);
    atomic_init(&t->held.since, INT64_MAX);
    atomic_init(&t->held.together, INT64_MAX);
    atomic_init(&t->held.taken, INT64_MAX);
    unsigned most = l->config.open_most / l->thread_count;
    t->open_most = most > OPEN_LEAST ? most : OPEN_LEAST;
    if (pthread_condattr_init(&attr))
        return GPUFL_E_NOMEM;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->some, &attr);
    pthread_cond_init(&t->drained, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

int loader_open(struct loader **out, const struct loader_config *c, struct err *e)
{
    struct loader *l = mem_zalloc(sizeof *l);
    *out = NULL;
    if (l)
        l->aside = mem_strdup(c->aside);
    if (!l || !l->aside) {
        mem_free(l);
        return err_nomem(e);
    }
    unsigned threads = sessions_config(c->sessions)->threads;
    l->config = *c;
    l->config.commit_ns = c->commit_ns > 0 ? c->commit_ns : COMMIT_NS;
    l->config.gather_ns = c->gather_ns > 0 ? c->gather_ns : GATHER_NS;
    l->config.commit_rows = c->commit_rows ? c->commit_rows : COMMIT_ROWS;
    l->config.quiet_ns = c->quiet_ns > 0 ? c->quiet_ns : QUIET_NS;
    l->config.silence_ns = c->silence_ns > 0 ? c->silence_ns : SILENCE_NS;
    l->config.retry_ns = c->retry_ns > 0 ? c->retry_ns : RETRY_NS;
    l->config.idle_ns = c->idle_ns > 0 ? c->idle_ns : IDLE_NS;
    l->config.open_most = c->open_most ? c->open_most : OPEN_MOST;
    l->thread_count = threads < LOADER_THREADS_MAX ? threads : LOADER_THREADS_MAX;
    for (unsigned i = 0; i < l->thread_count; i++)
        if (thread_init(&l->threads[i], l)) {
            l->thread_count = i;
            loader_close(l);
            return err_nomem(e);
        }
    *out = l;
    return 0;
}

int loader_start(struct loader *l, struct journal *j, struct err *e)
{
    int rc = l->no_memory ? GPUFL_E_NOMEM : 0;
    l->journal = j;
    atomic_store_explicit(&l->started, true, memory_order_release);
    for (unsigned i = 0; !rc && i < l->thread_count; i++) {
        struct loader_thread *t = &l->threads[i];
        char name[] = "gpufl-load-a";
        name[sizeof name - 2] = (char)('a' + i);
        pthread_mutex_lock(&t->lock); /* windows from before the start will not be sealed */
        rc = loader_queue_abandon_all(&t->queue, l->config.sessions);
        pthread_mutex_unlock(&t->lock);
        t->tools.sessions = l->config.sessions;
        t->tools.journal = j;
        if (rc == 0)
            rc = journal_reader_open(&t->tools.reader, j);
        if (rc == 0)
            rc = decode_room_open(&t->tools.room);
        if (rc == 0)
            rc = thread_start(&t->thread, name, 0, loader_main, t);
    }
    return rc ? err_set(e, rc, "the loader cannot be started: %s", err_text(rc)) : 0;
}

void loader_stop(struct loader *l)
{
    for (unsigned i = 0; i < l->thread_count; i++) {
        struct loader_thread *t = &l->threads[i];
        pthread_mutex_lock(&t->lock);
        t->stop = true;
        pthread_cond_signal(&t->some);
        pthread_mutex_unlock(&t->lock);
    }
    for (unsigned i = 0; i < l->thread_count; i++)
        thread_join(&l->threads[i].thread);
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < l->thread_count; i++) {
        struct loader_thread *t = &l->threads[i];
        struct item item;
        while (loader_queue_pop(&t->queue, 0, &item))
            sessions_put(l->config.sessions, item.s);
        journal_reader_close(t->tools.reader);
        decode_room_close(t->tools.room);
        loader_failing_free(t);
        pthread_cond_destroy(&t->some);
        pthread_cond_destroy(&t->drained);
        pthread_mutex_destroy(&t->lock);
    }
    mem_free(l->aside);
    mem_free(l);
}

bool loader_drain(struct loader *l, int64_t timeout_ns)
{
    struct timespec until;
    bool done = true;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ns / 1000000000;
    until.tv_nsec += timeout_ns % 1000000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    for (unsigned i = 0; i < l->thread_count && done; i++) {
        struct loader_thread *t = &l->threads[i];
        pthread_mutex_lock(&t->lock);
        uint64_t mine = ++t->drain_asked;
        pthread_cond_signal(&t->some);
        while (t->drain_done < mine && done)
            done = pthread_cond_timedwait(&t->drained, &t->lock, &until) != ETIMEDOUT;
        pthread_mutex_unlock(&t->lock);
    }
    return done;
}

/* Adds a thread's backlog: the frames in its queue, and those in its open sessions. */
static void add_backlog(struct loader_thread *t, struct loader_stats *out)
{
    struct loader_queue_load queue = queue_load(t, NULL);
    const struct loader_held *h = &t->held;
    int64_t taken = atomic_load_explicit(&h->taken, memory_order_acquire);
    int64_t since = atomic_load_explicit(&h->since, memory_order_relaxed);
    int64_t together = atomic_load_explicit(&h->together, memory_order_relaxed);
    uint64_t sessions = queue.sessions + atomic_load_explicit(&h->sessions, memory_order_relaxed);
    since = taken < since ? taken : since;
    together = taken < together ? taken : together;
    int64_t age = age_of(since < queue.since ? since : queue.since);
    int64_t stuck = age_of(together < queue.since ? together : queue.since);
    out->backlog_sessions += sessions || taken == INT64_MAX ? sessions : 1;
    out->backlog_bytes += queue.bytes + atomic_load_explicit(&h->bytes, memory_order_relaxed);
    out->backlog_age = age > out->backlog_age ? age : out->backlog_age;
    out->stuck_age = stuck > out->stuck_age ? stuck : out->stuck_age;
    out->failing_sessions += atomic_load_explicit(&h->failing, memory_order_relaxed);
    out->columns += (unsigned)atomic_load_explicit(&h->columns, memory_order_relaxed);
}

void loader_stats(struct loader *l, struct loader_stats *out)
{
    memset(out, 0, sizeof *out);
    out->aside_sessions = aside_count(l->aside);
    out->frames = atomic_load_explicit(&l->frames, memory_order_relaxed);
    for (unsigned i = 0; i < l->thread_count; i++) {
        struct loader_thread *t = &l->threads[i];
        const struct row_writer_totals *n = &t->tools.totals;
        out->rows += atomic_load_explicit(&n->rows, memory_order_relaxed);
        out->kernels += atomic_load_explicit(&n->kernels, memory_order_relaxed);
        out->commits += atomic_load_explicit(&n->commits, memory_order_relaxed);
        out->damaged += atomic_load_explicit(&n->damaged, memory_order_relaxed);
        out->lost_frames += atomic_load_explicit(&n->lost_frames, memory_order_relaxed);
        out->retries += atomic_load_explicit(&t->retries, memory_order_relaxed);
        out->set_aside += atomic_load_explicit(&t->set_aside, memory_order_relaxed);
        out->open += atomic_load_explicit(&t->open, memory_order_relaxed);
        pthread_mutex_lock(&t->lock);
        out->waiting += t->queue.items;
        pthread_mutex_unlock(&t->lock);
        add_backlog(t, out);
    }
    out->failing_sessions += sessions_withheld(l->config.sessions);
    out->lag = loader_lag(l);
}
