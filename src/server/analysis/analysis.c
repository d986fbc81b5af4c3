/* analysis.c - decides which session is analysed when; see analysis.h.
 *
 * A table of the sessions that have something new, each with the time from which it
 * may be analysed: at once when it has ended, and for a live one so much later as
 * its last analysis cost, twenty times.
 *
 * Every commit of the loader is news, so a session is found by its hash. All sessions are looked
 * through only when one becomes due, or its time earlier. */
#include "server/analysis/analysis.h"

#include "analyze/report/kernel_view.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/thread.h"
#include "meta/together.h"
#include "server/analysis/columns_report.h"
#include "server/analysis/rollup_rows.h"
#include "server/analysis/rows.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define FIRST_NS   300000000
#define EVERY_NS   5000000000
#define PROMPT_NS  500000000
#define MISSING_NS 60000000000 /* between looks for sessions that lack a final report */
#define GONE_NS    600000000000
#define LARGE_CPU  100000000 /* ns of processor for a session that leaves much memory free */
#define BEHIND_NS  2000000000

enum {
    NICE = 10,
    COST_SHARE = 20, /* of a core, for one session */
    PROMPT_SHARE = 8,
    MEMORY = 512 << 20, /* of one session's rows for tables */
    MISSING_AT_ONCE = 64,
    RULES_BY_HAND = 5, /* raised when a rule's code changes its findings, or what is stored */
    BUCKETS = 1 << 12,
};

struct candidate {
    struct candidate *next;
    char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
    bool due, ended, busy; /* busy: it is being analysed */
    int64_t at;            /* CLOCK_MONOTONIC ns from which it may be */
    int64_t used;
    uint64_t rows;
};

struct analysis {
    struct analysis_config config;
    struct thread thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t some, idle;
    struct candidate *candidates[BUCKETS]; /* owned */
    _Atomic bool stop;                     /* set under the lock; read anywhere */
    int64_t missing_at;
    struct analysis_stats stats;
};

/* ---- the rules' version ---------------------------------------------------------------------- */

const char *analysis_rules(void)
{
    static _Thread_local char text[32];
    uint64_t hash = 0;
    for (size_t i = 0; i < insight_rule_count; i++)
        hash = hash * 31 + intern_hash(insight_rules[i].id, strlen(insight_rules[i].id));
    for (size_t i = 0; i < insight_limit_count; i++)
        hash = hash * 31 + (uint64_t)insight_limits[i].value;
    snprintf(text, sizeof text, "%d-%08x", RULES_BY_HAND, (unsigned)(hash >> 32 ^ hash));
    return text;
}

/* ---- one session ----------------------------------------------------------------------------- */

