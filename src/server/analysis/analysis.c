/* analysis.c - decides which session is analysed when; see analysis.h.
 *
 * A table of the sessions that have something new, each with the time from which it
 * may be analysed: at once when it has ended, and for a live one so much later as
 * its last analysis cost, twenty times.
 *
 * Every commit of the loader is news, so a session is found by its hash (not by a struct keyed,
 * whose items move and never go). Sessions that have ended wait in a queue (ended.h): if thousands
 * wait, nobody looks through all of them for the next one. All are looked through if that queue is
 * empty, and once a second. While a burst of sessions is loaded the analysis rests (burst.h): only
 * sessions that run, and those of workspaces in which few have ended, are analysed then, with a
 * fifth of a processor at most. A local server's analysis, for which somebody waits, does not
 * rest. */
#include "server/analysis/analysis.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/process/thread.h"
#include "server/analysis/burst.h"
#include "server/analysis/ended.h"
#include "server/analysis/outcome.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_NS   300000000
#define EVERY_NS   5000000000
#define PROMPT_NS  500000000
#define MISSING_NS 60000000000 /* between looks for sessions that lack a final report */
#define GONE_NS    600000000000
#define LARGE_CPU  100000000  /* ns of processor for a session that leaves much memory free */
#define SCAN_NS    1000000000 /* between skips all sessions, while some are queued */
#define LATE_NS    2000000000
/* This is the time for which a finished report waits for others, and for one more. */
#define TOGETHER_NS 500000000

enum {
    NICE = 10,
    COST_SHARE = 20, /* of a core, for one session */
    PROMPT_SHARE = 8,
    REST_SHARE = 4, /* times what the last analysis took passes until the next in a rest */
    TOGETHER_BYTES = 16 << 20, /* of results that wait to be stored */
    LARGE_ROWS = 1 << 16,
    MISSING_AT_ONCE = 64,
    BUCKETS = 1 << 12,
};

struct candidate {
    struct ended wait; /* in the queue of those that have ended; the first member: see pop_ended */
    struct candidate *next;
    char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
    bool due, ended, busy; /* busy: it is being analysed */
    int64_t at;            /* CLOCK_MONOTONIC ns from which it may be */
    int64_t used;
    uint64_t rows;
};

/* This is a session whose results are made, or wait to be stored. */
struct turn {
    struct candidate *s;
    bool final, late; /* late: it ended meanwhile, and is analysed again */
    int64_t cpu;      /* ns */
    int rc;
    struct err e;
    struct outcome outcome;
};

struct analysis {
    struct analysis_config config;
    struct turn turns[OUTCOMES_MAX]; /* used by the analysis's thread only */
    struct thread thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t some, idle;
    struct candidate *candidates[BUCKETS]; /* owned */
    struct ended_queue ended;
    unsigned waiting; /* candidates that are due or busy */
    struct burst burst;
    int64_t live_at;   /* CLOCK_MONOTONIC ns from which a session that runs may be, in a rest */
    int64_t scanned;   /* CLOCK_MONOTONIC ns of the last pass over all */
    _Atomic bool stop; /* set under the lock; read anywhere */
    int64_t missing_at;
    struct analysis_stats stats;
};

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* Returns the candidate of a session; NULL: there is no memory. [lock held] */
static struct candidate *find_candidate(struct analysis *a, const char *workspace,
                                        const char *session)
{
    struct candidate **at = &a->candidates[hash_names(workspace, session) % BUCKETS], *s = *at;
    while (s && (strcmp(s->session, session) != 0 || strcmp(s->workspace, workspace) != 0))
        s = s->next;
    if (s || !(s = mem_zalloc(sizeof *s)))
        return s;
    snprintf(s->workspace, sizeof s->workspace, "%s", workspace);
    snprintf(s->session, sizeof s->session, "%s", session);
    s->wait.workspace = s->workspace;
    s->at = clock_mono() + a->config.first_ns;
    s->next = *at;
    *at = s;
    return s;
}

/* [lock held] */
static void set_state(struct analysis *a, struct candidate *s, bool due, bool busy)
{
    a->waiting -= s->due || s->busy;
    s->due = due;
    s->busy = busy;
    a->waiting += s->due || s->busy;
}

