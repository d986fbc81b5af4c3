/* operations.c - keeps uploads, the audit log, retention, settings, leases, turns. */
#include "meta/inside.h"

#include <string.h>

/* ---- uploads ------------------------------------------------------------------------------ */

int meta_upload_add(struct meta *m, const char *workspace, const struct meta_upload *u,
                    struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_upload, u);
    return meta_change(m, workspace, META_S_upload_add, &a, NULL, e);
}

int meta_upload_get(const struct meta_ask *ask, const char *upload, struct meta_upload *out)
{
    return meta_get_by(ask, META_S_upload_get, META_ROW_upload, upload, out, "upload");
}

int meta_upload_list(const struct meta_ask *ask, struct meta_upload **rows, size_t *count)
{
    return meta_list(ask, META_S_upload_list, NULL, META_ROW_upload, rows, count);
}

struct advance {
    const char *upload;
    const struct meta_args *a;
};

static int upload_advance(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct advance *v = arg;
    struct meta_args find = {0};
    struct meta_upload u;
    const struct meta_part part = {META_ROW_upload, &u};
    struct region mem;
    int64_t changed = 0;
    region_init(&mem, 1 << 20);
    meta_arg_text(&find, v->upload);
    int rc =
        meta_get_tx(tx, META_S_upload_get, &find, &(struct meta_one){&part, 1, &mem, "upload"}, e);
    if (rc == 0)
        rc = meta_run(tx, META_S_upload_advance, v->a, NULL, &changed, e);
    if (rc == 0 && changed == 0)
        rc = err_set(e, GPUFL_E_STATE, "the upload is at byte %lld of %lld", (long long)u.received,
                     (long long)u.size);
    region_fini(&mem);
    return rc;
}

int meta_upload_advance(struct meta *m, const char *workspace, const char *upload,
                        const struct meta_advance *to, struct err *e)
{
    struct meta_args a = {0};
    struct advance v = {upload, &a};
    if (to->from < 0 || to->to < to->from)
        return err_set(e, GPUFL_E_INVAL, "an upload cannot go backwards");
    meta_arg_text(&a, upload);
    meta_arg_int(&a, to->from);
    meta_arg_int(&a, to->to);
    meta_arg_text(&a, to->session ? to->session : "");
    meta_arg_int(&a, to->now);
    return meta_write(m, workspace, upload_advance, &v, e);
}

int meta_upload_remove(struct meta *m, const char *workspace, const char *upload, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, upload);
    return meta_change_one(m, workspace, META_S_upload_remove, &a, "upload", e);
}

/* ---- the audit log ------------------------------------------------------------------------ */

static const char *log_of(const char *workspace)
{
    return workspace && *workspace ? workspace : META_SERVER_LOG;
}

int meta_audit_add(struct meta *m, const char *workspace, const struct meta_audit *entry,
                   struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_audit, entry);
    return meta_change(m, log_of(workspace), META_S_audit_add, &a, NULL, e);
}

int meta_audit_list(const struct meta_ask *ask, struct meta_page *page, struct meta_audited **rows,
                    size_t *count)
{
    const struct meta_ask log = {ask->m, log_of(ask->workspace), ask->mem, ask->e};
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(ask, page, META_KIND_INT, false, &c);
    if (rc)
        return rc;
    meta_arg_int(&a, c->key.i);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(&log, META_S_audit_list, &a, META_ROW_audited, rows, count);
    if (rc || !meta_page_more(page, count))
        return rc;
    const struct meta_value key = {.kind = META_KIND_INT, .i = (*rows)[*count - 1].number};
    return meta_page_end(ask, page, &key, "", 0);
}

/* ---- retention, settings, leases ---------------------------------------------------------- */

