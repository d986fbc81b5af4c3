/* fleet.c - hosts, GPUs and what they were used for, day by day.
 *
 * Sums are made when they are asked for, from a row for each session, GPU and day: putting a
 * session's rows again replaces them, so that nothing is ever counted twice. */
#include "meta/inside.h"

#include <stdio.h>
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

struct fleet_put {
    const struct meta_host *hosts;
    const struct meta_gpu *gpus;
    size_t host_count, gpu_count;
};

static int fleet_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct fleet_put *p = arg;
    int rc = 0;
    for (size_t i = 0; i < p->host_count && rc == 0; i++) {
        struct meta_args a = {0};
        meta_arg_row(&a, META_ROW_host, &p->hosts[i]);
        rc = meta_run(tx, META_S_host_put, &a, NULL, NULL, e);
    }
    for (size_t i = 0; i < p->gpu_count && rc == 0; i++) {
        struct meta_args a = {0};
        meta_arg_row(&a, META_ROW_gpu, &p->gpus[i]);
        rc = meta_run(tx, META_S_gpu_put, &a, NULL, NULL, e);
    }
    return rc;
}

int meta_fleet_put(struct meta *m, const char *workspace, const struct meta_host *hosts,
                   size_t host_count, const struct meta_gpu *gpus, size_t gpu_count, struct err *e)
{
    struct fleet_put p = {hosts, gpus, host_count, gpu_count};
    return meta_write(m, workspace, fleet_put, &p, e);
}

/* Cuts a page of one row more than it has to its limit, and says where the next one begins. */
static int page_cut(struct meta_page *page, size_t *count, const char *key, int64_t number,
                    struct region *mem, struct err *e)
{
    const struct meta_value v = {.kind = META_KIND_TEXT, .at = key, .len = strlen(key)};
    *count = meta_page_limit(page->limit);
    return meta_page_end(page, &v, "", number, mem, e);
}

static bool page_over(const struct meta_page *page, int rc, size_t count)
{
    return rc == 0 && count > meta_page_limit(page->limit);
}

int meta_host_list(struct meta *m, const char *workspace, struct meta_page *page,
                   struct region *mem, struct meta_host_now **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(page, META_KIND_TEXT, true, mem, &c, e);
    if (rc)
        return rc;
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(m, workspace, META_S_host_list, &a, META_ROW_host_now, mem, rows, count, e);
    return page_over(page, rc, *count)
               ? page_cut(page, count, (*rows)[meta_page_limit(page->limit) - 1].name, 0, mem, e)
               : rc;
}

int meta_host_get(struct meta *m, const char *workspace, const char *host, struct region *mem,
                  struct meta_host_now *out, struct err *e)
{
    return meta_get_by(m, workspace, META_S_host_get, META_ROW_host_now, host, mem, out, "host", e);
}

static int host_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    struct meta_args a = {0};
    int64_t changed = 0;
    meta_arg_text(&a, arg);
    int rc = meta_run(tx, META_S_host_remove, &a, NULL, &changed, e);
    if (rc == 0 && changed == 0)
        rc = err_set(e, GPUFL_E_NOENT, "no such host");
    return rc ? rc : meta_run(tx, META_S_gpu_remove_host, &a, NULL, NULL, e);
}

int meta_host_remove(struct meta *m, const char *workspace, const char *host, struct err *e)
{
    return meta_write(m, workspace, host_remove, (void *)host, e);
}

/* A GPU's place in the list: host and UUID as one text with a line break between, which neither
 * has, and its number. */
int meta_gpu_list(struct meta *m, const char *workspace, const char *host, struct meta_page *page,
                  struct region *mem, struct meta_gpu_now **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    char key[2 * META_TEXT_MAX];
    int rc = meta_page_begin(page, META_KIND_TEXT, true, mem, &c, e);
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
    rc = meta_list(m, workspace, META_S_gpu_list, &a, META_ROW_gpu_now, mem, rows, count, e);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_gpu_now *last = &(*rows)[meta_page_limit(page->limit) - 1];
    snprintf(key, sizeof key, "%s\n%s", last->host, last->uuid);
    return page_cut(page, count, key, last->number, mem, e);
}

