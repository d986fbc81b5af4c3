/* fleet.c - keeps hosts, GPUs and their usage by day.
 *
 * A session has a row for each GPU and day: storing its rows again replaces them, so that nothing
 * is counted twice. Sums are read from the stored sums by day and span (fleet_days.h). */
#include "meta/fleet_days.h"
#include "meta/usage_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int meta_host_put(struct meta *m, const char *workspace, const struct meta_host *h, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_host, h);
    return meta_change(m, workspace, META_S_host_put, &a, NULL, e);
}

int meta_gpu_put(struct meta *m, const char *workspace, const struct meta_gpu *g, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_gpu, g);
    return meta_change(m, workspace, META_S_gpu_put, &a, NULL, e);
}

/* This is a host or GPU whose state is being written. */
struct stored {
    const struct meta_fleet_state *of;
    bool gpu;
    size_t i;
};

static int visit_stored(void *arg, const struct meta_value *cells, unsigned n)
{
    const struct stored *s = arg;
    char text[META_TEXT_MAX];
    (void)n;
    snprintf(text, sizeof text, "%.*s", (int)cells[0].len, cells[0].len ? cells[0].at : "");
    s->of->stored(s->of->arg, s->gpu, s->i, text, cells[1].i, cells[2].i);
    return 0;
}

static int ask_stored(struct meta_tx *tx, struct stored *s, enum meta_statement_id what,
                      const char *name, struct err *e)
{
    struct meta_args a = {0};
    const struct meta_reader reader = {visit_stored, s};
    if (!s->of->stored)
        return 0;
    meta_arg_text(&a, name);
    return meta_run(tx, what, &a, &reader, NULL, e);
}

static int fleet_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_fleet_state *p = arg;
    struct stored s = {.of = p};
    int rc = 0;
    for (s.i = 0; s.i < p->host_count && rc == 0; s.i++) {
        struct meta_args a = {0};
        rc = ask_stored(tx, &s, META_S_host_state, p->hosts[s.i].name, e);
        meta_arg_row(&a, META_ROW_host, &p->hosts[s.i]);
        rc = rc ? rc : meta_run(tx, META_S_host_put, &a, NULL, NULL, e);
    }
    s.gpu = true;
    for (s.i = 0; s.i < p->gpu_count && rc == 0; s.i++) {
        struct meta_args a = {0};
        rc = ask_stored(tx, &s, META_S_gpu_state, p->gpus[s.i].uuid, e);
        meta_arg_row(&a, META_ROW_gpu, &p->gpus[s.i]);
        rc = rc ? rc : meta_run(tx, META_S_gpu_put, &a, NULL, NULL, e);
    }
    return rc;
}

int meta_fleet_put(struct meta *m, const char *workspace, const struct meta_fleet_state *state,
                   struct err *e)
{
    return meta_write(m, workspace, fleet_put, (void *)state, e);
}

/* Reduces a page that has one row more than its limit, and sets where the next page begins. */
static int page_cut(const struct meta_ask *ask, struct meta_page *page, size_t *count,
                    const char *key, int64_t number)
{
    const struct meta_value v = {.kind = META_KIND_TEXT, .at = key, .len = strlen(key)};
    *count = meta_page_limit(page->limit);
    return meta_page_end(ask, page, &v, "", number);
}

static bool page_over(const struct meta_page *page, int rc, size_t count)
{
    return rc == 0 && count > meta_page_limit(page->limit);
}

int meta_host_list(const struct meta_ask *ask, struct meta_page *page, struct meta_host_now **rows,
                   size_t *count)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(ask, page, META_KIND_TEXT, true, &c);
    if (rc)
        return rc;
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(ask, META_S_host_list, &a, META_ROW_host_now, rows, count);
    return page_over(page, rc, *count)
               ? page_cut(ask, page, count, (*rows)[meta_page_limit(page->limit) - 1].name, 0)
               : rc;
}

int meta_host_get(const struct meta_ask *ask, const char *host, struct meta_host_now *out)
{
    return meta_get_by(ask, META_S_host_get, META_ROW_host_now, host, out, "host");
}

static int host_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, arg);
    int rc = meta_run_one(tx, META_S_host_remove, &a, "host", e);
    return rc ? rc : meta_run(tx, META_S_gpu_remove_host, &a, NULL, NULL, e);
}

int meta_host_remove(struct meta *m, const char *workspace, const char *host, struct err *e)
{
    return meta_write(m, workspace, host_remove, (void *)host, e);
}

/* A GPU's position in the list is its host and UUID as one text with a line break between, which
 * neither contains, and its number. */