static int64_t now_real(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int pack(const char *text, size_t len, struct region *memory, struct meta_bytes *out)
{
    z_stream z = {0};
    size_t room = compressBound(len) + 64;
    char *bytes = region_take(memory, room);
    if (!bytes || deflateInit2(&z, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return GPUFL_E_NOMEM;
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)bytes;
    z.avail_out = (uInt)room;
    int rc = deflate(&z, Z_FINISH);
    *out = (struct meta_bytes){bytes, room - z.avail_out};
    deflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : GPUFL_E_FULL;
}

/* A document, and the findings that belong to it. */
struct document {
    struct meta_analysis head;
    struct meta_finding *findings;
    size_t count;
};

enum { DOCUMENTS = 4 };

/* The results of one session that are to be stored. */
struct outcome {
    const struct analysis_config *config;
    const char *workspace, *session;
    bool final;
    struct region memory;
    struct document documents[DOCUMENTS];
    size_t document_count;
    struct meta_usage *usage;
    struct meta_rollup_part *rollups; /* of a final one */
    size_t usage_count, rollup_count;
    struct meta_growth growth;
    bool grown; /* the growth is known */
};

static uint64_t rows_of(const struct report *r)
{
    uint64_t rows = 0;
    for (int i = 0; i < RECORD_COUNT; i++)
        rows += records[i].kind == RECORD_KIND_EVENT ? r->model.facts.rows[i] : 0;
    return rows;
}

static int make_document(struct outcome *o, const struct report *r, const char *kind,
                         int (*make)(const struct report *, char **, size_t *), bool findings)
{
    struct document *d = &o->documents[o->document_count];
    size_t len;
    char *text;
    int rc = make(r, &text, &len);
    if (rc == GPUFL_E_NOENT)
        return 0;
    d->head = (struct meta_analysis){.session = o->session,
                                     .kind = kind,
                                     .rules = analysis_rules(),
                                     .made = now_real(),
                                     .records = (int64_t)rows_of(r),
                                     .final = o->final,
                                     .encoding = "gzip"};
    if (rc == 0)
        rc = pack(text, len, &o->memory, &d->head.body);
    free(text); /* NOLINT: stdio's own */
    if (!rc && findings)
        rc = analysis_findings(r, o->session, &o->memory, &d->findings, &d->count);
    o->document_count += !rc;
    return rc;
}

static void make_growth(struct outcome *o, const struct report *r)
{
    const struct analysis_config *c = o->config;
    int64_t bytes = 0;
    o->grown = !c->ops->size(c->store, o->workspace, o->session, &bytes, NULL);
    o->growth = (struct meta_growth){.records = (int64_t)rows_of(r),
                                     .kernels = analysis_kernels(r),
                                     .bytes = bytes,
                                     .busy = analysis_busy(r)};
}

/* A live session has usage as well: a training run of a week counts every day. */
static int make_all(struct outcome *o, const struct report *r)
{
    int rc = make_document(o, r, ANALYSIS_FLAME, columns_report_flame, false);
    if (rc == 0)
        rc = make_document(o, r, ANALYSIS_TIMELINE, columns_report_timeline, false);
    if (rc == 0)
        rc = make_document(o, r, ANALYSIS_DIGEST, columns_report_digest, false);
    if (rc == 0)
        rc = make_document(o, r, ANALYSIS_REPORT, columns_report_json, true);
    if (rc == 0)
        rc = analysis_usage(r, &o->memory, &o->usage, &o->usage_count);
    if (rc == 0 && o->final)
        rc = analysis_rollups(r, &o->memory, &o->rollups, &o->rollup_count);
    make_growth(o, r);
    return rc;
}

static int put_history(struct outcome *o, const struct report *r, struct err *e)
{
    const struct analysis_config *c = o->config;
    struct store_chunk history;
    int rc = analysis_history(r, o->session, &o->memory, &history);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    return c->ops->put_history(c->store, o->workspace, o->session, &history, e);
}

/* Another server may have loaded the session's end: the final report is then on its way or stored,
 * and no earlier one may be written after it. */
static bool has_ended(struct outcome *o)
{
    struct meta_session row;
    const struct meta_ask ask = {o->config->meta, o->workspace, &o->memory, NULL};
    return !o->final && !meta_session_get(&ask, o->session, &row) &&
           strcmp(row.state, "ended") == 0;
}

static int put_all(void *arg, struct err *e)
{
    const struct outcome *o = arg;
    struct meta *m = o->config->meta;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->document_count; i++) {
        const struct document *d = &o->documents[i];
        rc = meta_analysis_put(m, o->workspace, &d->head, d->findings, d->count, e);
    }
    if (rc == 0)
        rc = meta_usage_put(m, o->workspace, o->session, o->usage, o->usage_count, e);
    if (rc == 0 && o->final)
        rc = meta_rollup_put(m, o->workspace, o->session, o->rollups, o->rollup_count, e);
    return rc || !o->grown ? rc : meta_session_grow(m, o->workspace, o->session, &o->growth, e);
}

/* The session counts as analysed with its growth, which is in one transaction with all else that
 * the small tables have, after the history: whoever waits for that finds all. A session that does
 * not is analysed again at the next start: an end of this process anywhere before leaves nothing
 * out. */
static int store_outcome(struct outcome *o, const struct report *r, struct err *e)
{
    if (has_ended(o))
        return 0;
    int rc = make_all(o, r);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    rc = o->final ? put_history(o, r, e) : 0;
    return rc ? rc : meta_together(o->config->meta, put_all, o, e);
}

int analysis_run(const struct analysis_config *c, const char *workspace, const char *session,
                 bool final, struct err *e)
{
    struct outcome o = {.config = c, .workspace = workspace, .session = session, .final = final};
    struct gpufl_report_options options;
    struct store_session *ss;
    struct report r;
    int rc = c->ops->get(c->store, workspace, session, false, &ss, e);
    if (rc)
        return rc;
    gpufl_report_options_init(&options, sizeof options);
    options.format = GPUFL_REPORT_JSON;
    options.kernel = KERNEL_VIEW_ALL;
    const struct columns_place place = {c->store, workspace};
    const struct columns_source source = {c->ops, ss, &place, session, c->stop};
    rc = columns_report(&r, &source, &options, e);
    c->ops->put(ss);
    if (rc)
        return rc;
    region_init(&o.memory, MEMORY);
    rc = report_timeline_places(&r) ? err_nomem(e) : store_outcome(&o, &r, e);
    region_fini(&o.memory);
    report_close(&r);
    return rc;
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* [lock held] NULL: out of memory. */
static struct candidate *find_candidate(struct analysis *a, const char *workspace,
                                        const char *session)
{
    uint64_t hash =
        intern_hash(workspace, strlen(workspace)) * 31 + intern_hash(session, strlen(session));
    struct candidate **at = &a->candidates[hash % BUCKETS], *s = *at;
    while (s && (strcmp(s->session, session) != 0 || strcmp(s->workspace, workspace) != 0))
        s = s->next;
    if (s || !(s = mem_zalloc(sizeof *s)))
        return s;
    snprintf(s->workspace, sizeof s->workspace, "%s", workspace);
    snprintf(s->session, sizeof s->session, "%s", session);
    s->at = clock_mono() + a->config.first_ns;
    s->next = *at;
    *at = s;
    return s;
}

void analysis_news(void *arg, const struct loader_news *n)
{
    struct analysis *a = arg;
    pthread_mutex_lock(&a->lock);
    struct candidate *s = find_candidate(a, n->workspace, n->session);
    if (s) {
        int64_t before = s->due ? s->at : INT64_MAX;
        s->due = true;
        s->ended = n->ended || (s->ended && !n->rows);
        s->rows += n->rows;
        s->used = clock_mono();
        if (n->ended)
            s->at = s->used;
        else if (!a->config.prompt && n->lag > BEHIND_NS && s->at < s->used + a->config.every_ns)
            s->at = s->used + a->config.every_ns;
        if (s->at < before)
            pthread_cond_signal(&a->some);
    }
    pthread_mutex_unlock(&a->lock);
}

/* Looks through one bucket; see next_candidate. */
static struct candidate *next_of_bucket(struct candidate **at, int64_t now, int64_t *until,
                                        struct candidate *best)
{
    while (*at) {
        struct candidate *s = *at;
        if (!s->due && (now - s->used > GONE_NS || (s->ended && now >= s->at))) {
            *at = s->next;
            mem_free(s);
            continue;
        }
        at = &s->next;
        if (!s->due)
            continue;
        if (s->at > now)
            *until = s->at < *until ? s->at : *until;
        else if (!best || (s->ended && !best->ended) ||
                 (s->ended == best->ended && s->at < best->at))
            best = s;
    }
    return best;
}

/* The session that is analysed next, of those that are due; NULL: none before *until. Forgets those
 * whose time is over: that have ended and had their report, or were silent for long. [lock held] */
static struct candidate *next_candidate(struct analysis *a, int64_t now, int64_t *until)
{
    struct candidate *best = NULL;
    *until = now + MISSING_NS;
    for (size_t i = 0; i < BUCKETS; i++)
        best = next_of_bucket(&a->candidates[i], now, until, best);
    return best;
}

/* Sessions that ended and have no final report by today's rules. */
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
        for (size_t k = 0; !rc && k < count; k++)
            analysis_news(a, &(struct loader_news){.workspace = workspaces[i].id,
                                                   .session = rows[k].id,
                                                   .ended = true});
    }
    region_fini(&memory);
}

