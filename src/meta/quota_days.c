/* quota_days.c - see quota_days.h. */
#include "meta/quota_days.h"

#include "meta/inside.h"

static int add(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_quota_counts *c = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->day_count; i++) {
        struct meta_args a = {0};
        meta_arg_row(&a, META_ROW_quota_day, &c->days[i]);
        rc = meta_run(tx, META_S_quota_day_add, &a, NULL, NULL, e);
    }
    for (size_t i = 0; !rc && i < c->name_count; i++) {
        struct meta_args a = {0};
        meta_arg_row(&a, META_ROW_quota_name, &c->names[i]);
        rc = meta_run(tx, META_S_quota_name_add, &a, NULL, NULL, e);
    }
    return rc;
}

int meta_quota_add(struct meta *m, const struct meta_quota_counts *c, struct err *e)
{
    struct meta_quota_counts copy = *c;
    return meta_write(m, NULL, add, &copy, e);
}

int meta_quota_list(const struct meta_ask *ask, int64_t day, struct meta_quota_counts *out)
{
    struct meta_args a = {0};
    *out = (struct meta_quota_counts){0};
    meta_arg_int(&a, day);
    int rc =
        meta_list(ask, META_S_quota_day_list, &a, META_ROW_quota_day, &out->days, &out->day_count);
    return rc ? rc
              : meta_list(ask, META_S_quota_name_list, &a, META_ROW_quota_name, &out->names,
                          &out->name_count);
}

static int expire(struct meta_tx *tx, void *arg, struct err *e)
{
    int rc = meta_run(tx, META_S_quota_day_expire, arg, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_quota_name_expire, arg, NULL, NULL, e);
}

int meta_quota_expire(struct meta *m, int64_t day, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_int(&a, day);
    return meta_write(m, NULL, expire, &a, e);
}