/* Returns the next of those that ended and is due; NULL: none is queued. [lock held] */
static struct candidate *pop_ended(struct analysis *a, int64_t now)
{
    struct ended *next;
    while ((next = ended_pop(&a->ended))) {
        struct candidate *s = (struct candidate *)next; /* its first member */
        if (s->due && s->ended && !s->busy && s->at <= now)
            return s;
    }
    return NULL;
}

/* [lock held] */
static void take_news(struct analysis *a, const struct loader_news *n)
{
    struct candidate *s = n->counts_only ? NULL : find_candidate(a, n->workspace, n->session);
    if (s) {
        int64_t before = s->due ? s->at : INT64_MAX;
        set_state(a, s, true, s->busy);
        s->ended = n->ended || (s->ended && !n->rows);
        s->rows += n->rows;
        s->used = clock_mono();
        if (n->ended) {
            s->at = s->used;
            (void)ended_push(&a->ended, &s->wait, false); /* else all are looked through */
        } else if (!a->config.prompt && n->lag > LATE_NS && s->at < s->used + a->config.every_ns) {
            s->at = s->used + a->config.every_ns;
        }
        if (s->at < before && !a->stats.resting)
            pthread_cond_signal(&a->some);
    }
}

void analysis_news(void *arg, const struct loader_news *n)
{
    struct analysis *a = arg;
    pthread_mutex_lock(&a->lock);
    take_news(a, n);
    if (n->ended)
        burst_note(&a->burst, clock_mono());
    pthread_mutex_unlock(&a->lock);
}

/* Returns true if the session is not analysed in a rest: its workspace has a burst of ended
 * ones. */
static bool rests(const struct analysis *a, const struct candidate *s)
{
    return s->ended && ended_of(&a->ended, s->workspace) >= BURST_SESSIONS;
}

/* Searches one bucket; see next_candidate. resting: in a rest. */
static struct candidate *next_of_bucket(struct analysis *a, struct candidate **at, int64_t now,
                                        bool resting, int64_t *until, struct candidate *best)
{
    while (*at) {
        struct candidate *s = *at;
        if (!s->due && !s->busy && !s->wait.queued &&
            (now - s->used > GONE_NS || (s->ended && now >= s->at))) {
            *at = s->next;
            mem_free(s);
            continue;
        }
        at = &s->next;
        if (!s->due || s->busy || (resting && rests(a, s)))
            continue;
        if (s->at > now)
            *until = s->at < *until ? s->at : *until;
        else if (!best || (s->ended && !best->ended) ||
                 (s->ended == best->ended && s->at < best->at))
            best = s;
    }
    return best;
}

/* Returns the session that is analysed next, of those that are due; NULL: none before *until.
 * Forgets sessions that have ended and have their report, or that were silent for long. [lock
 * held] */
static struct candidate *next_candidate(struct analysis *a, int64_t now, int64_t *until)
{
    struct candidate *best = now - a->scanned < SCAN_NS ? pop_ended(a, now) : NULL;
    *until = now + MISSING_NS;
    if (best)
        return best;
    a->scanned = now;
    for (size_t i = 0; i < BUCKETS; i++)
        best = next_of_bucket(a, &a->candidates[i], now, false, until, best);
    return best;
}

/* Returns the session that is analysed next while others rest; NULL: none before *until, which
 * comes no later than before. [lock held] */
