/* meta_fleet.c - hosts, GPUs and what they were used for, day by day.
 *
 * Sums are made when they are asked for, from a row for each session, GPU and day: putting a
 * session's rows again replaces them, so that nothing is ever counted twice. */
#include "store/meta_inside.h"

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

int meta_host_list(struct meta *m, const char *workspace, struct region *mem,
                   struct meta_host **rows, size_t *count, struct err *e)
{
    return meta_list(m, workspace, META_S_host_list, NULL, META_ROW_host, mem, rows, count, e);
}

int meta_host_get(struct meta *m, const char *workspace, const char *host, struct region *mem,
                  struct meta_host *out, struct err *e)
{
    const struct meta_part part = {META_ROW_host, out};
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    return meta_get(m, workspace, META_S_host_get, &a, &part, 1, mem, "host", e);
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

int meta_gpu_list(struct meta *m, const char *workspace, const char *host, struct region *mem,
                  struct meta_gpu **rows, size_t *count, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    return meta_list(m, workspace, META_S_gpu_list, &a, META_ROW_gpu, mem, rows, count, e);
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

int meta_usage_days(struct meta *m, const char *workspace, enum meta_by by, int64_t from,
                    int64_t to, unsigned limit, struct region *mem, struct meta_usage_sum **rows,
                    size_t *count, struct err *e)
{
    static const enum meta_statement_id statements[] = {
        [META_BY_APP] = META_S_usage_days_app,
        [META_BY_HOST] = META_S_usage_days_host,
        [META_BY_GPU] = META_S_usage_days_gpu,
    };
    struct meta_args a = {0};
    if ((unsigned)by > META_BY_GPU)
        return err_set(e, GPUFL_E_INVAL, "days are summed by host, application or GPU");
    meta_arg_int(&a, from);
    meta_arg_int(&a, to);
    meta_arg_int(&a, limit);
    return meta_list(m, workspace, statements[by], &a, META_ROW_usage_sum, mem, rows, count, e);
}
