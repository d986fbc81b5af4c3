/* outcome.c - documents, findings, history and sums of a session; see outcome.h. */
#include "server/analysis/outcome.h"

#include "analyze/report/kernels/view.h"
#include "base/intern.h"
#include "meta/together.h"
#include "server/analysis/columns_report.h"
#include "server/analysis/gzip_doc.h"
#include "server/analysis/rollup_rows.h"
#include "server/analysis/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MEMORY = 512 << 20, /* of one session's rows for tables */
    RULES_BY_HAND = 6,  /* raised when a rule's code changes its findings, or what is stored */
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

/* ---- making ---------------------------------------------------------------------------------- */

static int64_t now_real(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t rows_of(const struct report *r)
{
    uint64_t rows = 0;
    for (int i = 0; i < RECORD_COUNT; i++)
        rows += records[i].kind == RECORD_KIND_EVENT ? r->model.facts.rows[i] : 0;
    return rows;
}

struct document_kind {
    const char *name;
    int (*make)(const struct report *, char **, size_t *);
    bool report; /* findings belong to it, and parts of it are read */
};

static const struct document_kind kinds[DOCUMENTS] = {
    {ANALYSIS_FLAME, columns_report_flame, false},
    {ANALYSIS_TIMELINE, columns_report_timeline, false},
    {ANALYSIS_DIGEST, columns_report_digest, false},
    {ANALYSIS_REPORT, columns_report_json, true},
};

static int make_document(struct outcome *o, const struct report *r,
                         const struct document_kind *kind, z_stream *z)
{
    struct document *d = &o->documents[o->document_count];
    size_t len;
    char *text;
    int rc = kind->make(r, &text, &len);
    if (rc == GPUFL_E_NOENT)
        return 0;
    d->head = (struct meta_analysis){.session = o->session,
                                     .kind = kind->name,
                                     .rules = analysis_rules(),
                                     .made = now_real(),
                                     .records = (int64_t)rows_of(r),
                                     .final = o->final,
                                     .encoding = "gzip"};
    if (rc == 0)
        rc = gzip_doc_pack(z, text, len, kind->report, &o->memory, &d->head.body);
    free(text); /* NOLINT: stdio's own */
    if (!rc && kind->report)
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

static int make_documents(struct outcome *o, const struct report *r)
{
    z_stream z;
    int rc = gzip_doc_stream(&z);
    if (rc)
        return rc;
    for (size_t i = 0; rc == 0 && i < DOCUMENTS; i++)
        rc = make_document(o, r, &kinds[i], &z);
    deflateEnd(&z);
    return rc;
}

/* A live session has usage, too: a training run of a week counts every day. */
static int make_all(struct outcome *o, const struct report *r)
{
    int rc = make_documents(o, r);
    if (rc == 0)
        rc = analysis_usage(r, &o->memory, &o->usage, &o->usage_count);
    if (rc == 0 && o->final)
        rc = analysis_rollups(r, &o->memory, &o->rollups, &o->rollup_count);
    if (rc == 0 && o->final)
        rc = analysis_history(r, o->session, &o->memory, &o->history);
    make_growth(o, r);
    return rc;
}

/* Another server may have loaded the session's end: the final report is then on its way or stored,
 * and no earlier one may be written after it. */
static bool has_ended(const struct outcome *o, struct region *memory)
{
    struct meta_session row;
    const struct meta_ask ask = {o->config->meta, o->workspace, memory, NULL};
    return !o->final && !meta_session_get(&ask, o->session, &row) &&
           strcmp(row.state, "ended") == 0;
}

bool outcome_is_late(const struct outcome *o)
{
    struct region memory;
    region_init(&memory, MEMORY);
    bool late = !o->final && (o->late || has_ended(o, &memory));
    region_fini(&memory);
    return late;
}

static int make_of(struct outcome *o, const struct report *r, struct err *e)
{
    o->late = has_ended(o, &o->memory);
    int rc = o->late ? 0 : make_all(o, r);
    return rc ? err_set(e, rc, "%s", err_text(rc)) : 0;
}

int outcome_make(struct outcome *o, const struct analysis_config *c, const char *workspace,
                 const char *session, bool final, struct err *e)
{
    struct gpufl_report_options options;
    struct store_session *ss;
    struct report r;
    *o = (struct outcome){.config = c, .workspace = workspace, .session = session, .final = final};
    region_init(&o->memory, MEMORY);
    o->final |= has_ended(o, &o->memory);
    int rc = c->ops->get(c->store, workspace, session, false, &ss, e);
    if (rc)
        return rc;
    gpufl_report_options_init(&options, sizeof options);
    options.format = GPUFL_REPORT_JSON;
    options.kernel = KERNEL_VIEW_ALL;
    options.top = OUTCOME_ROWS;
    const struct columns_place place = {c->store, workspace};
    const struct columns_source source = {c->ops, ss, &place, session, c->stop};
    rc = columns_report(&r, &source, &options, e);
    c->ops->put(ss);
    if (rc)
        return rc;
    r.bounds = (struct report_bounds){OUTCOME_CONFIGS, OUTCOME_SCOPE_KERNELS};
    rc = report_timeline_places(&r) ? err_nomem(e) : make_of(o, &r, e);
    report_close(&r);
    return rc;
}

void outcome_fini(struct outcome *o)
{
    region_fini(&o->memory);
}

/* ---- storing --------------------------------------------------------------------------------- */

struct outcomes {
    const struct outcome *const *of;
    size_t count;
};

/* Puts the history of one workspace, whose first outcome is number `first`. */
static int put_history(const struct outcomes *all, size_t first, struct err *e)
{
    const struct outcome *o = all->of[first];
    struct store_history rows[OUTCOMES_MAX];
    size_t count = 0;
    for (size_t i = first; i < all->count; i++) {
        const struct outcome *next = all->of[i];
        if (next->final && strcmp(next->workspace, o->workspace) == 0)
            rows[count++] = (struct store_history){next->session, &next->history};
    }
    return o->config->ops->put_history(o->config->store, o->workspace, rows, count, e);
}

static bool begins_workspace(const struct outcomes *all, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (all->of[i]->final && strcmp(all->of[i]->workspace, all->of[at]->workspace) == 0)
            return false;
    return all->of[at]->final;
}

static int put_one(const struct outcome *o, struct err *e)
{
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

static int put_all(void *arg, struct err *e)
{
    const struct outcomes *all = arg;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        const struct outcome *o = all->of[i];
        rc = o->late ? 0 : put_one(o, e);
        if (rc == GPUFL_E_STATE && !o->final)
            rc = 0; /* the session ended meanwhile: its first document was refused */
    }
    return rc;
}

/* Where other servers write as well, they wait for each other's sums: each session has its own
 * transaction there, so that none waits long. */
static int put_small(const struct outcomes *all, struct err *e)
{
    struct meta *m = all->of[0]->config->meta;
    const size_t step = meta_one_writer(m) ? all->count : 1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i += step) {
        struct outcomes some = {all->of + i, step};
        rc = meta_together_sums(m, put_all, &some, e);
    }
    return rc;
}

/* The session counts as analysed with its growth, which is in one transaction with all else that
 * the small tables have, after the history: a caller that waits for that finds all. A session that
 * does not is analysed again at the next start: an end of this process anywhere before leaves
 * nothing out. */
int outcomes_store(const struct outcome *const *of, size_t count, struct err *e)
{
    const struct outcomes all = {of, count};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = begins_workspace(&all, i) ? put_history(&all, i, e) : 0;
    return rc || !count ? rc : put_small(&all, e);
}
