/* alerts.c - keeps alert rules, their firings (the times during which their conditions held), and
 * the deliveries. At most one firing is open for a rule and a subject; an index enforces that. */
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

int meta_alert_get(const struct meta_ask *ask, const char *alert, struct meta_alert *out)
{
    return meta_get_by(ask, META_S_alert_get, META_ROW_alert, alert, out, "rule");
}

int meta_alert_list(const struct meta_ask *ask, struct meta_alert **rows, size_t *count)
{
    return meta_list(ask, META_S_alert_list, NULL, META_ROW_alert, rows, count);
}

struct alert_remove {
    const char *alert;
    int64_t now;
};

static int alert_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct alert_remove *r = arg;
    struct meta_args a = {0}, end = {0};
    meta_arg_text(&a, r->alert);
    meta_arg_text(&end, r->alert);
    meta_arg_int(&end, r->now);
    int rc = meta_run_one(tx, META_S_alert_remove, &a, "rule", e);
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
    const struct meta_delivery *delivery;
    struct region *mem;
    struct meta_firing *out;
};

/* Changes the open firing, or deletes it if it ends without having fired. */
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
    int rc = meta_get_tx(tx, META_S_firing_find, &find,
                         &(struct meta_one){&part, 1, p->mem, "firing"}, e);
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

/* Writes a firing and its delivery in one transaction. */
static int firing_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct firing_put *p = arg;
    struct meta_args a = {0};
    int rc = firing_find_put(tx, p, e);
    if (rc || !p->delivery)
        return rc;
    meta_arg_row(&a, META_ROW_delivery, p->delivery);
    return meta_run(tx, META_S_delivery_add_once, &a, NULL, NULL, e);
}

int meta_firing_put(const struct meta_ask *ask, const struct meta_firing *f,
                    const struct meta_delivery *delivery, struct meta_firing *out)
{
    struct firing_put p = {f, delivery, ask->mem, out};
    return meta_write(ask->m, ask->workspace, firing_put, &p, ask->e);
}

int meta_firing_open(const struct meta_ask *ask, const char *alert, struct meta_firing **rows,
                     size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, alert);
    return meta_list(ask, META_S_firing_open, &a, META_ROW_firing, rows, count);
}

int meta_firing_now(const struct meta_ask *ask, struct meta_firing_now **rows, size_t *count)
{
    return meta_list(ask, META_S_firing_now, NULL, META_ROW_firing_now, rows, count);
}

int meta_finding_above(const struct meta_ask *ask, const struct meta_above *q,
                       struct meta_found **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, q->rule);
    meta_arg_text(&a, q->app);
    meta_arg_text(&a, q->host);
    meta_arg_real(&a, q->share);
    meta_arg_int(&a, q->since);
    return meta_list(ask, META_S_finding_above, &a, META_ROW_found, rows, count);
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

int meta_firing_list(const struct meta_ask *ask, struct meta_page *page,
                     struct meta_firing_now **rows, size_t *count)
{
    int rc = meta_page_list(ask, META_S_firing_list, META_ROW_firing_now, page, rows, count);
    if (rc || *count <= meta_page_limit(page->limit))
        return rc;
    const struct meta_firing_now *last = &(*rows)[--*count - 1];
    const struct meta_value key = {.kind = META_KIND_INT, .i = last->fired};
    return meta_page_end(ask, page, &key, last->id, 0);
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
                       const struct meta_attempt *attempt, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, delivery);
    meta_arg_text(&a, attempt->state);
    meta_arg_int(&a, attempt->next);
    meta_arg_int(&a, attempt->status);
    meta_arg_text(&a, attempt->error ? attempt->error : "");
    meta_arg_int(&a, strcmp(attempt->state, "sent") == 0 ? attempt->now : 0);
    return meta_change_one(m, workspace, META_S_delivery_done, &a, "delivery", e);
}

int meta_delivery_list(const struct meta_ask *ask, struct meta_page *page,
                       struct meta_delivery **rows, size_t *count)
{
    int rc = meta_page_list(ask, META_S_delivery_list, META_ROW_delivery, page, rows, count);
    if (rc || *count <= meta_page_limit(page->limit))
        return rc;
    const struct meta_delivery *last = &(*rows)[--*count - 1];
    const struct meta_value key = {.kind = META_KIND_INT, .i = last->created};
    return meta_page_end(ask, page, &key, last->id, 0);
}

struct due_call {
    const struct meta_args *a;
    struct meta_rows into;
};

static int delivery_due(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct due_call *c = arg;
    return meta_list_tx(tx, META_S_delivery_due, c->a, &c->into, e);
}

int meta_delivery_due(const struct meta_ask *ask, int64_t now, int64_t again, unsigned limit,
                      struct meta_due **rows, size_t *count)
{
    struct meta_args a = {0};
    struct due_call c = {&a, {META_ROW_due, ask->mem, rows, count}};
    meta_arg_int(&a, now);
    meta_arg_int(&a, again);
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_write(ask->m, NULL, delivery_due, &c, ask->e);
}
