/* alerts.c - rules that watch, the times for which their conditions held, and the posts that
 * tell of it. At most one firing is open for a rule and a subject; an index sees to it. */
#include "meta/inside.h"

#include <string.h>

/* ---- rules -------------------------------------------------------------------------------- */

static int alert_change(struct meta_tx *tx, const struct meta_alert *r, int64_t *changed,
                        struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, r->id);
    meta_arg_text(&a, r->name ? r->name : "");
    meta_arg_int(&a, r->enabled);
    meta_arg_text(&a, r->kind ? r->kind : "");
    meta_arg_text(&a, r->subject ? r->subject : "");
    meta_arg_int(&a, r->above);
    meta_arg_real(&a, r->threshold);
    meta_arg_int(&a, r->hold);
    meta_arg_text(&a, r->host ? r->host : "");
    meta_arg_text(&a, r->app ? r->app : "");
    meta_arg_text(&a, r->url ? r->url : "");
    meta_arg_text(&a, r->secret);
    return meta_run(tx, META_S_alert_change, &a, NULL, changed, e);
}

static int alert_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_alert *r = arg;
    struct meta_args a = {0};
    int64_t changed = 0;
    meta_arg_row(&a, META_ROW_alert, r);
    int rc = a.error.code ? err_set(e, a.error.code, "%s", a.error.text)
                          : alert_change(tx, r, &changed, e);
    if (rc || changed)
        return rc;
    return meta_run(tx, META_S_alert_add, &a, NULL, NULL, e);
}

int meta_alert_put(struct meta *m, const char *workspace, const struct meta_alert *a, struct err *e)
{
    return meta_write(m, workspace, alert_put, (void *)a, e);
}

int meta_alert_get(struct meta *m, const char *workspace, const char *alert, struct region *mem,
                   struct meta_alert *out, struct err *e)
{
    return meta_get_by(m, workspace, META_S_alert_get, META_ROW_alert, alert, mem, out, "rule", e);
}

int meta_alert_list(struct meta *m, const char *workspace, struct region *mem,
                    struct meta_alert **rows, size_t *count, struct err *e)
{
    return meta_list(m, workspace, META_S_alert_list, NULL, META_ROW_alert, mem, rows, count, e);
}

struct alert_remove {
    const char *alert;
    int64_t now;
};

static int alert_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct alert_remove *r = arg;
    struct meta_args a = {0}, end = {0};
    int64_t changed = 0;
    meta_arg_text(&a, r->alert);
    meta_arg_text(&end, r->alert);
    meta_arg_int(&end, r->now);
    int rc = meta_run(tx, META_S_alert_remove, &a, NULL, &changed, e);
    if (rc == 0 && changed == 0)
        rc = err_set(e, GPUFL_E_NOENT, "no such rule");
    if (rc || (rc = meta_run(tx, META_S_firing_forget, &a, NULL, NULL, e)) ||
        (rc = meta_run(tx, META_S_firing_end, &end, NULL, NULL, e)))
        return rc;
    return meta_run(tx, META_S_delivery_give_up, &a, NULL, NULL, e);
}

int meta_alert_remove(struct meta *m, const char *workspace, const char *alert, int64_t now,
                      struct err *e)
{
    struct alert_remove r = {alert, now};
    return meta_write(m, workspace, alert_remove, &r, e);
}

/* ---- firings ------------------------------------------------------------------------------ */

struct firing_put {
    const struct meta_firing *f;
    const struct meta_delivery *tell;
    struct region *mem;
    struct meta_firing *out;
};

/* Changes the open one, or forgets it where it ends without having fired. */
static int firing_change(struct meta_tx *tx, const struct meta_firing *f, struct meta_firing *open,
                         struct err *e)
{
    struct meta_args a = {0};
    open->fired = open->fired ? open->fired : f->fired;
    open->ended = f->ended;
    open->value = f->value;
    open->text = f->text ? f->text : "";
    meta_arg_text(&a, open->id);
    if (open->ended && !open->fired)
        return meta_run(tx, META_S_firing_remove, &a, NULL, NULL, e);
    meta_arg_int(&a, open->fired);
    meta_arg_int(&a, open->ended);
    meta_arg_real(&a, open->value);
    meta_arg_text(&a, open->text);
    return meta_run(tx, META_S_firing_change, &a, NULL, NULL, e);
}

static int firing_find_put(struct meta_tx *tx, const struct firing_put *p, struct err *e)
{
    const struct meta_part part = {META_ROW_firing, p->out};
    struct meta_args find = {0}, add = {0};
    meta_arg_text(&find, p->f->alert ? p->f->alert : "");
    meta_arg_text(&find, p->f->subject ? p->f->subject : "");
    int rc = meta_get_tx(tx, META_S_firing_find, &find, &part, 1, p->mem, "firing", e);
    if (rc == 0)
        return firing_change(tx, p->f, p->out, e);
    if (rc != GPUFL_E_NOENT)
        return rc;
    *p->out = *p->f;
    if (p->f->ended && !p->f->fired)
        return 0;
    meta_arg_row(&add, META_ROW_firing, p->f);
    return meta_run(tx, META_S_firing_add, &add, NULL, NULL, e);
}