int meta_gpu_get(struct meta *m, const char *workspace, const char *gpu, struct region *mem,
                 struct meta_gpu_now *out, struct err *e)
{
    return meta_get_by(m, workspace, META_S_gpu_get, META_ROW_gpu_now, gpu, mem, out, "GPU", e);
}

int meta_running_list(struct meta *m, const char *workspace, const char *host, const char *app,
                      const char *gpu, struct region *mem, struct meta_running **rows,
                      size_t *count, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    meta_arg_text(&a, app);
    meta_arg_text(&a, gpu);
    return meta_list(m, workspace, META_S_running_list, &a, META_ROW_running, mem, rows, count, e);
}

static int fleet_forget(struct meta_tx *tx, void *arg, struct err *e)
{
    static const int64_t day_ns = 86400000000000;
    struct meta_args seen = {0}, day = {0};
    int64_t before = *(const int64_t *)arg;
    meta_arg_int(&seen, before);
    meta_arg_int(&day, before / day_ns);
    int rc = meta_run(tx, META_S_gpu_forget, &seen, NULL, NULL, e);
    rc = rc ? rc : meta_run(tx, META_S_host_forget, &seen, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_usage_forget, &day, NULL, NULL, e);
}

int meta_fleet_forget(struct meta *m, const char *workspace, int64_t before, struct err *e)
{
    return meta_write(m, workspace, fleet_forget, &before, e);
}

/* ---- days --------------------------------------------------------------------------------- */

struct usage_put {
    const char *session;
    const struct meta_usage *rows;
    size_t count;
};

static int usage_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct usage_put *p = arg;
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

int meta_usage_put(struct meta *m, const char *workspace, const char *session,
                   const struct meta_usage *rows, size_t count, struct err *e)
{
    struct usage_put p = {session, rows, count};
    return meta_write(m, workspace, usage_put, &p, e);
}

/* The statement for `by`, and the days and the page's place as its parameters. */
static int sums_begin(struct meta_args *a, enum meta_by by, int64_t from, int64_t to,
                      struct meta_page *page, bool ascending, struct region *mem,
                      struct meta_cursor **c, struct err *e)
{
    if ((unsigned)by > META_BY_GPU)
        return err_set(e, GPUFL_E_INVAL, "days are summed by host, application or GPU");
    meta_arg_int(a, from);
    meta_arg_int(a, to);
    return meta_page_begin(page, META_KIND_TEXT, ascending, mem, c, e);
}

int meta_usage_days(struct meta *m, const char *workspace, enum meta_by by, int64_t from,
                    int64_t to, struct meta_page *page, struct region *mem,
                    struct meta_usage_sum **rows, size_t *count, struct err *e)
{
    static const enum meta_statement_id statements[] = {
        [META_BY_APP] = META_S_usage_days_app,
        [META_BY_HOST] = META_S_usage_days_host,
        [META_BY_GPU] = META_S_usage_days_gpu,
    };
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = sums_begin(&a, by, from, to, page, true, mem, &c, e);
    if (!c || rc)
        return rc;
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, c->number);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(m, workspace, statements[by], &a, META_ROW_usage_sum, mem, rows, count, e);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_usage_sum *last = &(*rows)[meta_page_limit(page->limit) - 1];
    return page_cut(page, count, last->name, last->day, mem, e);
}

int meta_fleet_sums(struct meta *m, const char *workspace, enum meta_by by, int64_t from,
                    int64_t to, struct meta_page *page, struct region *mem,
                    struct meta_fleet_sum **rows, size_t *count, struct err *e)
{
    static const enum meta_statement_id statements[] = {
        [META_BY_APP] = META_S_fleet_sums_app,
        [META_BY_HOST] = META_S_fleet_sums_host,
        [META_BY_GPU] = META_S_fleet_sums_gpu,
    };
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = sums_begin(&a, by, from, to, page, false, mem, &c, e);
    if (!c || rc)
        return rc;
    meta_arg_int(&a, c->number);
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    meta_arg_int(&a, by == META_BY_GPU); /* a finding of one GPU is that GPU's */
    rc = meta_list(m, workspace, statements[by], &a, META_ROW_fleet_sum, mem, rows, count, e);
    if (!page_over(page, rc, *count))
        return rc;
    const struct meta_fleet_sum *last = &(*rows)[meta_page_limit(page->limit) - 1];
    return page_cut(page, count, last->name, last->wall, mem, e);
}