int meta_gpu_list(const struct meta_ask *ask, const char *host, struct meta_page *page,
                  struct meta_gpu_now **rows, size_t *count)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    char key[2 * META_TEXT_MAX];
    int rc = meta_page_begin(ask, page, META_KIND_TEXT, true, &c);
    if (rc)
        return rc;
    char *uuid = strchr(c->text, '\n');
    if (uuid)
        *uuid++ = '\0';
    meta_arg_text(&a, host);
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, c->number);
    meta_arg_text(&a, uuid ? uuid : "");
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(ask, META_S_gpu_list, &a, META_ROW_gpu_now, rows, count);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_gpu_now *last = &(*rows)[meta_page_limit(page->limit) - 1];
    snprintf(key, sizeof key, "%s\n%s", last->host, last->uuid);
    return page_cut(ask, page, count, key, last->number);
}

int meta_gpu_get(const struct meta_ask *ask, const char *gpu, struct meta_gpu_now *out)
{
    return meta_get_by(ask, META_S_gpu_get, META_ROW_gpu_now, gpu, out, "GPU");
}

int meta_running_list(const struct meta_ask *ask, const char *host, const char *app,
                      const char *gpu, struct meta_running **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    meta_arg_text(&a, app);
    meta_arg_text(&a, gpu);
    return meta_list(ask, META_S_running_list, &a, META_ROW_running, rows, count);
}

static int fleet_forget(struct meta_tx *tx, void *arg, struct err *e)
{
    static const int64_t day_ns = 86400000000000;
    struct meta_args seen = {0};
    int64_t before = *(const int64_t *)arg;
    meta_arg_int(&seen, before);
    int rc = meta_run(tx, META_S_gpu_forget, &seen, NULL, NULL, e);
    if (rc || (rc = meta_run(tx, META_S_host_forget, &seen, NULL, NULL, e)))
        return rc;
    rc = meta_fleet_days_forget(tx, before / day_ns, e);
    return rc ? rc : meta_rollup_forget(tx, before / day_ns, e);
}

int meta_fleet_forget(struct meta *m, const char *workspace, int64_t before, struct err *e)
{
    return meta_write_sums(m, workspace, fleet_forget, &before, e);
}

/* ---- days --------------------------------------------------------------------------------- */

struct usage_put {
    const char *session;
    const struct meta_usage *rows;
    size_t count;
};

static int usage_order(const void *a, const void *b)
{
    const struct meta_usage *u = a, *v = b;
    return u->day != v->day ? (u->day > v->day) - (u->day < v->day)
                            : strcmp(meta_fleet_text(u->gpu), meta_fleet_text(v->gpu));
}

/* Returns true if the rows are equal to the stored rows, which are sorted here. */
static bool same_usage(struct meta_usage *had, const struct usage_put *p, size_t had_count)
{
    if (had_count != p->count)
        return false;
    if (had_count)
        qsort(had, had_count, sizeof *had, usage_order);
    for (size_t i = 0; i < p->count; i++) {
        const struct meta_usage *u = &p->rows[i];
        const struct meta_usage *v = bsearch(u, had, had_count, sizeof *had, usage_order);
        if (!v || strcmp(meta_fleet_text(u->host), v->host) != 0 ||
            strcmp(meta_fleet_text(u->app), v->app) != 0 || u->wall != v->wall ||
            u->busy != v->busy || u->kernels != v->kernels || u->sampled != v->sampled ||
            u->utilized != v->utilized || u->energy != v->energy)
            return false;
    }
    return true;
}

static int usage_replace(struct meta_tx *tx, const struct usage_put *p, struct err *e)
{
    struct meta_args clear = {0};
    meta_arg_text(&clear, p->session);
    int rc = meta_run(tx, META_S_usage_clear, &clear, NULL, NULL, e);
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        struct meta_args a = {0};
        meta_arg_text(&a, p->session);
        meta_arg_row(&a, META_ROW_usage, &p->rows[i]);
        rc = meta_run(tx, META_S_usage_add, &a, NULL, NULL, e);
    }
    return rc;
}

static int usage_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct usage_put *p = arg;
    struct meta_fleet_change c = {.session = p->session, .has = p->rows, .has_count = p->count};
    struct meta_usage *had = NULL;
    struct region mem;
    region_init(&mem, META_FLEET_MEMORY);
    int rc = meta_fleet_usage(tx, p->session, &mem, &had, &c.had_count, e);
    c.had = had;
    if (rc == 0 && !same_usage(had, p, c.had_count)) {
        rc = usage_replace(tx, p, e);
        rc = rc ? rc : meta_fleet_change(tx, &c, &mem, e);
    }
    region_fini(&mem);
    return rc;
}