static struct candidate *next_in_rest(struct analysis *a, int64_t now, int64_t *until)
{
    struct candidate *best = NULL;
    if (a->live_at > now) {
        *until = a->live_at < *until ? a->live_at : *until;
        return NULL;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        best = next_of_bucket(a, &a->candidates[i], now, true, until, best);
    return best;
}

/* Adds sessions that have ended and have no final report by the present rules. */
static void add_missing(struct analysis *a)
{
    struct region memory;
    struct meta_workspace *workspaces;
    struct meta_session *rows;
    size_t n, count;
    region_init(&memory, 16 << 20);
    const struct meta_ask ask = {a->config.meta, NULL, &memory, NULL};
    int rc = meta_workspace_list(&ask, &workspaces, &n);
    for (size_t i = 0; !rc && i < n; i++) {
        rc = meta_analysis_missing(
            &(struct meta_ask){a->config.meta, workspaces[i].id, &memory, NULL}, ANALYSIS_REPORT,
            analysis_rules(), MISSING_AT_ONCE, &rows, &count);
        pthread_mutex_lock(&a->lock);
        for (size_t k = 0; !rc && k < count; k++)
            take_news(a, &(struct loader_news){
                             .workspace = workspaces[i].id, .session = rows[k].id, .ended = true});
        pthread_mutex_unlock(&a->lock);
    }
    region_fini(&memory);
}

/* Makes a session's outcome. [lock released] */
static void make_turn(struct analysis *a, struct turn *t)
{
    const struct analysis_config *c = &a->config;
    const struct candidate *s = t->s;
    struct store_session *ss = NULL; /* stays open from the analysis to settle */
    int64_t cpu = clock_thread_cpu();
    if (t->final && !c->ops->get(c->store, s->workspace, s->session, false, &ss, NULL))
        c->ops->settle(ss, NULL); /* a writer has it: another time */
    t->e = (struct err){0};
    t->rc = outcome_make(&t->outcome, c, s->workspace, s->session, t->final, &t->e);
    t->final = t->outcome.final;
    if (ss)
        c->ops->put(ss);
    t->cpu = clock_thread_cpu() - cpu;
    if (t->cpu > LARGE_CPU)
        malloc_trim(0); /* else the memory of a large session stays with this thread */
}

/* Stores the outcomes together; if that fails, one by one, so that a session that cannot be stored
 * does not prevent the others. [lock released] */
static void store_turns(struct analysis *a, size_t count)
{
    const struct outcome *made[OUTCOMES_MAX];
    size_t n = 0;
    int64_t cpu = clock_thread_cpu();
    for (size_t i = 0; i < count; i++)
        if (!a->turns[i].rc)
            made[n++] = &a->turns[i].outcome;
    bool alone = n < 2 || outcomes_store(made, n, NULL);
    for (size_t i = 0; i < count; i++) {
        struct turn *t = &a->turns[i];
        const struct outcome *one = &t->outcome;
        if (alone && !t->rc)
            t->rc = outcomes_store(&one, 1, &t->e);
        t->late = !t->rc && outcome_is_late(one);
        outcome_fini(&t->outcome);
    }
    cpu = clock_thread_cpu() - cpu;
    for (size_t i = 0; i < count; i++)
        a->turns[i].cpu += cpu / (int64_t)count;
}

static void report_turn(const struct analysis *a, const struct turn *t)
{
    const struct analysis_config *c = &a->config;
    if (t->rc && t->rc != GPUFL_E_NOENT && !a->stop)
        log_warn("session %s cannot be analysed: %s", t->s->session, t->e.text);
    if (!t->rc && c->made)
        c->made(c->arg, t->s->workspace, t->s->session, t->final);
}

/* [lock held] */
static void end_turn(struct analysis *a, const struct turn *t)
{
    const struct analysis_config *c = &a->config;
    struct candidate *s = t->s;
    int64_t wait = (c->prompt ? PROMPT_SHARE : COST_SHARE) * t->cpu;
    set_state(a, s, s->due || t->late, false);
    if (t->late)
        s->at = clock_mono();
    else if (!s->ended || t->final)
        s->at = clock_mono() + (wait > c->every_ns ? wait : c->every_ns);
    s->used = clock_mono();
    a->stats.reports += !t->rc;
    a->stats.final += !t->rc && t->final;
    a->stats.failed += t->rc && t->rc != GPUFL_E_NOENT;
    a->stats.cpu_ns += t->cpu;
}

/* Returns true if a session's outcome may wait for those of others, and they for it. */
static bool waits(const struct candidate *s)
{
    return s->ended && s->rows < LARGE_ROWS;
}

/* Analyses a session, and with it the next ones that are due if all of them have ended and are
 * small; alone: no others. [lock held; released meanwhile] */
static void analyse(struct analysis *a, struct candidate *s, bool alone)
{
    const int64_t end = clock_mono() + TOGETHER_NS;
    int64_t until;
    size_t count = 0, memory = 0;
    bool more;
    do {
        struct turn *t = &a->turns[count++];
        more = !alone && waits(s);
        t->s = s;
        t->final = s->ended;
        set_state(a, s, false, true);
        pthread_mutex_unlock(&a->lock);
        make_turn(a, t);
        memory += t->outcome.memory.used;
        pthread_mutex_lock(&a->lock);
        more = more && count < OUTCOMES_MAX && memory < TOGETHER_BYTES && !a->stop;
        more = more && clock_mono() < end && (s = next_candidate(a, clock_mono(), &until)) != NULL;
    } while (more && waits(s));
    if (more && s->ended)
        (void)ended_push(&a->ended, &s->wait, true); /* a large one: with the next group */
    pthread_mutex_unlock(&a->lock);
    store_turns(a, count);
    for (size_t i = 0; i < count; i++)
        report_turn(a, &a->turns[i]);
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < count; i++)
        end_turn(a, &a->turns[i]);
}