/* What happened and what is to be told of it are there together, or not at all. */
static int firing_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct firing_put *p = arg;
    struct meta_args a = {0};
    int rc = firing_find_put(tx, p, e);
    if (rc || !p->tell)
        return rc;
    meta_arg_row(&a, META_ROW_delivery, p->tell);
    return meta_run(tx, META_S_delivery_tell, &a, NULL, NULL, e);
}

int meta_firing_put(struct meta *m, const char *workspace, const struct meta_firing *f,
                    const struct meta_delivery *tell, struct region *mem, struct meta_firing *out,
                    struct err *e)
{
    struct firing_put p = {f, tell, mem, out};
    return meta_write(m, workspace, firing_put, &p, e);
}

int meta_firing_open(struct meta *m, const char *workspace, const char *alert, struct region *mem,
                     struct meta_firing **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, alert);
    return meta_list(m, workspace, META_S_firing_open, &a, META_ROW_firing, mem, rows, count, e);
}

int meta_firing_now(struct meta *m, const char *workspace, struct region *mem,
                    struct meta_firing_now **rows, size_t *count, struct err *e)
{
    return meta_list(m, workspace, META_S_firing_now, NULL, META_ROW_firing_now, mem, rows, count,
                     e);
}

int meta_finding_above(struct meta *m, const char *workspace, const char *rule, const char *app,
                       const char *host, double share, int64_t since, struct region *mem,
                       struct meta_found **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, rule);
    meta_arg_text(&a, app);
    meta_arg_text(&a, host);
    meta_arg_real(&a, share);
    meta_arg_int(&a, since);
    return meta_list(m, workspace, META_S_finding_above, &a, META_ROW_found, mem, rows, count, e);
}

static int alerts_expire(struct meta_tx *tx, void *arg, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_int(&a, *(const int64_t *)arg);
    int rc = meta_run(tx, META_S_firing_expire, &a, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_delivery_expire, &a, NULL, NULL, e);
}

int meta_alerts_expire(struct meta *m, int64_t before, struct err *e)
{
    return meta_write(m, NULL, alerts_expire, &before, e);
}

int meta_firing_list(struct meta *m, const char *workspace, struct meta_page *page,
                     struct region *mem, struct meta_firing_now **rows, size_t *count,
                     struct err *e)
{
    int rc = meta_page_list(m, workspace, META_S_firing_list, META_ROW_firing_now, page, mem, rows,
                            count, e);
    if (rc || *count <= meta_page_limit(page->limit))
        return rc;
    const struct meta_firing_now *last = &(*rows)[--*count - 1];
    const struct meta_value key = {.kind = META_KIND_INT, .i = last->fired};
    return meta_page_end(page, &key, last->id, 0, mem, e);
}

/* ---- deliveries --------------------------------------------------------------------------- */

int meta_delivery_add(struct meta *m, const char *workspace, const struct meta_delivery *d,
                      struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_delivery, d);
    return meta_change(m, workspace, META_S_delivery_add, &a, NULL, e);
}

int meta_delivery_done(struct meta *m, const char *workspace, const char *delivery,
                       const char *state, int64_t next, int64_t status, const char *error,
                       int64_t now, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, delivery);
    meta_arg_text(&a, state);
    meta_arg_int(&a, next);
    meta_arg_int(&a, status);
    meta_arg_text(&a, error ? error : "");
    meta_arg_int(&a, strcmp(state, "sent") == 0 ? now : 0);
    return meta_change_one(m, workspace, META_S_delivery_done, &a, "delivery", e);
}

int meta_delivery_list(struct meta *m, const char *workspace, struct meta_page *page,
                       struct region *mem, struct meta_delivery **rows, size_t *count,
                       struct err *e)
{
    int rc = meta_page_list(m, workspace, META_S_delivery_list, META_ROW_delivery, page, mem, rows,
                            count, e);
    if (rc || *count <= meta_page_limit(page->limit))
        return rc;
    const struct meta_delivery *last = &(*rows)[--*count - 1];
    const struct meta_value key = {.kind = META_KIND_INT, .i = last->created};
    return meta_page_end(page, &key, last->id, 0, mem, e);
}

struct due_call {
    const struct meta_args *a;
    struct region *mem;
    struct meta_due **rows;
    size_t *count;
};

static int delivery_due(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct due_call *c = arg;
    return meta_list_tx(tx, META_S_delivery_due, c->a, META_ROW_due, c->mem, c->rows, c->count, e);
}

int meta_delivery_due(struct meta *m, int64_t now, int64_t again, unsigned limit,
                      struct region *mem, struct meta_due **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    struct due_call c = {&a, mem, rows, count};
    meta_arg_int(&a, now);
    meta_arg_int(&a, again);
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_write(m, NULL, delivery_due, &c, e);
}
