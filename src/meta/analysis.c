/* analysis.c - keeps the documents that the analysis of a session produced, and its findings as
 * rows, so that findings of many sessions can be searched.
 *
 * The number of findings and the worst finding are also in the sums of the fleet (fleet_days.h). */
#include "meta/fleet_days.h"

#include <string.h>

struct put {
    const struct meta_analysis *a;
    const struct meta_finding *findings;
    size_t count;
};

static int findings_put(struct meta_tx *tx, const struct put *p, struct err *e)
{
    struct meta_args clear = {0};
    meta_arg_text(&clear, p->a->session);
    int rc = meta_run(tx, META_S_finding_clear, &clear, NULL, NULL, e);
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        struct meta_finding f = p->findings[i];
        struct meta_args a = {0};
        f.session = p->a->session;
        f.number = (int64_t)i;
        meta_arg_row(&a, META_ROW_finding, &f);
        rc = meta_run(tx, META_S_finding_add, &a, NULL, NULL, e);
    }
    return rc ? rc : meta_fleet_findings(tx, p->a->session, e);
}

/* Returns true if another server has meanwhile loaded the end of the session and stored its last
 * document.
 */
static int is_late(struct meta_tx *tx, const struct meta_analysis *a, struct err *e)
{
    struct meta_args of = {0};
    int64_t ended = 0;
    meta_arg_text(&of, a->session);
    int rc = a->final ? 0 : meta_number_tx(tx, META_S_session_has_ended, &of, &ended, e);
    if (rc == 0 && ended)
        rc = err_set(e, GPUFL_E_STATE, "the session has ended, and this is not its last document");
    return rc;
}

static int analysis_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct put *p = arg;
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_analysis, p->a);
    int rc = is_late(tx, p->a, e);
    rc = rc ? rc : meta_run(tx, META_S_analysis_put, &a, NULL, NULL, e);
    return rc || !p->findings ? rc : findings_put(tx, p, e);
}

int meta_analysis_put(struct meta *m, const char *workspace, const struct meta_analysis *a,
                      const struct meta_finding *findings, size_t count, struct err *e)
{
    struct put p = {a, findings, count};
    if (count > META_FINDINGS_MAX)
        return err_set(e, GPUFL_E_INVAL, "a session has at most %d findings", META_FINDINGS_MAX);
    return (findings ? meta_write_sums : meta_write)(m, workspace, analysis_put, &p, e);
}

static struct meta_args of_kind(const char *session, const char *kind)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    meta_arg_text(&a, kind);
    return a;
}

int meta_analysis_get(const struct meta_ask *ask, const char *session, const char *kind,
                      struct meta_analysis *out)
{
    const struct meta_part part = {META_ROW_analysis, out};
    const struct meta_args a = of_kind(session, kind);
    return meta_get(ask, META_S_analysis_get, &a, &part, 1, "document");
}

int meta_analysis_head(const struct meta_ask *ask, const char *session, const char *kind,
                       struct meta_analysis_head *out)
{
    const struct meta_part part = {META_ROW_analysis_head, out};
    const struct meta_args a = of_kind(session, kind);
    return meta_get(ask, META_S_analysis_head, &a, &part, 1, "document");
}

int meta_analysis_missing(const struct meta_ask *ask, const char *kind, const char *rules,
                          unsigned limit, struct meta_session **rows, size_t *count)
{
    struct meta_args a = of_kind(kind, rules);
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_list(ask, META_S_analysis_missing, &a, META_ROW_session, rows, count);
}

int meta_finding_list(const struct meta_ask *ask, const char *session, struct meta_finding **rows,
                      size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    return meta_list(ask, META_S_finding_list, &a, META_ROW_finding, rows, count);
}

/* Returns the order of META_S_finding_search as a number: by severity, then by gives_back. */
static int64_t weight(const struct meta_found *f)
{
    const int64_t each = 1ll << 60;
    return f->severity * each + (f->gives_back < each ? f->gives_back : each - 1);
}

int64_t meta_some_sessions = 8192;

/* Sets *few if fewer than meta_some_sessions of an application or host are asked for. */
static int are_few(const struct meta_ask *ask, enum meta_statement_id s, const char *name,
                   const struct meta_finding_query *q, bool *few)
{
    struct meta_args a = {0};
    int64_t count = meta_some_sessions;
    *few = false;
    if (!name)
        return 0;
    meta_arg_text(&a, name);
    meta_arg_int(&a, q->from);
    meta_arg_int(&a, q->to ? q->to : INT64_MAX);
    meta_arg_int(&a, meta_some_sessions);
    int rc = meta_number(ask->m, ask->workspace, s, &a, &count, ask->e);
    *few = count < meta_some_sessions;
    return rc;
}

/* Chooses how findings are searched: few sessions are read one by one. Of many sessions most pages
 * are full before all findings were read in their order. */
static int search_by(const struct meta_ask *ask, const struct meta_finding_query *q,
                     enum meta_statement_id *s)
{
    bool few;
    *s = META_S_finding_search_app;
    int rc = are_few(ask, META_S_session_some_app, q->app, q, &few);
    if (!rc && !few) {
        *s = META_S_finding_search_host;
        rc = are_few(ask, META_S_session_some_host, q->host, q, &few);
    }
    if (!few)
        *s = META_S_finding_search;
    return rc;
}

int meta_finding_search(const struct meta_ask *ask, const struct meta_finding_query *q,
                        struct meta_page *page, struct meta_found **rows, size_t *count)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    enum meta_statement_id by;
    int rc = meta_page_begin(ask, page, META_KIND_INT, false, &c);
    rc = rc ? rc : search_by(ask, q, &by);
    if (rc)
        return rc;
    meta_arg_text(&a, q->rule);
    meta_arg_text(&a, q->app);
    meta_arg_text(&a, q->host);
    meta_arg_text(&a, q->file);
    meta_arg_text(&a, q->kernel && *q->kernel ? q->kernel : NULL);
    meta_arg_int(&a, q->severity);
    meta_arg_int(&a, q->from);
    meta_arg_int(&a, q->to ? q->to : INT64_MAX);
    meta_arg_int(&a, c->key.i);
    meta_arg_text(&a, c->id);
    meta_arg_int(&a, c->number);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(ask, by, &a, META_ROW_found, rows, count);
    if (rc || !meta_page_more(page, count))
        return rc;
    const struct meta_found *last = &(*rows)[*count - 1];
    const struct meta_value key = {.kind = META_KIND_INT, .i = weight(last)};
    return meta_page_end(ask, page, &key, last->session, last->number);
}