int meta_retention_get(struct meta *m, const char *workspace, struct meta_retention *out,
                       struct err *e)
{
    const struct meta_part part = {META_ROW_retention, out};
    struct region mem;
    region_init(&mem, 0); /* numbers only */
    *out = (struct meta_retention){0};
    const struct meta_ask ask = {m, workspace, &mem, e};
    int rc = meta_get(&ask, META_S_retention_get, NULL, &part, 1, "retention");
    region_fini(&mem);
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

int meta_retention_put(struct meta *m, const char *workspace, const struct meta_retention *r,
                       struct err *e)
{
    struct meta_args a = {0};
    if (r->sessions < 0 || r->bytes < 0 || r->metrics < 0)
        return err_set(e, GPUFL_E_INVAL, "retention is 0 (for ever), or more");
    meta_arg_row(&a, META_ROW_retention, r);
    return meta_change(m, workspace, META_S_retention_put, &a, NULL, e);
}

int meta_setting_get(const struct meta_ask *ask, const char *name, struct meta_setting *out)
{
    return meta_get_by(ask, META_S_setting_get, META_ROW_setting, name, out, "setting");
}

int meta_setting_put(struct meta *m, const struct meta_setting *s, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_setting, s);
    return meta_change(m, NULL, META_S_setting_put, &a, NULL, e);
}

int meta_setting_list(const struct meta_ask *ask, struct meta_setting **rows, size_t *count)
{
    return meta_list(ask, META_S_setting_list, NULL, META_ROW_setting, rows, count);
}

int meta_lease(struct meta *m, const struct meta_lease *l, bool *mine, struct err *e)
{
    struct meta_args a = {0};
    int64_t changed = 0;
    meta_arg_text(&a, l->name);
    meta_arg_text(&a, l->holder);
    meta_arg_int(&a, l->now);
    meta_arg_int(&a, l->until);
    int rc = meta_change(m, NULL, META_S_lease, &a, &changed, e);
    *mine = rc == 0 && changed > 0;
    return rc;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct meta_args turn_args(const struct meta_turn *t)
{
    struct meta_args a = {0};
    meta_arg_text(&a, t->session);
    meta_arg_text(&a, t->holder);
    return a;
}

static int turn_change(struct meta *m, const char *workspace, enum meta_statement_id statement,
                       const struct meta_args *a, bool *mine, struct err *e)
{
    int64_t changed = 0;
    int rc = meta_change(m, workspace, statement, a, &changed, e);
    *mine = rc == 0 && changed > 0;
    return rc;
}

int meta_turn_take(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e)
{
    struct meta_args take = turn_args(t), seize = take, ask = take;
    t->seized = false;
    meta_arg_int(&take, t->until);
    int rc = turn_change(m, workspace, META_S_turn_take, &take, &t->mine, e);
    if (rc || t->mine)
        return rc;
    meta_arg_int(&seize, t->now);
    meta_arg_int(&seize, t->until);
    rc = turn_change(m, workspace, META_S_turn_seize, &seize, &t->mine, e);
    t->seized = t->mine;
    if (rc || t->mine)
        return rc;
    meta_arg_int(&ask, t->now);
    meta_arg_int(&ask, t->ask);
    return meta_change(m, workspace, META_S_turn_ask, &ask, NULL, e);
}

int meta_turn_keep(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e)
{
    struct meta_args a = turn_args(t);
    meta_arg_int(&a, t->until);
    return turn_change(m, workspace, META_S_turn_keep, &a, &t->mine, e);
}

int meta_turn_give(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e)
{
    struct meta_args give = turn_args(t), pass = give;
    meta_arg_int(&give, t->now);
    int rc = turn_change(m, workspace, META_S_turn_give, &give, &t->mine, e);
    if (rc || t->mine)
        return rc;
    return turn_change(m, workspace, META_S_turn_pass, &pass, &t->mine, e);
}

int meta_turn_expire(struct meta *m, int64_t before, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_int(&a, before);
    return meta_change(m, NULL, META_S_turn_expire, &a, NULL, e);
}