/* Waits until something is due, or the time has come. [lock held; released meanwhile] */
static void wait_until(struct analysis *a, int64_t until)
{
    struct timespec at = {until / 1000000000, until % 1000000000};
    pthread_cond_timedwait(&a->some, &a->lock, &at);
}

/* Analyses a session that does not rest, or waits if there is none. [lock held; released
 * meanwhile] */
static void rest_until(struct analysis *a, int64_t now, int64_t until)
{
    struct candidate *s = next_in_rest(a, now, &until);
    if (!s) {
        wait_until(a, until);
        return;
    }
    int64_t cpu = a->stats.cpu_ns;
    analyse(a, s, true);
    cpu = a->stats.cpu_ns - cpu;
    a->live_at = clock_mono() + REST_SHARE * cpu;
}

static void *analysis_main(void *arg)
{
    struct analysis *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        int64_t now = clock_mono(), until;
        if (now >= a->missing_at) {
            a->missing_at = now + MISSING_NS;
            pthread_mutex_unlock(&a->lock);
            add_missing(a);
            pthread_mutex_lock(&a->lock);
            continue;
        }
        int64_t rest = a->config.prompt ? 0 : burst_rest(&a->burst, a->ended.count, now);
        a->stats.resting = rest > 0;
        if (rest) {
            rest_until(a, now, rest);
            continue;
        }
        struct candidate *s = next_candidate(a, now, &until);
        if (s) {
            analyse(a, s, false);
            continue;
        }
        pthread_cond_broadcast(&a->idle);
        wait_until(a, until);
    }
    pthread_cond_broadcast(&a->idle);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- opening, closing, waiting --------------------------------------------------------------- */

int analysis_open(struct analysis **out, const struct analysis_config *c, struct err *e)
{
    pthread_condattr_t attr;
    struct analysis *a = mem_zalloc(sizeof *a);
    *out = NULL;
    if (!a || pthread_condattr_init(&attr)) {
        mem_free(a);
        return err_nomem(e);
    }
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->some, &attr);
    pthread_cond_init(&a->idle, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&a->lock, NULL);
    a->config = *c;
    a->config.stop = &a->stop;
    a->config.first_ns = c->first_ns > 0 ? c->first_ns : c->prompt ? 0 : FIRST_NS;
    a->config.every_ns = c->every_ns > 0 ? c->every_ns : c->prompt ? PROMPT_NS : EVERY_NS;
    int rc = thread_start(&a->thread, "gpufl-analyse", c->prompt ? 0 : NICE, analysis_main, a);
    if (rc) {
        analysis_close(a);
        return err_set(e, rc, "the analysis cannot be started: %s", err_text(rc));
    }
    *out = a;
    return 0;
}

void analysis_close(struct analysis *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->some);
    pthread_mutex_unlock(&a->lock);
    thread_join(&a->thread);
    for (size_t i = 0; i < BUCKETS; i++)
        while (a->candidates[i]) {
            struct candidate *s = a->candidates[i];
            a->candidates[i] = s->next;
            mem_free(s);
        }
    ended_fini(&a->ended);
    pthread_cond_destroy(&a->some);
    pthread_cond_destroy(&a->idle);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

bool analysis_wait(struct analysis *a, int64_t timeout_ns)
{
    int64_t until = clock_mono() + timeout_ns;
    struct timespec at = {until / 1000000000, until % 1000000000};
    bool done = true;
    pthread_mutex_lock(&a->lock);
    while (a->waiting && done)
        done = pthread_cond_timedwait(&a->idle, &a->lock, &at) != ETIMEDOUT;
    pthread_mutex_unlock(&a->lock);
    return done;
}

void analysis_stats(struct analysis *a, struct analysis_stats *out)
{
    pthread_mutex_lock(&a->lock);
    *out = a->stats;
    out->waiting = a->waiting;
    pthread_mutex_unlock(&a->lock);
}