int meta_usage_put(struct meta *m, const char *workspace, const char *session,
                   const struct meta_usage *rows, size_t count, struct err *e)
{
    struct usage_put p = {session, rows, count};
    return meta_write_sums(m, workspace, usage_put, &p, e);
}

/* Adds the days and the page's position to the parameters of a statement. */
static int sums_begin(const struct meta_ask *ask, const struct meta_days *days,
                      struct meta_page *page, bool ascending, struct meta_args *a,
                      struct meta_cursor **c)
{
    meta_arg_int(a, days->from);
    meta_arg_int(a, days->to);
    return meta_page_begin(ask, page, META_KIND_TEXT, ascending, c);
}

/* This is greater than every name: U+10FFFF twice. */
static const char last_name[] = "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf";

/* This is a question about usage by day. */
struct usage_ask {
    enum meta_statement_id statement;
    const struct meta_days *days;
    const struct meta_usage_of *of;
};

static int usage_list(const struct meta_ask *ask, const struct usage_ask *u, struct meta_page *page,
                      struct meta_usage_sum **rows, size_t *count)
{
    const char *name = u->days->name;
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = sums_begin(ask, u->days, page, true, &a, &c);
    if (!c || rc)
        return rc;
    meta_arg_text(&a, name && !*c->text ? name : c->text);
    meta_arg_int(&a, c->number);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    meta_arg_text(&a, name ? name : "");
    meta_arg_text(&a, name ? name : last_name);
    if (u->of->app)
        meta_arg_text(&a, u->of->app);
    if (u->of->host)
        meta_arg_text(&a, u->of->host);
    rc = meta_list(ask, u->statement, &a, META_ROW_usage_sum, rows, count);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_usage_sum *last = &(*rows)[meta_page_limit(page->limit) - 1];
    return page_cut(ask, page, count, last->name, last->day);
}

int meta_usage_days(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_usage_sum **rows, size_t *count)
{
    static const enum meta_statement_id statements[] = {
        [META_BY_APP] = META_S_usage_days_app,
        [META_BY_HOST] = META_S_usage_days_host,
        [META_BY_GPU] = META_S_usage_days_gpu,
        [META_BY_DAY] = META_S_usage_days,
    };
    if (days->by != META_BY_DAY && (unsigned)days->by > META_BY_GPU)
        return err_set(ask->e, GPUFL_E_INVAL,
                       "days are summed by host, application or GPU, or as a whole");
    const struct usage_ask u = {statements[days->by], days, &(struct meta_usage_of){0}};
    return usage_list(ask, &u, page, rows, count);
}

int meta_usage_gpus(const struct meta_ask *ask, const struct meta_days *days,
                    const struct meta_usage_of *of, struct meta_page *page,
                    struct meta_usage_sum **rows, size_t *count)
{
    if (days->by != META_BY_GPU || (!of->app && !of->host))
        return err_set(ask->e, GPUFL_E_INVAL,
                       "only GPUs can be asked for by an application or a host");
    enum meta_statement_id statement = !of->host  ? META_S_usage_gpus_of_app
                                       : !of->app ? META_S_usage_gpus_of_host
                                                  : META_S_usage_gpus_of_both;
    const struct usage_ask u = {statement, days, of};
    return usage_list(ask, &u, page, rows, count);
}

int meta_fleet_sums(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_fleet_sum **rows, size_t *count)
{
    static const enum meta_statement_id statements[] = {
        [META_BY_APP] = META_S_fleet_sums_app,
        [META_BY_HOST] = META_S_fleet_sums_host,
        [META_BY_GPU] = META_S_fleet_sums_gpu,
    };
    const struct meta_spans spans = meta_spans_in(days->from, days->to);
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    if ((unsigned)days->by > META_BY_GPU)
        return err_set(ask->e, GPUFL_E_INVAL, "days are summed by host, application or GPU");
    int rc = sums_begin(ask, days, page, false, &a, &c);
    if (!c || rc)
        return rc;
    meta_arg_int(&a, c->number);
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    meta_arg_int(&a, spans.first);
    meta_arg_int(&a, spans.last);
    meta_arg_int(&a, spans.before);
    meta_arg_int(&a, spans.after);
    if (days->by != META_BY_GPU)
        meta_arg_gpu_spans(&a, days->from, days->to);
    rc = meta_list(ask, statements[days->by], &a, META_ROW_fleet_sum, rows, count);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_fleet_sum *last = &(*rows)[meta_page_limit(page->limit) - 1];
    return page_cut(ask, page, count, last->name, last->wall);
}