/* Analyses one session, without the lock. */
static void analyse(struct analysis *a, struct candidate *s)
{
    const struct analysis_config *c = &a->config;
    struct store_session *ss = NULL; /* stays open from the one to the other */
    struct err e = {0};
    bool final = s->ended;
    s->due = false;
    s->busy = true;
    pthread_mutex_unlock(&a->lock);
    int64_t cpu = clock_thread_cpu();
    if (final && !c->ops->get(c->store, s->workspace, s->session, false, &ss, NULL))
        c->ops->settle(ss, NULL); /* a writer in the way: another time */
    int rc = analysis_run(c, s->workspace, s->session, final, &e);
    if (ss)
        c->ops->put(ss);
    cpu = clock_thread_cpu() - cpu;
    if (cpu > LARGE_CPU)
        malloc_trim(0); /* else what a large session took stays with this thread */
    if (rc && rc != GPUFL_E_NOENT && !a->stop)
        log_warn("session %s cannot be analysed: %s", s->session, e.text);
    if (!rc && c->made)
        c->made(c->arg, s->workspace, s->session, final);
    pthread_mutex_lock(&a->lock);
    int64_t wait = (c->prompt ? PROMPT_SHARE : COST_SHARE) * cpu;
    s->busy = false;
    if (!s->ended || final)
        s->at = clock_mono() + (wait > c->every_ns ? wait : c->every_ns);
    s->used = clock_mono();
    a->stats.reports += !rc;
    a->stats.final += !rc && final;
    a->stats.failed += rc && rc != GPUFL_E_NOENT;
    a->stats.cpu_ns += cpu;
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
        struct candidate *s = next_candidate(a, now, &until);
        if (s) {
            analyse(a, s);
            continue;
        }
        pthread_cond_broadcast(&a->idle);
        struct timespec at = {until / 1000000000, until % 1000000000};
        pthread_cond_timedwait(&a->some, &a->lock, &at);
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
    pthread_cond_destroy(&a->some);
    pthread_cond_destroy(&a->idle);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

/* [lock held] */
static unsigned count_due(const struct analysis *a)
{
    unsigned n = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct candidate *s = a->candidates[i]; s; s = s->next)
            n += s->due || s->busy;
    return n;
}

bool analysis_wait(struct analysis *a, int64_t timeout_ns)
{
    int64_t until = clock_mono() + timeout_ns;
    struct timespec at = {until / 1000000000, until % 1000000000};
    bool done = true;
    pthread_mutex_lock(&a->lock);
    while (count_due(a) && done)
        done = pthread_cond_timedwait(&a->idle, &a->lock, &at) != ETIMEDOUT;
    pthread_mutex_unlock(&a->lock);
    return done;
}

void analysis_stats(struct analysis *a, struct analysis_stats *out)
{
    pthread_mutex_lock(&a->lock);
    *out = a->stats;
    out->waiting = count_due(a);
    pthread_mutex_unlock(&a->lock);
}
